"""Label schemes: from integer labels to the real-valued targets that a squared loss is trained on."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["encode_labels"]


def encode_labels(
    labels: Tensor,
    scheme: str = "classes",
    classes: Sequence[str] | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    r"""Targets (n, outputs) of integer labels (n,).

    - ``"classes"``: one-hot minus 1/C, so that each row sums to zero: :math:`y_{ic} = 1[l_i = c] - 1/C`;
    - ``"parity"``: +1 for an even label, −1 for an odd one;
    - ``"one-vs-rest:NAME"``: +1 for the class NAME (a name, or an index where no name is a number), −1 for the others;
    - ``"real"``: the label itself as a number.

    Example:
        >>> labels = torch.tensor([0, 1, 2])
        >>> encode_labels(labels, "parity").flatten().tolist()
        [1.0, -1.0, 1.0]
        >>> encode_labels(labels, "one-vs-rest:2").flatten().tolist()
        [-1.0, -1.0, 1.0]
        >>> [round(v, 3) for v in encode_labels(labels, "classes")[0].tolist()]
        [0.667, -0.333, -0.333]
    """
    n_classes = len(classes) if classes is not None else int(labels.max()) + 1
    if scheme == "classes":
        one_hot = torch.nn.functional.one_hot(labels.long(), n_classes).to(dtype)
        return one_hot - 1 / n_classes
    if scheme == "parity":
        return (1 - 2 * (labels.long() % 2)).to(dtype)[:, None]
    if scheme == "real":
        return labels.to(dtype)[:, None]
    if scheme.startswith("one-vs-rest:"):
        wanted = scheme.split(":", 1)[1]
        names = [str(c) for c in (classes if classes is not None else range(n_classes))]
        if wanted in names:
            index = names.index(wanted)
        elif wanted.isdecimal() and int(wanted) < n_classes and not any(name.isdecimal() for name in names):
            index = int(wanted)
        else:
            raise ValueError(f"one-vs-rest: no class {wanted!r}; the classes are {', '.join(names)}.")
        return torch.where(labels == index, 1.0, -1.0).to(dtype)[:, None]
    raise ValueError(
        f"unknown label scheme {scheme!r}; use 'classes', 'parity', 'one-vs-rest:NAME' or 'real', "
        "or .with_targets(function) for any other."
    )

"""What every inference asks of its data and of its model before it starts."""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.contracts import Samples, require

__all__ = ["check_data", "check_depends"]


def check_data(data: Samples) -> tuple[Tensor, Tensor]:
    """Training inputs and targets of a dataset or split, or an error that says what is wrong with them.

    Example:
        >>> from types import SimpleNamespace
        >>> x, y = check_data(SimpleNamespace(inputs=torch.eye(3), targets=torch.tensor([1.0, -1.0, 1.0])))
        >>> tuple(y.shape)
        (3, 1)
    """
    advice = "Make a dataset with priorscope.data.from_arrays(x, y)."
    data = require(data, Samples, "data with torch tensors .inputs (n, ...) and .targets (n, outputs)", advice)
    inputs, targets = data.inputs, data.targets
    if not isinstance(inputs, Tensor) or not isinstance(targets, Tensor):
        raise TypeError(
            f"wanted data with torch tensors .inputs (n, ...) and .targets (n, outputs); got "
            f"{type(inputs).__name__} and {type(targets).__name__}. {advice}"
        )
    if targets.ndim == 1:
        targets = targets[:, None]
    if targets.ndim != 2 or len(inputs) != len(targets):
        raise ValueError(
            f"inputs (n, ...) and targets (n, outputs) must agree in n; got {tuple(inputs.shape)} and {tuple(targets.shape)}. "
            "Drop the samples that have no partner."
        )
    if len(inputs) < 2:
        raise ValueError(f"learning needs n >= 2 training samples; got {len(inputs)}. Take a larger subset.")
    for name, values in (("inputs", inputs), ("targets", targets)):
        if not bool(torch.isfinite(values).all()):
            bad = int((~torch.isfinite(values)).sum())
            raise ValueError(
                f"{name} must be finite; got {bad} NaN or infinite values. Remove or impute those samples first."
            )
    if bool((targets == targets[0]).all()):
        raise ValueError(
            f"targets must vary over the training set; got {len(targets)} equal targets, one class or one value. "
            "Draw a larger subset, or choose another target or label scheme."
        )
    if not targets.is_floating_point():
        targets = targets.to(torch.get_default_dtype())
    return inputs, targets


def check_depends(gram: Tensor) -> None:
    """Raise when a Gram matrix says that the model gives every input the same features.

    Example:
        >>> check_depends(torch.eye(3))
        >>> check_depends(torch.ones(3, 3))
        Traceback (most recent call last):
        ...
        ValueError: the model ignores its input: all training samples have the same features (kernel rows are equal), ...
    """
    if not bool(torch.isfinite(gram).all()):
        raise ValueError(
            "the model's kernel has NaN or infinite entries on the training inputs; check inputs and depth."
        )
    least = 8 * torch.finfo(gram.dtype).eps * max(abs(float(v)) for v in gram.aminmax())
    if all(float((rows - gram[:1]).abs().max()) <= least for rows in gram.split(64)):
        raise ValueError(
            "the model ignores its input: all training samples have the same features (kernel rows are equal), "
            "so no function of the input can be learned. Check variances, pooling and masks of the model."
        )

"""What every way into a data set checks: shapes, finite numbers, something to learn."""

from __future__ import annotations

import torch
from torch import Tensor

__all__: list[str] = []


def check_finite(values: Tensor, what: str) -> None:
    """Raise when ``values`` (rows first) holds a NaN or an infinity, naming the first row."""
    finite = torch.isfinite(values)
    if bool(finite.all()):
        return
    bad = (~finite).flatten(1).any(1) if values.ndim > 1 else ~finite
    first = int(torch.nonzero(bad)[0])
    raise ValueError(
        f"{what} must be finite; {int(bad.sum())} of {len(values)} rows hold NaN or infinity "
        f"(the first is row {first}). Drop these rows or fill them in before making the data set."
    )


def check_rows(inputs: Tensor, targets: Tensor) -> None:
    """Raise unless there are at least two rows and as many targets as inputs."""
    if inputs.ndim < 2:
        raise ValueError(
            f"inputs must have shape (n, *input_shape) with at least two axes; got {tuple(inputs.shape)}. "
            "For one number per sample, pass inputs[:, None]."
        )
    if len(inputs) != len(targets):
        raise ValueError(
            f"inputs and targets must have as many rows as each other; "
            f"got {len(inputs)} inputs and {len(targets)} targets."
        )
    if 0 in inputs.shape[1:]:
        raise ValueError(f"inputs must have at least one feature; got shape {tuple(inputs.shape)}.")


def check_enough(n: int) -> None:
    """Raise for fewer than two samples: nothing can be learned or measured from them."""
    if n < 2:
        raise ValueError(
            f"a data set needs at least 2 training samples; got {n}. Pass more data or a smaller test set."
        )


def check_varied(targets: Tensor) -> None:
    """Raise when all rows of ``targets`` are the same."""
    if bool((targets == targets[:1]).all()):
        raise ValueError(
            f"the {len(targets)} training targets are constant (all {targets[0].flatten().tolist()[:4]}): "
            "there is nothing to learn. Check the target column, or the label scheme (classes=...)."
        )


def check_classes(labels: Tensor) -> None:
    """Raise when training labels hold one class only."""
    found = torch.unique(labels)
    if len(found) < 2:
        raise ValueError(
            f"classification needs at least 2 classes among the training labels; got one class ({found.tolist()}). "
            "Pass data of both classes, or floats as targets for a regression."
        )

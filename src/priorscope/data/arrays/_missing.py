"""Missing numbers among the inputs: refused, or filled in from the training rows and counted."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor

__all__: list[str] = []

Missing: TypeAlias = Literal["refuse", "median"]


def check_missing(missing: Missing) -> None:
    """Raise unless ``missing`` is one of the two ways."""
    if missing not in get_args(Missing):
        raise ValueError(f"missing must be 'refuse' or 'median'; got {missing!r}.")


def fill_missing(inputs: Tensor, train: Tensor) -> tuple[Tensor, tuple[str, ...]]:
    """NaN replaced by the median of the feature over the training rows ``train``, with a note that says how many.

    The median of an even number of values is the mean of the middle two. A feature with no value in a training row is
    refused.

    Example:
        >>> filled, notes = fill_missing(torch.tensor([[1.0], [torch.nan], [4.0], [9.0]]), torch.tensor([0, 1, 2]))
        >>> filled.flatten().tolist(), notes
        ([1.0, 2.5, 4.0, 9.0], ('1 missing value in 1 of 4 rows and 1 of 1 features: filled in with training medians',))
    """
    gone = torch.isnan(inputs)
    if not bool(gone.any()):
        return inputs, ()
    flat, holes = inputs.reshape(len(inputs), -1), gone.reshape(len(inputs), -1)
    columns = torch.nonzero(holes.any(0))[:, 0]
    part = flat[train][:, columns].double()
    if bool(torch.isnan(part).all(0).any()):
        empty = int(columns[torch.isnan(part).all(0)][0])
        raise ValueError(
            f"feature {empty} of the inputs has no value in any of the {len(train)} training rows; leave it out."
        )
    medians = torch.nanquantile(part, 0.5, dim=0).to(inputs.dtype)
    filled = flat.clone()
    filled[:, columns] = torch.where(holes[:, columns], medians, flat[:, columns])
    count, rows = int(holes.sum()), int(holes.any(1).sum())
    note = (
        f"{count} missing value{'s' if count > 1 else ''} in {rows} of {len(inputs)} rows and {len(columns)} of "
        f"{flat.shape[1]} features: filled in with training medians"
    )
    return filled.reshape(inputs.shape), (note,)

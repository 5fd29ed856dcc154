"""Data as profiles and forecasts look at them: standardised, images made small enough, a pilot sized, every step noted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn import functional as F

from priorscope.data import Dataset, Split

__all__ = ["Prepared", "prepare"]

_LARGEST_IMAGE = 14  # side to which larger images are averaged: pooled kernels cost the fourth power of it
_LONGEST_SIGNAL = 64


@dataclass(frozen=True)
class Prepared:
    """Data ready to be looked at, the size of the pilot, what was done to get there, and the data as they came."""

    data: Dataset
    pilot: int
    notes: tuple[str, ...]
    original: Dataset
    unit: float | None = None  # what 1 is of the target as it came, where there is one and it was standardised

    def native(self, index: ArrayLike | Tensor) -> Dataset:
        """The samples ``index`` at their own size, standardised among themselves: what a user's network is given."""
        rows = torch.as_tensor(index)
        if self.original.input_shape == self.data.input_shape:
            return self.data.take(rows)
        part = self.original.take(rows).standardised()
        return replace(part, train=replace(part.train, targets=self.data.train.targets[rows]))


def _resized(data: Dataset, limit: int | None) -> tuple[Dataset, list[str]]:
    """Average images and signals down to a size that kernels can afford, with a note where anything was averaged."""
    shape = data.input_shape
    if len(shape) == 3:
        side = limit or _LARGEST_IMAGE
        target: tuple[int, ...] = tuple(min(s, side) for s in shape[1:])
    elif len(shape) == 2:
        target = (min(shape[1], limit or _LONGEST_SIGNAL),)
    else:
        return data, []
    if target == shape[1:]:
        return data, []

    def pool(x: Tensor) -> Tensor:
        if len(target) == 2:
            return F.adaptive_avg_pool2d(x, (target[0], target[1]))
        return F.adaptive_avg_pool1d(x, target)

    def shrink(split: Split) -> Split:
        return replace(split, inputs=pool(split.inputs) if len(split.inputs) else split.inputs[..., : target[-1]])

    test = data.test
    if len(test) == 0:
        test = replace(test, inputs=test.inputs.new_zeros((0, shape[0], *target)))
    else:
        test = shrink(test)
    was, now = "×".join(map(str, shape[1:])), "×".join(map(str, target))
    note = f"inputs were averaged from {was} to {now} to keep the kernels affordable; fine detail is not seen"
    return replace(data, train=shrink(data.train), test=test), [note]


def prepare(data: Dataset, pilot: int | None = 300, *, resize: int | None = None) -> Prepared:
    """Standardise inputs (and real targets), shrink large images, and decide how many samples the pilot has."""
    if pilot is not None and pilot < 10:
        raise ValueError(f"a pilot needs at least 10 samples; got {pilot}.")
    if len(data.input_shape) > 3:
        raise ValueError(
            f"data must be flat features, signals (channels, length) or images (channels, height, width); got inputs of "
            f"shape {tuple(data.input_shape)}. Flatten them, or put one axis into the channels."
        )
    if bool((data.inputs == data.inputs[:1]).all()):
        raise ValueError(
            f"all {len(data.train)} training inputs are the same: any model ignores them, and nothing can be learnt. Check "
            "which columns or files were read."
        )
    notes: list[str] = []
    original, unit = data, None
    data, shrunk = _resized(data, resize)
    notes += shrunk
    data = data.standardised()
    if data.task == "regression":
        mean, std = data.targets.mean(0), data.targets.std(0).clamp(min=1e-12)
        data = replace(
            data,
            train=replace(data.train, targets=(data.train.targets - mean) / std),
            test=replace(data.test, targets=(data.test.targets - mean) / std),
        )
        unit = float(std[0]) if len(std) == 1 else None
        notes.append("targets were standardised: an error of 1 is that of predicting the mean")
    n = len(data.train)
    size = n if pilot is None else min(pilot, n)
    if size < n:
        notes.append(f"the pilot is {size} of {n} training samples, drawn at random")
    if data.inputs.dtype not in (torch.float32, torch.float64):
        data = replace(data, train=replace(data.train, inputs=data.inputs.float()))
    return Prepared(data, size, tuple(notes), original, unit)

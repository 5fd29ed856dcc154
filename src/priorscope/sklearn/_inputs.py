"""Rows of numbers as inputs of a kernel: gaps filled in, standardised, shaped; learnt once, applied to any later row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.contracts import Shape

__all__ = ["Inputs"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Inputs:
    """What is done to each row: gaps get the ``median``, then ``(x - mean) / scale``, then the shape of one input.

    Flat features are standardised one by one, inputs with positions channel by channel. A feature that never changed among
    the training rows becomes zero there.

    Example:
        >>> rows = np.array([[0.0, 1.0], [2.0, np.nan], [4.0, 3.0]])
        >>> Inputs.learnt(rows, (2,))(rows)[:, 1].numpy().round(3).tolist()
        [-1.225, 0.0, 1.225]
    """

    median: Array
    mean: Array
    scale: Array
    shape: Shape

    @classmethod
    def learnt(cls, rows: Array, shape: Shape, standardise: bool = True) -> Inputs:
        """Medians, means and standard deviations of these rows."""
        gone = np.isnan(rows)
        median = np.zeros(rows.shape[1])
        for j in np.flatnonzero(gone.any(0)):
            known = rows[~gone[:, j], j]
            median[j] = np.median(known) if len(known) else 0.0
        filled = np.where(gone, median, rows)
        if not standardise:
            return cls(median, np.zeros(rows.shape[1]), np.ones(rows.shape[1]), tuple(shape))
        groups = shape[0] if len(shape) > 1 else rows.shape[1]
        by_channel = filled.reshape(len(rows), groups, -1).astype(np.float64)
        mean, scale = by_channel.mean((0, 2)), by_channel.std((0, 2))
        tiny = 1e-12 * np.abs(by_channel).max((0, 2), initial=0.0)
        scale = np.where(scale <= tiny, 1.0, scale)
        each = rows.shape[1] // groups
        return cls(median, np.repeat(mean, each), np.repeat(scale, each), tuple(shape))

    def __call__(self, rows: Array) -> Tensor:
        filled = np.where(np.isnan(rows), self.median, rows)
        return torch.from_numpy((filled - self.mean) / self.scale).reshape(len(rows), *self.shape)

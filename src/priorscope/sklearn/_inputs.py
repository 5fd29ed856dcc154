"""Rows of numbers as inputs of a kernel: gaps filled in, standardised, coded, whitened; learnt once, applied to any row."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.contracts import Shape
from priorscope.printing import printed
from priorscope.sklearn._moments import mean_and_scale

__all__ = ["Inputs"]

Array = NDArray[np.float64]
MOST_CODES = 12  # different values up to which numbers may be codes
MOST_STEPS = 16  # thresholds per feature


def _none() -> Array:
    return np.zeros(0)


@printed
@dataclass(frozen=True, eq=False)
class Inputs:
    """What is done to each row: gaps get the ``median``, then ``(x - mean) / scale``, then marks or whitening, then the shape.

    Flat features are standardised one by one, inputs with positions channel by channel. A feature that never changed among
    the training rows becomes zero there. ``form`` says what is added: "standard" nothing; "codes" a column of 0 and 1 for
    each value of a number that takes few values, which may be a code; "steps" replaces numbers by whether they are above
    each of up to 16 quantiles, so that only their order counts, as for trees. ``matrix`` whitens.

    Example:
        >>> rows = np.array([[0.0, 1.0], [2.0, np.nan], [4.0, 3.0]])
        >>> Inputs.learnt(rows, (2,))(rows)[:, 1].numpy().round(3).tolist()
        [-1.225, 0.0, 1.225]
    """

    median: Array
    mean: Array
    scale: Array
    shape: Shape  # of one input as the kernel gets it
    form: str = "standard"
    marks: Array = field(default_factory=_none)
    owners: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    mark_mean: Array = field(default_factory=_none)
    mark_scale: Array = field(default_factory=_none)
    matrix: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def learnt(cls, rows: Array, shape: Shape, standardise: bool = True, last: bool = False) -> Inputs:
        """Medians, means and standard deviations of these rows; ``last`` says that the last axis holds the channels."""
        gone = np.isnan(rows)
        median = np.zeros(rows.shape[1])
        for j in np.flatnonzero(gone.any(0)):
            known = rows[~gone[:, j], j]
            median[j] = np.median(known) if len(known) else 0.0
        filled = np.where(gone, median, rows)
        if not standardise:
            return cls(median, np.zeros(rows.shape[1]), np.ones(rows.shape[1]), tuple(shape))
        groups = shape[-1 if last else 0]  # channels, or features without positions
        by_channel = filled.reshape((len(rows), -1, groups) if last else (len(rows), groups, -1)).astype(np.float64)
        mean, scale = mean_and_scale(by_channel, (0, 1) if last else (0, 2))
        each = rows.shape[1] // groups
        spread = np.tile if last else np.repeat
        return cls(median, spread(mean, each), spread(scale, each), tuple(shape))

    def coded(self, rows: Array) -> Inputs | None:
        """The same with columns for the values of numbers that take 3 to 12 of them; None where there are none."""
        filled = self._filled(rows)
        values = [np.unique(column) for column in filled.T]
        found = {j: v for j, v in enumerate(values) if 2 < len(v) <= MOST_CODES}
        return self._marked(filled, "codes", found) if found else None

    def stepped(self, rows: Array) -> Inputs | None:
        """The same with numbers replaced by which thresholds they are above; None where all numbers are two-valued."""
        filled = self._filled(rows)
        found = {}
        for j, column in enumerate(filled.T):
            values = np.unique(column)
            cuts = (values[1:] + values[:-1]) / 2
            if len(cuts) > MOST_STEPS:
                cuts = np.unique(np.quantile(column, np.linspace(0, 1, MOST_STEPS + 2)[1:-1]))
            if len(cuts):
                found[j] = cuts
        if not any(len(cuts) > 1 for cuts in found.values()):
            return None
        return self._marked(filled, "steps", found)

    def _marked(self, filled: Array, form: str, found: dict[int, Array]) -> Inputs:
        """The same with marks of the values ``found`` of each feature, scaled so that a feature's marks together count as one."""
        owners = np.concatenate([np.full(len(v), j) for j, v in found.items()]).astype(np.int64)
        marks = np.concatenate(list(found.values()))
        raw = replace(self, form=form, marks=marks, owners=owners)
        columns = raw._marks(filled)
        variance = np.bincount(owners, columns.var(0), minlength=filled.shape[1])[owners]
        scale = np.sqrt(variance)  # all marks of one feature together count as one standardised number
        numbers = 0 if form == "steps" else filled.shape[1]
        shrink = np.sqrt(
            (len(found) + numbers) / (len(marks) + numbers)
        )  # so that entries have unit variance on average
        return replace(
            raw,
            scale=self.scale * shrink,
            mark_mean=columns.mean(0),
            mark_scale=scale * shrink,
            shape=(len(marks) + numbers,),
        )

    def whitened(self, rows: Array, strength: float) -> Inputs:
        r"""The same followed by regularised ZCA, :math:`U(\Lambda + \epsilon\,\bar\lambda)^{-1/2}U^\top`, to unit variance.

        :math:`U\Lambda U^\top` is the covariance of all pixels and :math:`\bar\lambda` its mean eigenvalue; the regulariser is
        :math:`\epsilon` = ``strength`` (Lee et al. 2020, arXiv 2007.15801, App. F, who found it to matter most for kernels).
        """
        x = self(rows).reshape(len(rows), -1).numpy()
        lam, U = np.linalg.eigh(np.cov(x, rowvar=False, bias=True))
        lam = np.maximum(lam, 0.0)
        gain = 1.0 / np.sqrt(lam + strength * lam.mean())
        unit = np.sqrt((lam * gain**2).mean())
        return replace(self, matrix=(U * (gain / unit)) @ U.T)

    def _filled(self, rows: Array) -> Array:
        return np.where(np.isnan(rows), self.median, rows)

    def _marks(self, filled: Array) -> Array:
        own = filled[:, self.owners]
        return (own == self.marks if self.form == "codes" else own > self.marks).astype(np.float64)

    def __call__(self, rows: Array) -> Tensor:
        filled = self._filled(rows)
        x = (filled - self.mean) / self.scale
        if self.form != "standard":
            marks = (self._marks(filled) - self.mark_mean) / self.mark_scale
            x = np.hstack([x, marks]) if self.form == "codes" else marks
        if self.matrix.size:
            x = x @ self.matrix
        return torch.from_numpy(np.ascontiguousarray(x)).reshape(len(rows), *self.shape)

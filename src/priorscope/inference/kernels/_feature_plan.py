"""Rows that features are learnt from, and what was chosen for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import sem
from torch import Tensor

from priorscope.contracts import FeatureKernel, kernel_matrix
from priorscope.inference.kernels._feature_map import FeatureSetting, feature_map
from priorscope.inference.ridge import RidgePath
from priorscope.printing import printed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FeaturePlan", "FeatureStart", "Learning"]

Array = NDArray[np.float64]
SURE = 2.0  # standard errors by which features must be better


@printed
@dataclass(frozen=True, eq=False)
class Learning:
    """Rows to learn from: inputs, targets (n, outputs), weights; the model, and which of its kernels."""

    model: FeatureKernel
    kind: str
    x: Tensor
    targets: Array
    weights: Array
    blocks: NDArray[np.int64] | None = None  # samples that are left out together

    def part(self, rows: NDArray[np.int64]) -> Learning:
        """Some of the rows."""
        blocks = None if self.blocks is None else self.blocks[rows]
        return replace(self, x=self.x[rows], targets=self.targets[rows], weights=self.weights[rows], blocks=blocks)

    def left_out(self, path: RidgePath, ridges: Array) -> Array:
        """Predictions (ridges, n, outputs) of each sample without it, or without its block."""
        if self.blocks is None:
            return path.leave_one_out(self.targets, ridges)
        return path.leave_out(self.targets, ridges, self.blocks)

    def order(self, seed: int) -> NDArray[np.int64]:
        """All rows in a random order, those of one block together."""
        mixed = np.random.default_rng([seed, 11]).permutation(len(self.x))
        if self.blocks is None:
            return mixed
        first = np.unique(self.blocks[mixed], return_index=True, return_inverse=True)
        return mixed[np.argsort(first[1][first[2]], kind="stable")]

    def apart(self, rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows whose block has none of the others."""
        return rows if self.blocks is None else rows[~np.isin(self.blocks[rows], self.blocks[others])]

    def gram(self, model: FeatureKernel) -> Array:
        """The kernel of the rows with each other."""
        return np.asarray(kernel_matrix(model, self.x, None, self.kind), dtype=np.float64)

    def mapped(self, moment: Tensor | None, setting: FeatureSetting) -> FeatureKernel:
        """The model behind the map of a moment; with None, behind the bandwidth alone."""
        if moment is None:
            return self.plain(setting.bandwidth)
        flat = self.x[:500].flatten(1)
        seen = flat if flat.shape[1] == len(moment) else None
        return self.model.mapped(feature_map(moment, setting, seen))

    def plain(self, bandwidth: float) -> FeatureKernel:
        """The model before any features."""
        if bandwidth == 1.0:
            return self.model
        size = len(self.model.feature_moment(self.x[:2], self.x[:2], _ones(2), kind=self.kind))
        return self.model.mapped(_ones(size)[:, 0] / bandwidth)

    def error(self, scores: Array) -> float:
        """Weighted mean over rows of the squared error of predictions (n, outputs)."""
        return float(((scores - self.targets) ** 2).mean(1) @ self.weights / self.weights.sum())

    def surely_better(self, learnt: Array, plain: Array) -> bool:
        """Whether squared errors are lower by more than two standard errors, row by row: many settings were tried on few rows."""
        w = self.weights / self.weights.mean()
        gap = w * (((plain - self.targets) ** 2).mean(1) - ((learnt - self.targets) ** 2).mean(1))
        return bool(gap.mean() > SURE * sem(gap))


def _ones(n: int) -> Tensor:
    return torch.ones(n, 1, dtype=torch.float64)


@printed
@dataclass(frozen=True, eq=False)
class FeatureStart:
    """A kernel as it was before its last round, the rows that it was learnt from, and their M in that round."""

    model: FeatureKernel
    rows: NDArray[np.int64]
    moment: Tensor


@printed
@dataclass(frozen=True, eq=False)
class FeaturePlan:
    """What was chosen and how well it did: ``ridges`` per round in units of the mean eigenvalue, the last for the predictor.

    ``losses`` is the left-out squared error by number of rounds, on the way to the chosen settings; ``scores`` (n, outputs) are
    left-out predictions of the choice and ``plain`` those of the kernel without features at its best bandwidth, both for
    ``rows``; ``tried`` has every setting with its lowest loss. ``start`` is where all rows go on from; None where
    they begin anew.

    Example:
        >>> FeaturePlan(FeatureSetting(), 1, (0.1, 0.1), (0.5, 0.2), np.zeros((3, 1)), np.zeros((3, 1)), np.arange(3)).loss
        0.2
    """

    setting: FeatureSetting
    rounds: int
    ridges: tuple[float, ...]
    losses: tuple[float, ...]
    scores: Array
    plain: Array
    rows: NDArray[np.int64]
    tried: tuple[tuple[str, float], ...] = ()
    start: FeatureStart | None = field(default=None, repr=False)

    @property
    def loss(self) -> float:
        """Left-out squared error of the choice."""
        return self.losses[self.rounds]

    def table(self) -> pd.DataFrame:
        """One row per number of rounds: the left-out squared error, and whether it was chosen."""
        import pandas as pd

        at = range(len(self.losses))
        return pd.DataFrame({"rounds": at, "loss": self.losses, "chosen": [t == self.rounds for t in at]})

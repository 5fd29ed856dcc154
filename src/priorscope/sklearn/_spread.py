"""How far predictions of numbers may be off: the shape from a Gaussian process, the size from left-out residuals."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray
from torch import Tensor

from priorscope.contracts import KernelModel, kernel_matrix
from priorscope.sklearn._solution import diagonal_of

__all__ = ["Spread", "radius"]

Array = NDArray[np.float64]


class Spread:
    r"""Standard deviation of a Gaussian process with kernel K, noise r and a free mean, in the unit of K.

    .. math:: s^2(x) = r + K(x,x) - k^\top A k + \frac{(1 - \mathbf 1^\top A k)^2}{\mathbf 1^\top A \mathbf 1},\qquad
              A = (K + r)^{-1},\; k = K(X, x)

    (Rasmussen & Williams 2006, eqs. 2.26 and 2.42 for a constant with a broad prior). Left out, the training rows have
    :math:`s_i^2 = 1/\tilde A_{ii}`, which :class:`priorscope.inference.RidgePath` gives in closed form.

    Example:
        >>> import torch
        >>> from priorscope.models import gaussian
        >>> far_away = Spread(gaussian(bandwidth=1.0), "ntk", torch.zeros(3, 1, dtype=torch.float64), 0.1)
        >>> bool(far_away(torch.tensor([[0.0], [9.0]], dtype=torch.float64))[1] > 1)
        True
    """

    def __init__(self, model: KernelModel, kind: str, x: Tensor, ridge: float) -> None:
        self.model, self.kind, self.x, self.ridge = model, kind, x, ridge
        K = np.array(kernel_matrix(model, x, None, kind), dtype=np.float64)
        K[np.diag_indices_from(K)] += max(ridge, 1e-10 * np.trace(K) / len(K))
        self.factor = sla.cholesky(K, lower=True, overwrite_a=True, check_finite=False)
        self.ones = sla.solve_triangular(self.factor, np.ones(len(K)), lower=True, check_finite=False)

    def __call__(self, x: Tensor) -> Array:
        k = np.asarray(kernel_matrix(self.model, x, self.x, self.kind), dtype=np.float64)
        half = sla.solve_triangular(self.factor, k.T, lower=True, check_finite=False)  # (n, new)
        free = (1 - self.ones @ half) ** 2 / (self.ones @ self.ones)
        variance = self.ridge + diagonal_of(self.model, x, self.kind) - (half**2).sum(0) + free
        found: Array = np.sqrt(np.maximum(variance, 1e-12 * self.ridge + 1e-300))
        return found


def radius(standardised: Array, level: float, blocks: NDArray[np.int64] | None = None) -> float:
    r"""The quantile of left-out residuals :math:`|e_i|/s_i` that covers ``level`` of new ones.

    Its rank is :math:`\lceil (n+1)\,\text{level}\rceil` as for conformal intervals (Barber et al. 2021, the jackknife; exact
    coverage is theirs for splits, near it for leave-one-out of stable fits). Samples of one block share the weight of one: a
    new row is then one of a new block (Dunn, Wasserman & Ramdas 2023, JASA 118, 2491, their pooled quantile).

    Example:
        >>> radius(np.arange(1.0, 100.0), 0.9)
        90.0
    """
    size = np.abs(standardised)
    order = np.argsort(size, kind="stable")
    if blocks is None:
        rank = min(int(np.ceil((len(order) + 1) * level)), len(order))
        return float(size[order[rank - 1]])
    ids, counts = np.unique(blocks, return_inverse=True, return_counts=True)[1:]
    reached = (1.0 / counts)[ids][order].cumsum()  # blocks
    rank = int(np.searchsorted(reached, level * (len(counts) + 1) - 1e-9))
    return float(size[order[min(rank, len(order) - 1)]])

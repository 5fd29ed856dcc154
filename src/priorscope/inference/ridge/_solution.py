"""Kernel ridge regression with an intercept at one ridge, by a Cholesky factor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray

from priorscope.inference.ridge._factor import left_out_of_factor
from priorscope.inference.ridge._path import RidgePath
from priorscope.printing import printed

__all__ = ["LEAST", "RidgeSolution", "inverse_of", "mean_eigenvalue", "solved"]

Array = NDArray[np.float64]
LEAST = 1e-10  # ridge in units of the mean eigenvalue below which a kernel counts as singular


@printed
@dataclass(frozen=True, eq=False)
class RidgeSolution:
    """Coefficients (anchors, outputs) and intercept of a fit, its ridge; left-out residuals and their spread if asked for."""

    coefficients: Array
    offset: Array
    ridge: float
    residuals: Array | None = None
    spread: Array | None = None


def mean_eigenvalue(kernel: Array, weights: Array) -> float:
    r"""Mean eigenvalue of the centred kernel, :math:`(\mathrm{tr}\,W^{1/2}KW^{1/2} - w^\top K w/\sum w)/(n-1)`.

    Example:
        >>> mean_eigenvalue(np.eye(3), np.ones(3))
        1.0
    """
    total = float(weights @ kernel.diagonal() - weights @ (kernel @ weights) / weights.sum())
    return max(total / max(len(kernel) - 1, 1), 1e-300)


def solved(
    kernel: Array,
    targets: Array,
    weights: Array,
    ridge: float,
    left_out: bool = False,
    overwrite: bool = False,
    blocks: NDArray[np.int64] | None = None,
) -> RidgeSolution:
    r"""Minimise :math:`\sum_i w_i(y_i - f(x_i) - b)^2 + r\|f\|^2` by one Cholesky factor of :math:`K + rW^{-1}`.

    ``left_out`` also gives the residual of each row when it is left out, alone or with its block of ``blocks`` (n,), and the
    spread that :meth:`priorscope.inference.RidgePath.left_out_spread` gives, in a tenth of the time of a path. ``overwrite``
    spares a copy of the kernel, which is lost then. Residuals of rows that are fitted are
    :math:`r\alpha_i/w_i`.

    Example:
        >>> found = solved(np.eye(3), np.array([[0.0], [0.0], [3.0]]), np.ones(3), 1e-9, left_out=True)
        >>> found.residuals.ravel().round(6).tolist()
        [-1.5, -1.5, 3.0]
    """
    r = max(ridge, LEAST * mean_eigenvalue(kernel, weights))
    order = np.arange(len(kernel)) if blocks is None else np.argsort(blocks, kind="stable")
    if blocks is not None:
        kernel, overwrite = kernel[np.ix_(order, order)], True
    K = kernel if overwrite else kernel.copy()
    w, y = weights[order], targets[order]
    K[np.diag_indices_from(K)] += r / w
    factor, failed = sla.lapack.dpotrf(K.T, lower=1, clean=0, overwrite_a=1)  # in place: K is symmetric
    if failed:
        raise np.linalg.LinAlgError(
            f"the kernel with a ridge of {r:.3g} has a minor of order {failed} that is not positive."
        )
    both, _ = sla.lapack.dpotrs(factor, np.column_stack([y, np.ones(len(K))]), lower=1)
    ones = both[:, -1]
    offset = both[:, :-1].sum(0) / ones.sum()
    alpha = np.empty((len(K), both.shape[1] - 1))
    alpha[order] = both[:, :-1] - ones[:, None] * offset
    if not left_out:
        return RidgeSolution(alpha, offset, r)
    residuals, spread = np.empty_like(alpha), np.empty(len(K))
    ids = None if blocks is None else blocks[order]
    residuals[order], spread[order] = left_out_of_factor(factor, ones, alpha[order], w, ids)
    return RidgeSolution(alpha, offset, r, residuals, spread)


def inverse_of(kernel: Array, ridge: float) -> Array:
    r""":math:`A = P(PKP + r)^{-1}P` (n, n) with P taking the mean off: of it any rows can be left out together.

    Example:
        >>> inverse_of(np.eye(2), 1.0).round(3).tolist()
        [[0.25, -0.25], [-0.25, 0.25]]
    """
    r = max(ridge, LEAST * mean_eigenvalue(kernel, np.ones(len(kernel))))
    H = kernel.copy()
    H[np.diag_indices_from(H)] += r
    factor, failed = sla.lapack.dpotrf(H.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        path = RidgePath.of_kernel(kernel)
        found: Array = (path.modes / np.maximum(path.eigenvalues + r, 1e-300)) @ path.modes.T
        return found
    inverse, _ = sla.lapack.dpotri(factor, lower=1, overwrite_c=1)
    found = np.tril(inverse) + np.tril(inverse, -1).T
    ones = found.sum(0)
    found -= np.outer(ones, ones / ones.sum())
    return found

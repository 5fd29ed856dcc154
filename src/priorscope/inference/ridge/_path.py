r"""Weighted kernel ridge regression with an intercept, for all ridges from one eigendecomposition, and its leave-one-out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla
from numpy.typing import ArrayLike, NDArray

from priorscope.inference.ridge._blocks import block_rows, solve_blocks
from priorscope.printing import printed

__all__ = ["RidgePath"]

Array = NDArray[np.float64]
_AT_ONCE = 2_000  # rows whose blocks are computed at once


@printed
@dataclass(frozen=True)
class RidgePath:
    r"""Kernel ridge regression :math:`\min_{f,b}\sum_i w_i\,(y_i - f(x_i) - b)^2 + r\,\|f\|^2` for any ridge r.

    With :math:`v = \sqrt w/\|\sqrt w\|`, :math:`P = 1 - vv^\top` and
    :math:`P\,W^{1/2} K W^{1/2} P = U\,\mathrm{diag}(\lambda)\,U^\top`, the matrix
    :math:`A_r = P\,(P W^{1/2}KW^{1/2} P + r)^{-1} P` gives the coefficients :math:`\alpha = W^{1/2} A_r W^{1/2} y` and the
    residual of each sample when it is left out,

    .. math:: y_i - f_{-i}(x_i) - b_{-i} = \frac{(A_r W^{1/2} y)_i}{\sqrt{w_i}\,(A_r)_{ii}},

    the block inverse of Rasmussen & Williams (2006, eq. 5.12) with the weights in the noise and an intercept without prior
    (their eq. 2.41 for an infinitely broad one). Equal to fitting n times without sample i, to rounding. Of a block B of samples
    that are left out together the residuals are :math:`W_B^{-1/2} ((A_r)_{BB})^{-1} (A_r W^{1/2} y)_B`, which is
    :math:`(1 - H_{BB})^{-1}` times those of the fit to all, with H its hat matrix.

    ``modes`` (n, k) and ``eigenvalues`` (k,) may be those of a part of the spectrum only (:meth:`of_features`); the rest
    counts as zero.

    Example:
        >>> path = RidgePath.of_kernel(np.diag([1.0, 1.0, 1.0]))  # nothing is learnt of other samples but their mean
        >>> path.leave_one_out(np.array([[0.0], [0.0], [3.0]]), [1e-6])[0].ravel().round(6).clip(0).tolist()
        [1.5, 1.5, 0.0]
    """

    eigenvalues: Array
    modes: Array
    weights: Array
    whole: bool = True

    @classmethod
    def of_kernel(cls, kernel: ArrayLike, weights: ArrayLike | None = None) -> RidgePath:
        """The path of a training kernel (n, n) and positive weights of the samples (one each by default)."""
        K = np.array(kernel, dtype=np.float64)  # a copy, which is overwritten
        if K.ndim != 2 or K.shape[0] != K.shape[1] or len(K) < 2:
            raise ValueError(f"the training kernel must be square (n, n) with n >= 2; got {K.shape}.")
        w = _weights(weights, len(K))
        root = np.sqrt(w)
        v = root / np.linalg.norm(root)
        K *= root[:, None] * root
        half = K @ v
        K -= np.outer(v, half - 0.5 * (v @ half) * v)
        K -= np.outer(half - 0.5 * (v @ half) * v, v)
        top = float(np.trace(K)) + 1.0
        K += top * np.outer(
            v, v
        )  # the direction of the intercept is moved to the end of the spectrum, and cut off there
        lam, U = sla.eigh(K, driver="evd", overwrite_a=True, check_finite=False)
        return cls(np.maximum(lam[-2::-1], 0.0), U[:, -2::-1], w)

    @classmethod
    def of_features(cls, features: ArrayLike, weights: ArrayLike | None = None) -> RidgePath:
        """The path of the kernel of features (n, m), m below n: the same solution by an m-dimensional decomposition."""
        phi = np.asarray(features, dtype=np.float64)
        w = _weights(weights, len(phi))
        root = np.sqrt(w)
        phi = root[:, None] * (phi - (w @ phi) / w.sum())
        lam, V = sla.eigh(phi.T @ phi, driver="evd", overwrite_a=True, check_finite=False)
        lam, V = lam[::-1], V[:, ::-1]
        kept = lam > max(lam[0], 0.0) * 1e-12
        return cls(lam[kept], phi @ (V[:, kept] / np.sqrt(lam[kept])), w, whole=False)

    def __len__(self) -> int:
        return len(self.modes)

    @property
    def scale(self) -> float:
        """Mean eigenvalue of the centred kernel: the unit in which ridges are worth naming."""
        return max(float(self.eigenvalues.sum()) / max(len(self) - 1, 1), 1e-300)

    def _filtered(self, z: Array, ridges: Array) -> Array:
        """``A_r z`` (ridges, n, outputs) for columns z (n, outputs): two products for all ridges together."""
        inside = self.modes.T @ z  # (k, outputs)
        shrunk = inside / (self.eigenvalues[:, None] + ridges[:, None, None])  # (ridges, k, outputs)
        flat = shrunk.transpose(1, 0, 2).reshape(len(inside), -1)
        found: Array = (self.modes @ flat).reshape(len(z), len(ridges), -1).transpose(1, 0, 2)
        if not self.whole:
            v = self._constant()[:, None]
            found = found + (z - v * (v.T @ z) - self.modes @ inside) / ridges[:, None, None]
        return found

    def _constant(self) -> Array:
        root = np.sqrt(self.weights)
        found: Array = root / np.linalg.norm(root)
        return found

    def diagonal(self, ridges: Sequence[float] | Array) -> Array:
        """Diagonals of ``A_r`` for several ridges (ridges, n), all by one product."""
        r = np.asarray(ridges, dtype=np.float64)
        squares = self.modes**2
        found: Array = (1.0 / (self.eigenvalues + r[:, None])) @ squares.T
        if not self.whole:
            rest = np.maximum(1.0 - self._constant() ** 2 - squares.sum(1), 0.0)
            found += rest / r[:, None]
        return found

    def leave_one_out(self, targets: ArrayLike, ridges: Sequence[float] | Array) -> Array:
        """Predictions (ridges, n, outputs) of each sample by the fit to all others."""
        y = np.asarray(targets, dtype=np.float64)
        r = np.asarray(ridges, dtype=np.float64)
        root = np.sqrt(self.weights)[:, None]
        found: Array = y - self._filtered(root * y, r) / (root * self.diagonal(r)[:, :, None])
        return found

    def leave_out(self, targets: ArrayLike, ridges: Sequence[float] | Array, blocks: NDArray[np.int64]) -> Array:
        """Predictions (ridges, n, outputs) of each sample by the fit to all samples of other ``blocks`` (n,).

        Example:
            >>> path = RidgePath.of_kernel(np.array([[1.0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
            >>> y, twice = np.array([[4.0], [4.0], [0.0], [1.0]]), np.array([0, 0, 1, 2])  # the first sample is there twice
            >>> path.leave_one_out(y, [1e-6])[0, 0].round(3), path.leave_out(y, [1e-6], twice)[0, 0].round(3)
            (array([4.]), array([0.5]))
        """
        parts = _parted(blocks, len(self))
        if parts is None:
            return self.leave_one_out(targets, ridges)
        y, r = np.asarray(targets, dtype=np.float64), np.asarray(ridges, dtype=np.float64)
        root = np.sqrt(self.weights)[:, None]
        filtered = self._filtered(root * y, r)
        found = np.empty((len(r), *y.shape))
        for rows in parts:
            for k, own in enumerate(self._own_blocks(rows, r)):
                found[k, rows] = y[rows] - solve_blocks(own, filtered[k, rows]) / root[rows]
        return found

    def _own_blocks(self, rows: NDArray[np.int64], ridges: Array) -> Iterator[Array]:
        """``(A_r)_BB`` (blocks, size, size) of blocks of rows (blocks, size), ridge by ridge."""
        inside = self.modes[rows]  # (blocks, size, k)
        rest: Array | None = None
        if not self.whole:
            v = self._constant()[rows]
            rest = np.eye(rows.shape[1]) - v[:, :, None] * v[:, None] - inside @ inside.transpose(0, 2, 1)
        for ridge in ridges:
            own = (inside / (self.eigenvalues + ridge)) @ inside.transpose(0, 2, 1)
            yield own if rest is None else own + rest / ridge

    def left_out_spread(self, ridge: float, blocks: NDArray[np.int64] | None = None) -> Array:
        r"""Standard deviation (n,) of each sample when it, or its block, is left out, in the unit of the kernel.

        It is the root of :math:`(((A_r)_{BB})^{-1})_{ii}`, that of a Gaussian process with this kernel and noise r.

        Example:
            >>> RidgePath.of_kernel(np.eye(3)).left_out_spread(1.0).round(3).tolist()  # variance 1 + 1, of the mean 2 / 2
            [1.732, 1.732, 1.732]
        """
        parts = None if blocks is None else _parted(blocks, len(self))
        if parts is None:
            (diagonal,) = self.diagonal([ridge])
            alone: Array = 1.0 / np.sqrt(diagonal)
            return alone
        found = np.empty(len(self))
        for rows in parts:
            (own,) = self._own_blocks(rows, np.array([float(ridge)]))
            inverse = solve_blocks(own, np.broadcast_to(np.eye(rows.shape[1]), own.shape))
            found[rows] = np.sqrt(np.diagonal(inverse, axis1=1, axis2=2))
        return found

    def solve(self, targets: ArrayLike, ridge: float) -> Array:
        """Coefficients (n, outputs) of the training samples: ``f(x) = K(x, X) coefficients + b``."""
        root = np.sqrt(self.weights)[:, None]
        (filtered,) = self._filtered(root * np.asarray(targets, dtype=np.float64), np.array([float(ridge)]))
        found: Array = root * filtered
        return found

    def intercept(self, targets: ArrayLike, fitted: ArrayLike) -> Array:
        """The b that goes with ``fitted`` = K coefficients on the training samples: the weighted mean of what is left."""
        found: Array = self.weights @ (np.asarray(targets) - np.asarray(fitted)) / self.weights.sum()
        return found


def _parted(blocks: NDArray[np.int64], n: int) -> list[NDArray[np.int64]] | None:
    """Rows of the blocks by size, in pieces of some thousand rows; None where every sample is a block of its own."""
    ids = np.asarray(blocks)
    if ids.shape != (n,):
        raise ValueError(f"blocks must number the block of each of {n} samples; got shape {ids.shape}.")
    parts = block_rows(ids)
    if parts[0].size == n:
        if len(parts[0]) == 1:
            raise ValueError(
                "all samples are of one block: without it nothing is left to learn from. Give two blocks or more."
            )
        if parts[0].shape[1] == 1:
            return None
    return [piece for rows in parts for piece in np.array_split(rows, -(-rows.size // _AT_ONCE))]


def _weights(weights: ArrayLike | None, n: int) -> Array:
    if weights is None:
        return np.ones(n)
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n,) or not (w > 0).all() or not np.isfinite(w).all():
        raise ValueError(f"weights must be {n} positive numbers, one per sample; got shape {w.shape}.")
    return w

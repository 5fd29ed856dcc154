r"""Weighted kernel ridge regression with an intercept, for all ridges from one eigendecomposition, and its leave-one-out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla
from numpy.typing import ArrayLike, NDArray

from priorscope.printing import printed

__all__ = ["RidgePath"]

Array = NDArray[np.float64]


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
    (their eq. 2.41 for an infinitely broad one). Equal to fitting n times without sample i, to rounding.

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


def _weights(weights: ArrayLike | None, n: int) -> Array:
    if weights is None:
        return np.ones(n)
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n,) or not (w > 0).all() or not np.isfinite(w).all():
        raise ValueError(f"weights must be {n} positive numbers, one per sample; got shape {w.shape}.")
    return w

"""Among all matrices that agree with the measurements, the one of least nuclear norm, by splitting."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorscope.checks import POSITIVE, whole
from priorscope.contracts import guarded

__all__ = ["minimum_nuclear_norm"]

Array = NDArray[np.float64]


@guarded(tolerance=POSITIVE, most=whole())
def minimum_nuclear_norm(
    measurements: ArrayLike, values: ArrayLike, *, tolerance: float = 1e-9, most: int = 50_000
) -> Array:
    r"""The matrix M with :math:`\langle A_i, M\rangle = y_i` and the least sum of singular values.

    ``measurements`` (m, rows, columns); single entries for completion. Where gradient flow of a factored matrix from a small
    start is conjectured to end (Gunasekar et al. 2017). Douglas–Rachford splitting: singular values are thresholded, then M is
    projected onto the measurements, until the two agree to ``tolerance``, relative to M (Combettes & Pesquet 2007).

    Example:
        >>> entries = np.zeros((3, 2, 2))
        >>> entries[0, 0, 0] = entries[1, 0, 1] = entries[2, 1, 0] = 1
        >>> minimum_nuclear_norm(entries, [1.0, 2.0, 0.5]).round(3).tolist()  # completed to rank one
        [[1.0, 2.0], [0.5, 1.0]]
    """
    A, y = np.asarray(measurements, dtype=np.float64), np.asarray(values, dtype=np.float64).reshape(-1)
    if A.ndim != 3 or len(A) != len(y) or not np.isfinite(A).all() or not np.isfinite(y).all():
        raise ValueError(
            f"minimum_nuclear_norm needs finite measurements (m, rows, columns) and one value each; got {A.shape}, {y.shape}."
        )
    flat = A.reshape(len(A), -1)
    back = np.linalg.pinv(flat)
    if np.linalg.norm(flat @ (back @ y) - y) > 1e-8 * max(float(np.linalg.norm(y)), 1e-300):
        raise ValueError("minimum_nuclear_norm: no matrix agrees with these measurements.")

    def project(M: Array) -> Array:
        found: Array = M - (back @ (flat @ M.reshape(-1) - y)).reshape(M.shape)
        return found

    Z = project(np.zeros(A.shape[1:]))
    level = 0.3 * float(np.linalg.norm(Z, 2))
    off = np.inf
    for _ in range(most):
        M = project(Z)
        U, s, V = np.linalg.svd(2 * M - Z, full_matrices=False)
        low = (U * np.maximum(s - level, 0.0)) @ V
        Z = Z + low - M
        off = float(np.linalg.norm(low - M)) / max(float(np.linalg.norm(M)), 1e-300)
        if off < tolerance:
            return project(Z)
    raise ValueError(
        f"minimum_nuclear_norm did not reach {tolerance:g} in {most} rounds (it stands at {off:.2g}); allow more rounds."
    )

"""Linear classifiers of largest margin that use few frequencies: the norm is the sum of Fourier amplitudes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["frequency_margin", "frequency_norm"]

Array = NDArray[np.float64]


def frequency_norm(weights: Array) -> float:
    r"""The sum of the moduli of the unitary discrete Fourier transform, :math:`\|\hat\beta\|_1`.

    Example:
        >>> round(frequency_norm(np.ones(4)), 9), round(frequency_norm(np.eye(4)[0]), 9)  # one frequency, all four
        (2.0, 2.0)
    """
    return float(np.abs(np.fft.fft(weights, norm="ortho")).sum())


def _basis(d: int) -> tuple[Array, NDArray[np.intp], Array]:
    """Orthonormal cosines and sines (rows), the frequency of each, and how often its amplitude counts."""
    t = np.arange(d)
    rows, group = [np.full(d, d**-0.5)], [0]
    for k in range(1, d // 2 + 1):
        if 2 * k == d:
            rows.append(np.cos(np.pi * t) / d**0.5)
            group.append(k)
        else:
            rows += [(2 / d) ** 0.5 * np.cos(2 * np.pi * k * t / d), (2 / d) ** 0.5 * np.sin(2 * np.pi * k * t / d)]
            group += [k, k]
    frequencies = np.array(group)
    counts = np.array([1.0 if (frequencies == k).sum() == 1 else 2**0.5 for k in range(d // 2 + 1)])
    return np.stack(rows), frequencies, counts


def frequency_margin(signed: Array, *, tolerance: float = 1e-5, most: int = 400) -> Array | None:
    r"""The w of least :math:`\|\hat w\|_1` with :math:`Zw \ge 1`, for rows :math:`z_i = y_ix_i`; None where there is none.

    Iteratively reweighted hard-margin machines: :math:`\sum_k|\hat w_k|` is the least of
    :math:`\frac12\sum_k(|\hat w_k|^2/\eta_k + \eta_k)` over :math:`\eta > 0` (Daubechies et al. 2010). It stops when the
    multipliers, scaled to be dual feasible, certify the norm to ``tolerance``.

    Example:
        >>> frequency_margin(np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.9]])).round(3).tolist()
        [0.256, 0.256, 0.256, 0.256]
    """
    from priorscope.probes.limits.implicit._maximum_margin import hard_margin

    F, group, counts = _basis(signed.shape[1])
    Z = signed @ F.T  # (n, d) in the real Fourier basis
    weight = counts[group]
    eta = np.ones(len(counts))
    ease = 1.0
    for _ in range(most):
        root = np.sqrt(eta[group] / weight)
        solved = hard_margin(Z * root, np.ones(len(Z)))
        if solved is None:
            return None
        c, lam = solved[0] * root, solved[1]
        sizes = np.sqrt(np.bincount(group, c**2, len(counts)))
        pull = np.sqrt(np.bincount(group, (Z.T @ lam) ** 2, len(counts))) / counts
        norm = float(counts @ sizes) / float((Z @ c).min())
        if norm - float(lam.sum()) / float(pull.max()) < tolerance * norm:
            found: Array = c @ F
            return found
        ease = max(0.7 * ease, 1e-9 * float(sizes.max()))
        eta = np.sqrt(sizes**2 + ease**2)
    raise ValueError(
        f"the margin of few frequencies was not settled to {tolerance:g} in {most} rounds; the margin is within {norm:.3g}."
    )

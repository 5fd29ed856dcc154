"""The trace of the GAP kernel: means of k over patches and their shifted copies, exactly where shifts close cycles too."""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from priorscope.probes.spectra.sphere._block import BlockEigenvalues
from priorscope.probes.spectra.sphere._harmonic_moments import harmonic_count

__all__ = ["gap_trace"]


def gap_trace(block: BlockEigenvalues, p: int, s: int) -> float:
    r"""E K_GAP(ξ, ξ) = (1/p) Σ_shift E k(u), u the mean of the s cosines :math:`t_i = ξ_i\cdot ξ_{i+shift}`.

    At shift 0, k(1). Else the edges i → i + shift form d = gcd(shift, p) cycles of L = p/d spheres, of which a patch holds
    C = max(0, s − (p − d)) whole. Cosines that close no cycle are independent; around a cycle, by Funk–Hecke, with N(r)
    harmonics of degree r,

    .. math:: E\big[t_1^{m_1} \cdots t_L^{m_L}\big] = \sum_r N(r) \prod_i c(m_i, r).

    Derived here.

    Holds: for a polynomial k, the sum of all eigenvalues of the exact spectrum.

    Example:
        >>> from priorscope.probes import KernelSeries
        >>> k = KernelSeries(np.array([0.0, 0.0, 1.0]), total=1.0)   # u²
        >>> round(gap_trace(BlockEigenvalues(k, dim=3), p=2, s=2), 6)   # (1 + E t²)/2: both cosines of shift 1 are the same
        0.666667
    """
    series = block.series
    total = series.total
    known: dict[int, float] = {}
    for shift in range(1, p):
        d = gcd(shift, p)
        if d not in known:
            cycles = max(0, s - (p - d))
            known[d] = _mean(block, s, p // d, cycles) if cycles else block((), s)
        total += known[d]
    return total / p


def _mean(block: BlockEigenvalues, s: int, length: int, cycles: int) -> float:
    """The expectation of k at the mean of s cosines, ``cycles`` times ``length`` of which run around cycles."""
    a = block.series.coefficients
    around = _cycle_moments(block, length)
    moments, q = around, length
    for _ in range(cycles - 1):
        moments, q = _join(moments, q, around, length), q + length
    free = s - q
    if free:
        moments = _join(moments, q, _every(block._moments((), free).logs, 0, len(a)), free)
    return float(a @ np.exp(moments))


def _cycle_moments(block: BlockEigenvalues, length: int) -> NDArray[np.float64]:
    """log E[u^m] of the mean of the cosines around one cycle, for every m of the series."""
    terms = len(block.series.coefficients)
    total = np.full(terms, -np.inf)
    for degree in range((terms - 1) // length + 1):
        count = harmonic_count(block.dim, degree)
        if count == 0:
            break
        found = block._moments((degree,) * length if degree else (), length)
        total = np.logaddexp(total, _every(found.logs, degree * length, terms) + np.log(count))
    return total


def _every(logs: NDArray[np.float64], first: int, terms: int) -> NDArray[np.float64]:
    """Moments of every m from those of m = first, first + 2, …; the others vanish."""
    out = np.full(terms, -np.inf)
    places = out[first::2]
    places[:] = logs[: len(places)]
    return out


def _join(a: NDArray[np.float64], q_a: int, b: NDArray[np.float64], q_b: int) -> NDArray[np.float64]:
    """log moments of the mean of two independent blocks of q_a and q_b cosines: a convolution with binomial weights."""
    m = np.arange(len(a), dtype=float)
    left = a + m * np.log(q_a / (q_a + q_b)) - gammaln(m + 1)
    right = b + m * np.log(q_b / (q_a + q_b)) - gammaln(m + 1)
    padded = np.concatenate([np.full(len(b) - 1, -np.inf), right])
    shifted = np.lib.stride_tricks.sliding_window_view(padded, len(a))[:, ::-1]  # (m, j): right[m − j]
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = np.log(np.exp(left + shifted + gammaln(m + 1)[:, None]).sum(1))
        return found

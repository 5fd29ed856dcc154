"""Eigenvalues λ_q(r⃗) of k(mean of q cosines): Funk–Hecke on a product of spheres."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from priorscope.probes.spectra.sphere._harmonic_moments import log_harmonic_moments
from priorscope.probes.spectra.sphere._series import KernelSeries

__all__ = ["BlockEigenvalues"]


@dataclass(frozen=True)
class _Moments:
    """log E[(mean of q cosines)^m Π P] for m = first, first + 2, …"""

    q: int
    first: int
    logs: NDArray[np.float64]


@dataclass
class BlockEigenvalues:
    r"""λ_q of one kernel and one sphere, for every multiset of degrees.

    .. math:: λ_q(\vec r) = \sum_m a_m q^{-m} \sum_{m_1+…+m_q=m} \frac{m!}{\prod m_i!} \prod_i c(m_i, r_i)

    Derived here by the theorem of Funk and Hecke, for the kernels of "What breaks the curse of dimensionality in deep
    learning?" (2021), Theorem 4.1. The inner sum is the m-th coefficient of a product of exponential generating functions.
    Two blocks of q₁ and q₂ spheres join by a convolution with binomial weights of share q₁/q, which stay in [0, 1] where
    factorials would overflow; powers of the degree-0 series are made by doubling.

    Example:
        >>> k = KernelSeries(np.array([0.0, 0.0, 1.0]), total=1.0)   # u²
        >>> round(BlockEigenvalues(k, dim=3)((), q=2), 6)            # E[((t₁ + t₂)/2)²] = 1/6
        0.166667
    """

    series: KernelSeries
    dim: int
    _memory: dict[tuple[tuple[int, ...], int], _Moments] = field(default_factory=dict, repr=False)

    def __call__(self, degrees: tuple[int, ...], q: int) -> float:
        """λ_q for the nonzero ``degrees`` (any order) on a block of q spheres."""
        if len(degrees) > q:
            return 0.0
        moments = self._moments(tuple(sorted(degrees, reverse=True)), q)
        a = self.series.coefficients[moments.first :: 2]
        return float(a @ np.exp(moments.logs[: len(a)]))

    def truncation(self, q: int) -> float:
        """A bound of the error of every eigenvalue: the mass cut off times E u^M, for the M of the cut."""
        return self.series.missing * float(np.exp(self._moments((), q).logs[-1]))

    def _moments(self, degrees: tuple[int, ...], q: int) -> _Moments:
        key = (degrees, q)
        if key not in self._memory:
            self._memory[key] = self._make(degrees, q)
        return self._memory[key]

    def _make(self, degrees: tuple[int, ...], q: int) -> _Moments:
        if q == 1:
            degree = degrees[0] if degrees else 0
            length = max((len(self.series.coefficients) - 1 - degree) // 2 + 1, 1)
            return _Moments(1, degree, log_harmonic_moments(self.dim, degree, length))
        if not degrees:
            return self._join(self._moments((), q // 2), self._moments((), q - q // 2))
        if len(degrees) == q:
            return self._join(self._moments(degrees[:-1], q - 1), self._moments(degrees[-1:], 1))
        return self._join(self._moments(degrees, len(degrees)), self._moments((), q - len(degrees)))

    def _join(self, left: _Moments, right: _Moments) -> _Moments:
        q, first = left.q + right.q, left.first + right.first
        length = max((len(self.series.coefficients) - 1 - first) // 2 + 1, 1)
        a = _weighted(left, left.q / q, length)
        b = _weighted(right, right.q / q, length)
        padded = np.concatenate([np.full(length - 1, -np.inf), b])
        shifted = np.lib.stride_tricks.sliding_window_view(padded, length)[:, ::-1]  # (m, j): b[m − j]
        scale = gammaln(first + 2.0 * np.arange(length) + 1)
        sums = np.exp(a + shifted + scale[:, None]).sum(1)
        with np.errstate(divide="ignore"):
            return _Moments(q, first, np.log(sums))


def _weighted(moments: _Moments, share: float, length: int) -> NDArray[np.float64]:
    """log of share^m c(m)/m!, cut or padded to a length."""
    logs = moments.logs[:length]
    m = moments.first + 2.0 * np.arange(len(logs))
    weighted = logs + m * np.log(share) - gammaln(m + 1)
    return np.concatenate([weighted, np.full(length - len(logs), -np.inf)])

"""Spherical harmonics in d0 dimensions: how many of each degree, and the moments of the Gegenbauer polynomials."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

__all__ = ["harmonic_count", "log_harmonic_moments"]


def harmonic_count(dim: int, degree: int) -> int:
    r"""Dimension of the harmonics of a degree on the sphere in R^dim.

    .. math:: N(d_0, r) = \binom{d_0 + r - 1}{r} - \binom{d_0 + r - 3}{r - 2}

    Homogeneous polynomials of degree r less those of degree r - 2: Müller (1966), "Spherical harmonics".

    Example:
        >>> [harmonic_count(3, r) for r in range(4)], [harmonic_count(1, r) for r in range(3)]
        ([1, 3, 5, 7], [1, 1, 0])
    """
    if degree < 2:
        return 1 if degree == 0 else dim
    lower = comb(dim + degree - 3, degree - 2)
    return comb(dim + degree - 1, degree) - lower


def log_harmonic_moments(dim: int, degree: int, terms: int) -> NDArray[np.float64]:
    r"""Logarithms of c(m, r) for m = r, r + 2, …: ``terms`` values (all others are zero).

    .. math:: c(m, r) = E[t^m P_r(t)] = \frac{m!}{(m-r)!}\,
              \frac{\Gamma(d_0/2)\,\Gamma((m-r+1)/2)}{2^r \sqrt\pi\,\Gamma((m+r+d_0)/2)}

    for t the cosine between a fixed and a uniform point, derived here from Rodrigues' formula (Müller 1966). All c are
    positive, so sums of their products never cancel.

    Example:
        >>> np.round(np.exp(log_harmonic_moments(3, 0, 3)), 4).tolist()
        [1.0, 0.3333, 0.2]
    """
    m = degree + 2.0 * np.arange(terms)
    found: NDArray[np.float64] = (
        gammaln(m + 1)
        - gammaln(m - degree + 1)
        + gammaln(dim / 2)
        + gammaln((m - degree + 1) / 2)
        - degree * np.log(2.0)
        - 0.5 * np.log(np.pi)
        - gammaln((m + degree + dim) / 2)
    )
    return found

"""Exponents of small gaps and overlaps, from their cumulative counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincinv

from priorscope.checks import FRACTION
from priorscope.contracts import guarded
from priorscope.statistics import Interval

__all__ = ["small_argument_exponent"]


@guarded(fraction=FRACTION, level=FRACTION)
def small_argument_exponent(samples: ArrayLike, *, fraction: float = 0.2, level: float = 0.95) -> Interval:
    r"""The exponent a of a density :math:`p(z)\sim z^a` at small positive z, with its interval.

    The ``fraction`` smallest samples below a threshold :math:`z_0` follow :math:`P(z<u)=(u/z_0)^{1+a}`, whose maximum
    likelihood (Hill) estimate is :math:`1 + a = 1/\langle\log(z_0/z)\rangle`. The k logarithms are exponential, so that
    :math:`2k(1+a)\langle\log(z_0/z)\rangle` is chi-squared with 2k degrees of freedom: the interval is exact for
    independent samples. Overlaps have :math:`a = \theta`, gaps :math:`a = -\gamma`. Default fraction 0.2, chosen by us:
    about two decades at the sizes of the papers.

    Example:
        >>> z = np.random.default_rng(0).random(5000) ** (1 / 1.5)
        >>> small_argument_exponent(z).contains(0.5)
        True
    """
    z = np.asarray(samples, dtype=float)
    z = np.sort(z[z > 0])
    if len(z) < 50:
        raise ValueError(f"an exponent needs at least 50 positive samples; got {len(z)}. Pool more runs.")
    k = max(int(fraction * len(z)), 10)
    mean = float(np.mean(np.log(z[k] / np.maximum(z[:k], 1e-300))))
    low, high = (gammaincinv(k, tail) / k for tail in ((1 - level) / 2, (1 + level) / 2))  # chi-squared over 2k
    return Interval(1 / mean - 1, float(low) / mean - 1, float(high) / mean - 1)

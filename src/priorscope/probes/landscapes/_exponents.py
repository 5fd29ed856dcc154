"""Exponents of small gaps and overlaps, from their cumulative counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from priorscope.statistics import Interval, bootstrap_interval

__all__ = ["small_argument_exponent"]


def small_argument_exponent(samples: ArrayLike, *, fraction: float = 0.2, draws: int = 200, seed: int = 0) -> Interval:
    r"""The exponent a of a density :math:`p(z)\sim z^a` at small positive z, with a bootstrap interval.

    The ``fraction`` smallest samples below a threshold :math:`z_0` follow :math:`P(z<u)=(u/z_0)^{1+a}`, whose maximum
    likelihood (Hill) estimate is :math:`1 + a = 1/\langle\log(z_0/z)\rangle`. Overlaps have :math:`a = \theta`, gaps
    :math:`a = -\gamma`. Default fraction 0.2, chosen by us: about two decades at the sizes of the papers.

    Example:
        >>> z = np.random.default_rng(0).random(5000) ** (1 / 1.5)
        >>> small_argument_exponent(z, draws=50).contains(0.5)
        True
    """
    z = np.asarray(samples, dtype=float)
    z = z[z > 0]
    if len(z) < 50:
        raise ValueError(f"an exponent needs at least 50 positive samples; got {len(z)}. Pool more runs.")

    def estimate(values: np.ndarray) -> float:
        ordered = np.sort(values)
        k = max(int(fraction * len(ordered)), 10)
        return float(1 / np.mean(np.log(ordered[k] / np.maximum(ordered[:k], 1e-300))) - 1)

    return bootstrap_interval(z, estimate, draws=draws, seed=seed)

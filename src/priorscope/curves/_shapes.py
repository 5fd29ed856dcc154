r"""The grid of shapes a learning curve may have, and how well each explains measured errors: closed forms throughout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

__all__ = ["ALPHAS", "FLOORS", "Fits", "Points", "explain", "shape_logs"]

Array = NDArray[np.float64]
# A grid, no belief: how much each cell is believed in is the prior's to say.
FLOORS = np.array(
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.86, 0.92, 0.96, 0.99]
)  # floor over error at the last n
ALPHAS = np.geomspace(0.05, 2.5, 16)


@dataclass(frozen=True)
class Points:
    """The measured points of one curve, ready to be explained: ``error`` above zero, ``variance`` of its logarithm.

    ``variance`` is what each point has of its own, ``common`` what all points share (the luck of the test rows), ``repeats`` how
    many trainings each is the mean of.

    Example:
        >>> points = Points(np.array([64.0, 128.0]), np.array([0.3, 0.2]), np.array([0.01, 0.01]), 0.02)
        >>> float(points.last)
        128.0
    """

    sizes: Array
    error: Array
    variance: Array
    common: float = 0.0
    repeats: float = 1.0

    @property
    def last(self) -> float:
        """The largest size measured."""
        return float(self.sizes[-1])


@dataclass(frozen=True)
class Fits:
    r"""How each shape explains one curve: evidence by (shape, scatter), and the level it then has at the largest size.

    The level is gamma distributed: :math:`e(n_{last}) \sim \Gamma(\text{count}, \text{rate})`.
    """

    evidence: Array  # (shape, scatter), logarithm
    count: Array  # (scatter,)
    rate: Array  # (shape, scatter)


def shape_logs(ratio: Array) -> Array:
    r"""Logarithm of e(n) / e(last) = s + (1 - s) (n / last)^-alpha for every shape of the grid, at each ``ratio`` n / last.

    Holds: zero at ratio one; never rises with the ratio; at least log s.

    Example:
        >>> shape_logs(np.array([1.0, 4.0])).shape == (len(FLOORS) * len(ALPHAS), 2)
        True
    """
    power = ratio ** -ALPHAS[:, None]  # (alpha, n)
    values = FLOORS[:, None, None] + (1 - FLOORS[:, None, None]) * power
    found: Array = np.log(values).reshape(-1, len(ratio))
    return found


def explain(points: Points, scatters: Array, settling: float = 0.0, discrepancy: float = 0.0) -> Fits:
    r"""Evidence of every shape, the level integrated out.

    An error y of relative variance V counts like :math:`x = 1/V` mistakes among :math:`T = x/y` chances, so that given a shape r
    and a level e the likelihood is that of Poisson counts of mean :math:`e\,r_i T_i`; with a flat prior of log e the integral
    over the level is a gamma function (Gelman et al. 2013, Bayesian data analysis, sec. 2.6), derived here:
    :math:`\log p = \log\Gamma(X) + \sum_i x_i \log r_i - X \log\sum_i r_i T_i`, :math:`X = \sum_i x_i`. V is what the point has
    of its own, plus ``scatters`` squared over the number of repeats (growing towards small samples by ``settling``), plus
    what the form of the curve is off (``discrepancy``), see :class:`Belief`.
    """
    back = np.log(points.last / points.sizes)[:, None]
    total = points.variance[:, None] + (discrepancy * back) ** 2  # (n, 1)
    total = total + np.exp(2 * settling * back) * scatters**2 / points.repeats  # (n, scatter)
    x = 1 / total
    chances = x / points.error[:, None]
    logs = shape_logs(points.sizes / points.last)
    rate = np.exp(logs) @ chances
    count = x.sum(0)
    scale = (x * np.log(chances) - gammaln(x + 1) + np.log(chances)).sum(0)
    return Fits(gammaln(count) + logs @ x - count * np.log(rate) + scale, count, rate)

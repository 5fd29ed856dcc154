r"""Two forecasts from one pilot, side by side: the ratio of their errors is known better than either error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from priorscope.probes.curves.forecast._combine import TRAINING
from priorscope.probes.curves.forecast._power_law import local_power_law
from priorscope.statistics import Interval

if TYPE_CHECKING:
    from priorscope.probes.curves.forecast._result import Forecast

__all__ = ["ratio_of"]

_BEYOND = (
    0.3  # share of the logarithm of a ratio that may still change beyond the pilot; docs/papers/profile-validity.md
)


def _unpaired(forecast: Forecast, n: float, z: float) -> float:
    """Standard deviation of the logarithm of one forecast, from its interval."""
    ahead = forecast.at(n)
    return float(np.log(ahead.high / ahead.low)) / (2 * z)


def ratio_of(first: Forecast, second: Forecast, n: float) -> Interval:
    r"""Error of ``first`` over that of ``second`` at ``n`` samples, with an interval of the first one's level.

    The centre is the ratio of the two forecasts. Both were measured on the same samples with the same bootstrap draws, so what
    they share (samples hard for either, the luck of the pilot) cancels in the draws' ratio :math:`\rho(p) = E_1(p)/E_2(p)`. Its
    power law is continued to ``n`` like that of an error, which gives the scatter :math:`s` and a second centre; with
    :math:`\ell` the logarithm of the first and :math:`\ell'` that of the second,

    .. math:: \mathrm{sd}^2 = (1.2\,s)^2 + (\ell - \ell')^2 + (0.3\,\ell)^2 .

    This is our own rule; its last term was set on 16 problems whose larger samples were known: ratios grow and shrink
    beyond the pilot, seldom by more than a third of their logarithm. Forecasts from pilots of different sizes are compared
    as independent ones.
    """
    z = float(norm.ppf(0.5 + first.level / 2))
    centre = float(np.log(first.at(n).value / second.at(n).value))
    a, b = first.curve, second.curve
    if np.array_equal(a.sizes, b.sizes) and a.draws.shape == b.draws.shape:
        draws = np.log(a.draws / b.draws)
        at = np.array([float(n)])
        continued, scatter = local_power_law(a.sizes.astype(float), a.error / b.error, np.cov(draws.T), at)
        own = max(float(scatter[0]), float(draws[:, -1].std()))
        variance = (TRAINING * own) ** 2 + (centre - float(continued[0])) ** 2 + (_BEYOND * centre) ** 2
    else:
        variance = _unpaired(first, n, z) ** 2 + _unpaired(second, n, z) ** 2
    width = z * np.sqrt(variance)
    return Interval(*(float(np.exp(centre + side * width)) for side in (0, -1, 1)))

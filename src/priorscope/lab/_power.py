"""What an interval can decide: how often other draws would say the same, and how many draws would."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import chi2, norm
from scipy.stats import t as student

from priorscope.checks import checked, whole
from priorscope.lab._expect import Expectation
from priorscope.statistics import Interval

_SURE = 0.8  # a check is filed, and more draws are asked for, at this chance


def _error(interval: Interval, draws: int) -> float:
    """The standard error of which the interval is Student's at 95 %; of Gauss' where the draws are not known."""
    half = (float(interval.high) - float(interval.low)) / 2
    return half / float(student.ppf(0.975, draws - 1) if draws > 1 else norm.ppf(0.975))


def _truth(interval: Interval, expect: Expectation) -> float:
    """The source's value, or the middle of what is expected; where that has one end only, what was measured."""
    if expect.core is not None:
        return min(max(float(interval.value), expect.core[0]), expect.core[1])
    ends = (expect.low, expect.high)
    return sum(ends) / 2 if all(map(math.isfinite, ends)) else float(interval.value)


@checked(draws=whole(0))
def power(interval: Interval, expect: Expectation, draws: int = 0) -> float | None:
    r"""The chance that as many other draws would give *holds* (or *with changes*), if the claim were true.

    True means: the value is the source's (the middle of what is expected; where only one side is bounded, the measured one, so
    that there the chance is that of saying *holds* again). An interval of half-width w and standard error s about a truth
    :math:`\theta` lies inside :math:`[a, b]` with chance :math:`\Phi((b-w-\theta)/s) - \Phi((a+w-\theta)/s)`; s is taken as
    measured, w scatters about its measured value like the root of a :math:`\chi^2` of n - 1 degrees of freedom. None where an end
    is not known.

    Holds: 1 for a value without error inside the bounds, next to 0 where the interval is much wider than them.

    Example:
        >>> from priorscope.lab import claimed
        >>> [round(power(Interval(0.5, 0.5 - w, 0.5 + w), claimed(0.5, within=0.1), draws=8), 2) for w in (0.03, 0.06, 0.11)]
        [1.0, 0.84, 0.14]
    """
    w = (float(interval.high) - float(interval.low)) / 2
    if not math.isfinite(w):
        return None
    s, theta = _error(interval, draws), _truth(interval, expect)
    if s == 0:
        return float(expect.contains(theta, theta))
    widths = (
        w * np.sqrt(chi2.ppf((np.arange(200) + 0.5) / 200, draws - 1) / (draws - 1)) if draws > 1 else np.array([w])
    )
    inside = norm.cdf((expect.high - widths - theta) / s) - norm.cdf((expect.low + widths - theta) / s)
    return float(inside.clip(0).mean())


@checked(draws=whole(0))
def more_draws(interval: Interval, expect: Expectation, draws: int = 0) -> float | None:
    r"""How many times the draws would decide the check with a chance of 80 %, were the measured value the truth.

    An interval about :math:`\theta` at distance d from the nearest bound lies on one side of it with that chance where
    :math:`d \ge (z_{0.975} + z_{0.8})\, s`, and :math:`s^2` falls like one over the draws. None where the value lies on a
    bound or an end is not known.

    Example:
        >>> from priorscope.lab import rising
        >>> round(more_draws(Interval(0.1, -0.04, 0.24), rising(), draws=16), 1)
        3.4
    """
    s = _error(interval, draws)
    far = min(abs(float(interval.value) - bound) for bound in (expect.low, expect.high))
    if not math.isfinite(s) or far == 0:
        return None
    return float(((norm.ppf(0.975) + norm.ppf(_SURE)) * s / far) ** 2)

"""What a claim expects of a measured value: a set of numbers, and the words for it."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

from priorscope.checks import ANY_NUMBER, NOT_NEGATIVE, checked, optional

_ULPS = 8  # a value this many units in the last place from a bound lies on the bound


@dataclass(frozen=True)
class Expectation:
    """The numbers from ``low`` to ``high`` that a claim allows; made by :func:`near`, :func:`between`, :func:`below` ....

    With ``strict`` the bounds themselves are not allowed. Bounds and measured values carry rounding errors: what differs from a
    bound by at most eight units in the last place of the larger number involved (``scale``: of those the bounds were
    computed from) lies on the bound. So 0.1 + 0.2 is at most 0.3, and is not above 0.3.

    ``core`` is what the source says, where the numbers allowed go beyond it by a tolerance (:func:`claimed`): an interval that is
    allowed but misses the core agrees with the source only about.

    Example:
        >>> expect = between(0.65, 0.9)
        >>> expect.contains(0.7, 0.8), expect.excludes(0.7, 0.8)
        (True, False)
        >>> expect.contains(0.6, 0.8), expect.excludes(0.6, 0.8)
        (False, False)
        >>> str(expect)
        'between 0.65 and 0.9'
    """

    low: float
    high: float
    words: str
    strict: bool = False
    scale: float = 0.0
    core: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if math.isnan(self.low) or math.isnan(self.high) or self.low > self.high:
            raise ValueError(f"an expectation needs low ≤ high; got {self.low} and {self.high}.")

    def __str__(self) -> str:
        return self.words

    def contains(self, low: float, high: float) -> bool:
        """Whether all of the interval from ``low`` to ``high`` is expected."""
        above, below = self._side(low, self.low), self._side(high, self.high)
        return above > 0 and below < 0 if self.strict else above >= 0 and below <= 0

    def excludes(self, low: float, high: float) -> bool:
        """Whether nothing in the interval from ``low`` to ``high`` is expected."""
        above, below = self._side(low, self.high), self._side(high, self.low)
        return above >= 0 or below <= 0 if self.strict else above > 0 or below < 0

    def meets_core(self, low: float, high: float) -> bool:
        """Whether some of the interval is what the source says; always, where there is no tolerance beside it."""
        return self.core is None or (self._side(high, self.core[0]) >= 0 and self._side(low, self.core[1]) <= 0)

    def _side(self, x: float, bound: float) -> int:
        """1 when ``x`` lies above the bound, -1 below, 0 on it (up to rounding)."""
        if math.isinf(bound):
            return -1 if bound > 0 else 1
        if math.isinf(x):  # an end that is not known lies beyond any bound, not within rounding of it
            return 1 if x > 0 else -1
        rounding = _ULPS * sys.float_info.epsilon * max(abs(x), abs(bound), self.scale)
        return 0 if abs(x - bound) <= rounding else 1 if x > bound else -1


@checked(value=ANY_NUMBER, within=NOT_NEGATIVE)
def near(value: float, *, within: float) -> Expectation:
    """At most ``within`` away from ``value``.

    Example:
        >>> print(near(-0.5, within=0.1))
        -0.5 ± 0.1
        >>> near(-0.5, within=0.1).contains(-0.6, -0.4)
        True
    """
    scale = max(abs(value), abs(within))
    return Expectation(value - within, value + within, f"{value:g} ± {within:g}", scale=scale)


@checked(value=ANY_NUMBER, upper=optional(ANY_NUMBER), within=NOT_NEGATIVE)
def claimed(value: float, upper: float | None = None, *, within: float) -> Expectation:
    """The value that the source gives (or a range up to ``upper``), with a tolerance: to hold, the interval must contain it too.

    For laws and constants. An interval inside the tolerance that excludes the value *holds with changes*: about so, not so. Take
    :func:`near` where the tolerance itself is the statement ("they coincide").

    Example:
        >>> from priorscope.lab import judge_interval
        >>> from priorscope.statistics import Interval
        >>> expect = claimed(-0.5, within=0.1)
        >>> print(expect)
        -0.5, at most 0.1 off
        >>> judge_interval(Interval(-0.48, -0.55, -0.41), expect), judge_interval(Interval(-0.45, -0.47, -0.43), expect)
        ('holds', 'holds with changes')
        >>> print(claimed(2.8, 2.9, within=0.3))
        2.8 to 2.9, at most 0.3 off
    """
    last = value if upper is None else upper
    if not last >= value:
        raise ValueError(f"claimed(value, upper) needs value ≤ upper; got {value} and {upper}.")
    words = f"{value:g}, at most {within:g} off" if upper is None else f"{value:g} to {upper:g}, at most {within:g} off"
    scale = max(abs(value), abs(last), abs(within))
    return Expectation(value - within, last + within, words, scale=scale, core=(value, last))


@checked(low=ANY_NUMBER, high=ANY_NUMBER)
def between(low: float, high: float) -> Expectation:
    """From ``low`` to ``high``, both included.

    Example:
        >>> print(between(0.65, 0.9))
        between 0.65 and 0.9
    """
    return Expectation(low, high, f"between {low:g} and {high:g}")


@checked(x=ANY_NUMBER)
def below(x: float) -> Expectation:
    """Less than ``x``; ``x`` itself is not.

    Example:
        >>> print(below(0.1)), below(0.1).contains(0.1, 0.1)
        below 0.1
        (None, False)
    """
    return Expectation(-math.inf, x, f"below {x:g}", strict=True)


@checked(x=ANY_NUMBER)
def above(x: float) -> Expectation:
    """More than ``x``; ``x`` itself is not.

    Example:
        >>> print(above(2))
        above 2
    """
    return Expectation(x, math.inf, f"above {x:g}", strict=True)


@checked(x=ANY_NUMBER)
def at_most(x: float) -> Expectation:
    """``x`` or less.

    Example:
        >>> at_most(0.3).contains(0.1 + 0.2, 0.1 + 0.2)  # 0.30000000000000004
        True
    """
    return Expectation(-math.inf, x, f"at most {x:g}")


@checked(x=ANY_NUMBER)
def at_least(x: float) -> Expectation:
    """``x`` or more.

    Example:
        >>> at_least(0.5).excludes(0.2, 0.4)
        True
    """
    return Expectation(x, math.inf, f"at least {x:g}")


def rising() -> Expectation:
    """A slope or difference above 0.

    Example:
        >>> print(rising())
        rising (above 0)
    """
    return Expectation(0.0, math.inf, "rising (above 0)", strict=True)


def falling() -> Expectation:
    """A slope or difference below 0.

    Example:
        >>> falling().contains(-2.0, -0.1)
        True
    """
    return Expectation(-math.inf, 0.0, "falling (below 0)", strict=True)

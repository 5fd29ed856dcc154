"""Forecast numbers as a reader wants them: no more digits than they deserve, the interval beside."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from priorscope.probes import SamplesNeeded
    from priorscope.statistics import Interval

__all__ = ["count", "duration", "listed", "number", "ratio", "samples", "share", "span", "sure_count", "value"]

_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number(n: int) -> str:
    """A small number as a word.

    Example:
        >>> number(3), number(25)
        ('three', '25')
    """
    return _NUMBERS[n] if n < len(_NUMBERS) else str(n)


def sure_count(n: int) -> str:
    """How many others.

    Example:
        >>> sure_count(1), sure_count(14)
        ('one other', '14 others')
    """
    return f"{number(n)} other{'s' * (n != 1)}"


def listed(names: Sequence[str]) -> str:
    """Names one after another, the last one behind an "and".

    Example:
        >>> listed(["a"]), listed(["a", "b", "c"])
        ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def duration(seconds: float) -> str:
    """Processor seconds in words, as short as a table wants them.

    Example:
        >>> duration(0.02), duration(4.3), duration(42.0), duration(600.0), duration(40000.0)
        ('< 0.1 s', '4.3 s', '42 s', '10 min', '11 h')
    """
    if seconds < 0.095:
        return "< 0.1 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 6000
        else f"{seconds / 3600:.0f} h"
    )


def value(x: float, digits: int = 2) -> str:
    """An error with two digits, or more.

    Example:
        >>> value(0.005423), value(1.0), value(0.3), value(0.98765, 3), value(12345.0)
        ('0.0054', '1.0', '0.30', '0.988', '12,000')
    """
    if x >= 10**digits:
        return f"{float(f'{x:.{digits}g}'):,.0f}"
    return f"{x:.{digits}g}" if x < 0.0001 else f"{x:#.{digits}g}".rstrip(".")


def span(interval: Interval) -> str:
    """The ends of an interval.

    Example:
        >>> from priorscope.statistics import Interval
        >>> span(Interval(0.5, 0.25, 0.75))
        '0.25–0.75'
    """
    return f"{value(interval.low)}–{value(interval.high)}"


def ratio(interval: Interval) -> str:
    """A ratio of errors with its interval: three digits, so that 0.98 and 1.02 stay apart.

    Example:
        >>> from priorscope.statistics import Interval
        >>> ratio(Interval(1.284, 1.011, 1.63)), ratio(Interval(18870.3, 128.7, 2766038.0))
        ('1.28 (1.01–1.63)', '18,900 (129–2,770,000)')
    """
    middle, low, high = (value(x, 3) for x in (interval.value, interval.low, interval.high))
    return f"{middle} ({low}–{high})"


def share(interval: Interval) -> str:
    """A share in per cent with its interval.

    Example:
        >>> from priorscope.statistics import Interval
        >>> share(Interval(0.0123, 0.004, 0.03))
        '1.2 % (0.4–3.0 %)'
    """
    if interval.high - interval.low > 0.95:  # no mistake on the pilot
        return f"{100 * interval.value:.1f} % (unsure)"
    return f"{100 * interval.value:.1f} % ({100 * interval.low:.1f}–{100 * interval.high:.1f} %)"


def count(n: float) -> str:
    """A number of samples with two digits.

    Example:
        >>> count(22982.0), count(1111.0), count(float("inf"))
        ('23,000', '1,100', 'out of reach')
    """
    return f"{float(f'{n:.2g}'):,.0f}" if math.isfinite(n) else "out of reach"


def samples(needed: SamplesNeeded) -> str:
    """How many samples an error takes, with its interval.

    Example:
        >>> from priorscope.probes import SamplesNeeded
        >>> samples(SamplesNeeded(0.1, 500.0, 420.0, float("inf")))
        '500 (420 or more)'
    """
    if not needed.reached:
        return "out of reach"
    ends = f"{count(needed.low)}–{count(needed.high)}" if math.isfinite(needed.high) else f"{count(needed.low)} or more"
    return f"{count(needed.value)} ({ends})"

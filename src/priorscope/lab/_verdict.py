"""The one rule that turns what was measured and what was expected into a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from priorscope.checks import checked, whole
from priorscope.lab._claim import Check, Claim, Measured, NotMeasured
from priorscope.lab._expect import Expectation
from priorscope.lab._power import more_draws, power
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = ("holds", "holds with changes", "fails", "not reached", "not trained", "not shown", "not run")
"""What can be said of a claim.

``holds with changes``: true after a correction that the claim names, or about true: within the tolerance, where the interval
excludes the value of the source itself (:func:`claimed`). ``fails``: not so at the source's size, or where a larger one cannot
change it. ``not reached``: not so here, where runs stay behind the source in a field that can change it (it would fail, or
the interval excludes the source's own value: larger runs could decide it, more of these could not). ``not trained``: the
networks did not reach the level of training that the statement presumes. ``not shown``: so many draws cannot decide it (the
measured value is given, and how many could). ``not run``: no complete set of stored runs, or none judged under today's words.

Example:
    >>> VERDICTS[0]
    'holds'
"""


@dataclass(frozen=True)
class CheckVerdict:
    """What was expected of one check, what was measured, and whether the two agree.

    Example:
        >>> CheckVerdict("slope", "rising (above 0)", "holds", 0.2, 0.1, 0.3).verdict
        'holds'
    """

    name: str
    expected: str
    verdict: str
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    power: float | None = None  # how often other draws would give `holds`, see lab.power
    more: float | None = None  # so many times the draws would decide what is not shown


@dataclass(frozen=True)
class Verdict:
    """The judgement of one claim, with the measured value and interval of its first check, and every check by itself.

    Example:
        >>> Verdict("holds", measured=-0.49, low=-0.53, high=-0.46).verdict
        'holds'
        >>> Verdict("true")
        Traceback (most recent call last):
        ...
        ValueError: a verdict is one of 'holds', 'holds with changes', ...; got 'true'.
    """

    verdict: str
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    checks: tuple[CheckVerdict, ...] = ()

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"a verdict is one of {', '.join(map(repr, VERDICTS))}; got {self.verdict!r}.")


def judge_interval(interval: Interval, expect: Expectation) -> str:
    """The rule: wholly inside what is expected, it holds; wholly outside, it fails; otherwise it is not shown.

    Inside a tolerance but without the value that the source gives (:func:`claimed`), it holds with changes.

    Example:
        >>> from priorscope.lab import at_least
        >>> [judge_interval(Interval(x, x - 1, x + 1), at_least(5)) for x in (7, 5, 3)]
        ['holds', 'not shown', 'fails']
    """
    if not interval.low <= interval.high:
        raise ValueError(f"an interval needs low ≤ high; got {interval.low} and {interval.high}.")
    if math.isnan(interval.value):
        raise ValueError(f"a measured value cannot be NaN; got NaN between {interval.low} and {interval.high}.")
    if expect.contains(interval.low, interval.high):
        return "holds" if expect.meets_core(interval.low, interval.high) else "holds with changes"
    return "fails" if expect.excludes(interval.low, interval.high) else "not shown"


@checked(draws=whole(0))
def judge_claim(
    claim: Claim, table: pd.DataFrame, shortfall: Mapping[str, tuple[object, object]] | None = None, draws: int = 0
) -> Verdict:
    """The verdict of a claim on a complete table of runs (one row per run: the point's fields and the metrics).

    Fails when any check fails; holds when all hold (``with changes`` when the claim names some, or a check holds only so);
    else it is not shown. ``shortfall`` says in which fields the runs stay behind the source (:meth:`Paper.shortfall`): where the
    claim's ``reach`` names one, what would fail, or is undecided and excludes the source's own value, is *not reached*. A claim
    whose ``trained`` does not hold is *not trained*.
    ``draws`` (how many repeats the intervals rest on) serves the power of each check. What a measure raises, other than
    :class:`NotMeasured`, is raised here too.

    Example:
        >>> import pandas as pd
        >>> from priorscope.lab import at_most, rising
        >>> from priorscope.statistics import exact
        >>> checks = (Check("gain", lambda t: exact(t.gain.min()), rising()),
        ...           Check("loss", lambda t: exact(t.loss.max()), at_most(0.1)))
        >>> claim = Claim("X.1", "Sec. 2", "it gains and loses little", checks=checks)
        >>> verdict = judge_claim(claim, pd.DataFrame({"gain": [0.5, 0.7], "loss": [0.0, 0.2]}))
        >>> verdict.verdict, verdict.measured, [check.verdict for check in verdict.checks]
        ('fails', 0.5, ['holds', 'fails'])
    """
    short = {name: (shortfall or {})[name] for name in claim.reach if name in (shortfall or {})}
    checks = tuple(_judge_check(check, table, draws) for check in claim.checks)
    if short:
        pairs = zip(claim.checks, checks, strict=True)
        checks = tuple(replace(c, verdict="not reached", more=None) if _missed(asked, c) else c for asked, c in pairs)
    guard = None if claim.trained is None else _judge_check(claim.trained, table, draws)
    found = {check.verdict for check in checks}
    if guard is not None and not guard.verdict.startswith("holds"):
        verdict = "not trained"
    elif "not reached" in found:
        verdict = "not reached"
    elif "fails" in found:
        verdict = "fails"
    elif found <= {"holds", "holds with changes"}:
        verdict = "holds with changes" if claim.changes or len(found) > 1 or "holds" not in found else "holds"
    else:
        verdict = "not shown"
    notes = [f"{check.name}: {check.note}" if len(checks) > 1 else check.note for check in checks if check.note]
    if claim.changes and verdict.startswith("holds"):
        notes.insert(0, f"changed: {claim.changes}")
    if verdict == "not reached":
        notes.insert(0, "short of the source: " + ", ".join(f"{k} {a} of {b}" for k, (a, b) in short.items()))
    if guard is not None:
        ends = "" if guard.measured is None else f" {guard.measured:.3g} [{guard.low:.3g}, {guard.high:.3g}]"
        notes.insert(0, f"{guard.name}{ends}, {guard.expected} presumed" + (f" ({guard.note})" if guard.note else ""))
    first = checks[0]
    return Verdict(verdict, first.measured, first.low, first.high, "; ".join(notes), checks)


def _missed(asked: Check, found: CheckVerdict) -> bool:
    """Whether a check says no: it fails, or is undecided about a tolerance while the source's own value is excluded."""
    if found.verdict != "not shown" or found.low is None or found.high is None:
        return found.verdict == "fails"
    return not asked.expect.meets_core(found.low, found.high)


def _judge_check(check: Check, table: pd.DataFrame, draws: int) -> CheckVerdict:
    """Judge one check; it is *not shown* where nothing could be measured or a number is not finite."""
    expected = str(check.expect)
    try:
        measured = check.measure(table)
    except NotMeasured as reason:
        return CheckVerdict(check.name, expected, "not shown", note=str(reason))
    interval, note = (measured.interval, measured.note) if isinstance(measured, Measured) else (measured, "")
    if not isinstance(interval, Interval):
        raise TypeError(
            f"the measure of {check.name!r} must give an Interval (exact(x) where nothing is sampled) or a Measured; "
            f"got {type(interval).__name__}."
        )
    value, low, high = float(interval.value), float(interval.low), float(interval.high)
    if not all(math.isfinite(x) for x in (value, low, high)):
        kept = [x if math.isfinite(x) else None for x in (value, low, high)]
        why = f"not finite: {value:g} [{low:g}, {high:g}]" + (f"; {note}" if note else "")
        return CheckVerdict(check.name, expected, "not shown", kept[0], kept[1], kept[2], why)
    verdict = judge_interval(Interval(value, low, high), check.expect)
    if verdict == "holds with changes":
        note = "within the tolerance, but the interval excludes the source's value" + (f"; {note}" if note else "")
    chance = power(Interval(value, low, high), check.expect, draws)
    more = more_draws(Interval(value, low, high), check.expect, draws) if verdict == "not shown" else None
    return CheckVerdict(check.name, expected, verdict, value, low, high, note, chance, more)

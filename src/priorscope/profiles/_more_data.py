"""What more data would give, in sentences: gains, the floor, who overtakes, and the rows that an error takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from priorscope.judge import margin_of
from priorscope.profiles._kind import Kind
from priorscope.profiles._naming import called
from priorscope.profiles._phrases import count
from priorscope.statistics import Interval

if TYPE_CHECKING:
    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row

__all__ = ["crossing", "fall", "floor_of", "more_data"]

_FAR = 10.0  # times the size asked about, as far as one kind is said to overtake another
_DRAWS = 4000
_SIZES = 24  # at which two curves are held beside each other


def crossing(result: Profile, row: Row, beyond: float = 100.0) -> float | None:
    """The size from which the forecast of ``row`` stays below the first row's, up to ``beyond`` times the size asked about."""

    def behind(n: float) -> bool:
        return row.curve.at(n).value >= result.at(int(n)).value

    if behind(beyond * result.to):
        return None
    grid = np.geomspace(result.to, beyond * result.to, _SIZES)
    for place in range(_SIZES - 2, -1, -1):
        if behind(float(grid[place])):
            return float(grid[place + 1])
    return float(grid[0])


def fall(result: Profile, factor: float) -> Interval:
    """By how much the error of the first row falls from the size asked about to ``factor`` times as many rows."""
    posterior = result.best.curve.ahead.posterior
    draws = posterior.draws(_DRAWS, np.random.default_rng(0))
    found = posterior.at(draws, float(result.to)) - posterior.at(draws, factor * result.to)
    half = (1 - result.setting.level) / 2
    low, middle, high = np.maximum(np.quantile(found, [half, 0.5, 1 - half]), 0.0)
    most = result.best.estimate.value
    return Interval(*(float(min(v, most)) for v in (middle, low, high)))


def _fallen(result: Profile, found: Interval) -> str:
    """A fall of the error with its interval."""
    metric, base = result.metric, result.best.estimate.value
    if metric.percent:
        scale, unit, form = 100.0, " points", ".1f"
    elif metric.higher_is_better:
        scale, unit, form = 1.0, "", ".3f"
    else:
        scale, unit, form = 100.0 / base if base > 0 else 0.0, " %", ".0f"
    low, middle, high = (format(scale * v, form) for v in (found.low, found.value, found.high))
    if float(middle) == 0:
        return f"hardly anything (at most {high}{unit})" if float(high) else "nothing"
    return f"{middle}{unit} ({low}–{high})"


def more_data(result: Profile) -> list[str]:
    """What twice and ten times the rows would give the pick, its floor, who overtakes, and the rows that an error takes."""
    best, metric, to = result.best, result.metric, result.to
    lines = []
    if result.learns is True:
        twice, ten, up = fall(result, 2), fall(result, 10), metric.higher_is_better
        verb, end = ("add", f"to its {metric.in_words.split()[0]}") if up else ("take", "off its error")
        lines.append(
            f"More data, forecast: twice the rows ({count(2 * to)}) would {verb} {_fallen(result, twice)} {end}, ten times "
            f"({count(10 * to)}) {_fallen(result, ten)}; its {'ceiling' if up else 'floor'} is about "
            f"{metric.number(floor_of(best).value)} ({metric.span(floor_of(best))})."
        )
        lines += _overtaking(result)
    return lines + _needed(result)


def floor_of(row: Row) -> Interval:
    """What the error of a row falls to, never above its estimate."""
    floor, top = row.curve.ahead.floor, row.estimate
    return Interval(min(floor.value, top.value), min(floor.low, top.low), min(floor.high, top.high))


def _overtaking(result: Profile) -> list[str]:
    """The first of another kind that is forecast to lie below the pick with more rows, and from where on."""
    best = result.best
    found = []
    for kind in Kind:
        row = result.best_of(kind)
        if row is None or kind is best.kind or kind is Kind.AVERAGE or row.learns is False:
            continue
        n = crossing(result, row, _FAR)
        if n is not None and n > 1.01 * result.to:
            found.append((n, row))
    far = int(_FAR * result.to)
    metric, first = result.metric, result.at(far)
    values = {row.name: row.curve.at(far).value for _, row in found}
    counts = [(n, row) for n, row in found if first.value - (v := values[row.name]) > margin_of(v, metric.percent)]
    if not counts:
        return [f"Up to {count(far)} rows no other kind is forecast to overtake it by a difference that counts."]
    n, row = min(counts, key=lambda pair: pair[0])
    then = row.curve.at(far)
    sure = "may" if then.high > first.low else "should"
    return [
        f"With more rows {called(row)} {sure} overtake it, from about {count(n)} on: at {count(far)} rows "
        f"{metric.number(then.value)} ({metric.span(then)}) beside {metric.number(first.value)} ({metric.span(first)})."
    ]


def _needed(result: Profile) -> list[str]:
    """The rows that an error takes, where one was asked for."""
    error, metric, best = result.setting.target_error, result.metric, result.best
    if error is None:
        return []
    if result.learns is True and best.estimate.value <= error:
        verb = "should" if best.estimate.high <= error else "may"
        has = f"{metric.number(best.estimate.value)} ({metric.span(best.estimate)})"
        return [f"{_aim(result, error)}, {result.to:,} rows {verb} do: the pick has {has} there."]
    able = [best, *(row for row in result.rows[1:] if row.learns is not False)] if result.learns is True else []
    reached = ((row, row.curve.ahead.needed(error)) for row in able)
    lowest = next(((row, found) for row, found in reached if found.reachable and found.chance > 0.5), None)
    if lowest is None:
        floors = [floor_of(row) for row in result.rows if row.learns is not False] or [floor_of(best)]
        floor = min(floors, key=lambda f: f.value)
        end = "ceiling" if metric.higher_is_better else "floor"
        what = f"the {end} is about {metric.number(floor.value)} ({metric.span(floor)})"
        if floor.value < error:  # below in the mean, but more likely never reached than reached
            what = f"the floor may lie anywhere in {metric.span(floor)}"
        return [f"{_aim(result, error)}: not reachable with these predictors, as far as can be seen; {what}."]
    row, found = lowest
    first = max(found.value, result.to)
    ends = (
        f"{count(found.low)}–{count(found.high)}"
        if np.isfinite(found.high)
        else f"{count(found.low)} or more, perhaps never"
    )
    return [f"{_aim(result, error)}, {called(row)} should take about {count(first)} rows ({ends}), a forecast."]


def _aim(result: Profile, error: float) -> str:
    return result.metric.aim(error)

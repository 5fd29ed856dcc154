"""From a race to the rows of a profile: estimates, standings, what learns, corrected for having been chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from priorscope.judge import Judgement
from priorscope.profiles._learning import Learning, learning_of
from priorscope.profiles._race import Race
from priorscope.profiles._record import Record, grown
from priorscope.profiles._row import ErrorCurve, Row
from priorscope.profiles._standings import Standings, measured_ends
from priorscope.statistics import Interval

__all__ = ["Answer", "answer_of"]


@dataclass(frozen=True)
class Answer:
    """Rows in order, the standings behind them, and whether anything learns."""

    rows: tuple[Row, ...]
    standings: Standings
    learning: Learning
    luck: float  # factor by which the first row's estimate was raised for having been chosen


def answer_of(race: Race) -> Answer:
    """What the race says now."""
    standing, learning = race.standings(), learning_of(race)
    near, luck = standing.near(), standing.luck()
    order = standing.order
    first = order[0]
    rows = []
    for name in order:
        record = race.records[name]
        draws = standing.of(name) / np.maximum(standing.of(first), 1e-300)
        low, middle, high = np.quantile(draws, [0.05, 0.5, 0.95])
        estimate = standing.estimate(name)
        curve = _curve(race, record, standing)
        if name == first:  # raised for having been chosen, to no more than what was measured
            top, now = max(float(curve.high[-1]), estimate.high), max(float(curve.measured[-1]), estimate.value)
            value = min(estimate.value * luck, now)
            estimate = Interval(value, min(estimate.low * luck, value), min(estimate.high * luck, top))
        if learning.each[name] is not True:  # nothing is forecast of what has not been seen to learn
            now = min(float(curve.measured[-1]), learning.guess)
            estimate = Interval(max(now, estimate.low), estimate.low, max(now, estimate.high))
        contender = record.contender
        trials = [t for by_fold in record.trials.values() for t in by_fold.values()]
        rows.append(
            Row(
                name,
                contender.kind,
                contender.words,
                curve,
                estimate,
                race.deployed(record),
                standing=None if name == first else standing.judged(name, first),
                learns=learning.each[name],
                ratio=None if name == first else Interval(float(middle), float(low), float(high)),
                cost=_cost(race, record),
                seconds=sum(t.seconds for t in trials),
                folds=len(record.folds(record.last)),
                tested=sum(len(t.measured.influence) for t in record.trials[record.last].values()),
                ended=_ended(race, record),
                architecture=None if contender.candidate is None else contender.candidate.name,
                offered=contender.offered,
                near=near[name],
                native=contender.native,
            )
        )
    return Answer(tuple(_consistent(rows)), standing, learning, luck)


def _consistent(rows: list[Row]) -> list[Row]:
    """Nobody with a lower error than one called level is called worse: then it cannot be told."""
    from dataclasses import replace

    last = max((i for i, row in enumerate(rows) if row.standing is Judgement.LEVEL), default=0)
    return [
        replace(row, standing=Judgement.UNSURE) if 0 < i < last and row.standing is Judgement.WORSE else row
        for i, row in enumerate(rows)
    ]


def _curve(race: Race, record: Record, standing: Standings) -> ErrorCurve:
    rungs = record.rungs
    errors = np.array([record.error(r) for r in rungs])
    noise = np.array([record.standard_error(r, race.ladder) for r in rungs])
    tested = np.array([sum(len(t.measured.influence) for t in record.trials[r].values()) for r in rungs])
    ends = [
        measured_ends(e, n, t, race.metric.percent, race.level) for e, n, t in zip(errors, noise, tested, strict=True)
    ]
    low, high = np.array(ends).T
    sizes = np.array([race.ladder.sizes[r] for r in rungs])
    return ErrorCurve(
        sizes, errors, np.minimum(low, errors), np.maximum(high, errors), standing.each[record.contender.name]
    )


def _cost(race: Race, record: Record) -> float:
    """Processor seconds of a fit to all rows: those of its last rung, grown as its kind grows."""
    fits = [t.fit_seconds for t in record.trials[record.last].values()]
    contender, last = record.contender, race.ladder.sizes[record.last]
    return float(np.mean(fits)) * grown(last, race.problem.n, contender.exponent, contender.flattens)


def _ended(race: Race, record: Record) -> str:
    """Why it was not measured further; nothing where it was measured on all rows."""
    if record.last == race.ladder.top:
        return ""
    if record.failed:
        return f"could not be fitted to more rows: {record.failed}"
    if record.contender.name in race.refused:
        rung, seconds = race.refused[record.contender.name]
        return f"{race.ladder.sizes[rung]:,} rows would take it about {_time(seconds)}"
    return "behind" if record.out == "behind" else ""


def _time(seconds: float) -> str:
    """Seconds in words."""
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 6000
        else f"{seconds / 3600:.0f} h"
    )

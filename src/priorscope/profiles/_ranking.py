"""One order of all predictors, by one merged estimate; every word about better or worse follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from priorscope.profiles._row import Row
from priorscope.profiles._standing import Standing
from priorscope.statistics import Interval

__all__ = ["ranked"]

_NEAR = 1.1  # a ratio of errors up to this is a little worse only
_CLOSE = 1.25  # a ratio beyond this is never called level


def _compared(ratio: Interval) -> Standing:
    """Where a predictor stands whose error is so many times the first one's."""
    if ratio.low > 1:
        return Standing.LITTLE_WORSE if ratio.value <= _NEAR else Standing.WORSE
    return Standing.LEVEL if ratio.value <= _CLOSE else Standing.UNSURE


def ranked(rows: Sequence[Row], ratios: Sequence[Interval | None], baseline: float) -> tuple[Row, ...]:
    """The rows with their standings; ``rows`` sorted by estimate, ``ratios`` of each to the first (None for the first itself).

    Holds: the first row has the lowest estimate; a row called worse has a higher estimate than every row called level.

    Example:
        >>> ranked((), (), 1.0)
        ()
    """
    if not rows:
        return ()
    first, *_ = rows
    standings = [Standing.FIRST, *(_compared(r) for r in ratios[1:] if r is not None)]
    last = max((i for i, s in enumerate(standings) if s is Standing.LEVEL), default=0)
    for i in range(1, last):  # nobody with a lower estimate than one called level is called worse
        standings[i] = Standing.LEVEL
    if first.estimate.high >= baseline:
        sure = first.estimate.value < baseline
        standings[0] = Standing.MAY_LEARN_NOTHING if sure else Standing.LEARNS_NOTHING
        standings[1:] = [Standing.MAY_LEARN_NOTHING for _ in rows[1:]]
    elif len(rows) == 1:
        standings[0] = Standing.ONLY
    elif all(s in (Standing.LITTLE_WORSE, Standing.WORSE) for s in standings[1:]):
        standings[0] = Standing.BEST
    for i, row in enumerate(rows[1:], 1):
        if row.estimate.value >= baseline:
            standings[i] = Standing.LEARNS_NOTHING
    return tuple(replace(row, standing=s, ratio=r) for row, s, r in zip(rows, standings, ratios, strict=True))

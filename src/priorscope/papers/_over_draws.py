"""Intervals of what papers measure: over draws, or of the worst of several cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import t as student

from priorscope.lab import Measured, NotMeasured
from priorscope.statistics import Interval, fit_power_law, seed_interval

Statistic = Callable[[np.ndarray], float]


def where(table: pd.DataFrame, **fields: object) -> pd.DataFrame:
    """The runs with these values; none is *not measured*.

    Example:
        >>> len(where(pd.DataFrame({"n": [1, 1, 2], "seed": [0, 1, 0]}), n=1))
        2
    """
    rows = table
    for name, value in fields.items():
        rows = rows[rows[name] == value]
    if rows.empty:
        raise NotMeasured(f"no runs with {', '.join(f'{k} {v}' for k, v in fields.items())}")
    return rows


def over_draws(samples: ArrayLike, statistic: Statistic | None = None, *, level: float = 0.95) -> Interval:
    """The mean over draws (first axis), or a statistic of them, with its interval; one draw has none.

    Example:
        >>> over_draws([1.0, 2.0, 3.0]).value
        2.0
        >>> over_draws([1.0])
        Traceback (most recent call last):
        ...
        priorscope.lab._claim.NotMeasured: one draw has no interval
    """
    values = np.asarray(samples, dtype=float)
    if len(values) < 2:
        raise NotMeasured("one draw has no interval" if len(values) else "there are no runs of this kind")
    return seed_interval(values, statistic, level=level)


def exponent_over_draws(table: pd.DataFrame, x: str, y: str) -> Interval:
    """The exponent of ``y`` in ``x``, fitted to the mean over the draws (column ``seed``), with its interval over them.

    Example:
        >>> runs = pd.DataFrame({"seed": [0, 0, 1, 1], "width": [1, 4, 1, 4], "error": [2.0, 1.0, 4.0, 2.0]})
        >>> round(exponent_over_draws(runs, "width", "error").value, 6)
        -0.5
    """
    wide = table.pivot_table(index="seed", columns=x, values=y).dropna()
    if len(wide) < 2 or wide.shape[1] < 2:
        raise NotMeasured(f"{len(wide)} draws at {wide.shape[1]} values of {x}: too few for an exponent")
    return fit_power_law(wide.columns.to_numpy(float), wide.to_numpy()).interval


def highest(cells: Mapping[str, Interval], note: str = "") -> Measured:
    """The highest of several cells, with all of them in the note: what none may exceed.

    Its upper end is the highest of theirs, so that it lies below a bound when all cells do. Its lower end is the highest of their
    lower ends, each first moved out to the level that k cells ask for (Bonferroni: 2.5 % shared by k, by Student's t of three
    degrees of freedom, as for the four draws that are the fewest of any paper): it lies above a bound when one cell surely does.

    Example:
        >>> found = highest({"a": Interval(0.1, 0.0, 0.4), "b": Interval(0.2, 0.1, 0.3)})
        >>> found.interval.value, found.interval.high, round(found.interval.low, 3), found.note
        (0.2, 0.4, 0.069, 'b of: a 0.1 [0, 0.4], b 0.2 [0.1, 0.3]')
    """
    wider = _share(len(cells))
    ends = [(i.value, i.value - wider * (i.value - i.low), i.high) for i in cells.values()]
    return _of(cells, max(cells, key=lambda name: cells[name].value), Interval(*np.max(ends, axis=0).tolist()), note)


def lowest(cells: Mapping[str, Interval], note: str = "") -> Measured:
    """The lowest of several cells, with all of them in the note: what all must exceed. :func:`highest`, turned round.

    Example:
        >>> found = lowest({"a": Interval(0.1, 0.0, 0.4), "b": Interval(0.2, 0.1, 0.3)}).interval
        >>> found.value, found.low, round(found.high, 3)
        (0.1, 0.0, 0.331)
    """
    wider = _share(len(cells))
    ends = [(i.value, i.low, i.value + wider * (i.high - i.value)) for i in cells.values()]
    return _of(cells, min(cells, key=lambda name: cells[name].value), Interval(*np.min(ends, axis=0).tolist()), note)


def _share(k: int) -> float:
    """How much farther than a 95 % interval one goes that k cells share."""
    return float(student.ppf(1 - 0.025 / k, 3) / student.ppf(0.975, 3))


def _of(cells: Mapping[str, Interval], chosen: str, interval: Interval, note: str) -> Measured:
    listed = ", ".join(f"{name} {i.value:.3g} [{i.low:.3g}, {i.high:.3g}]" for name, i in cells.items())
    return Measured(interval, f"{chosen} of: {listed}" + (f". {note}" if note else ""))

"""Columns that alone do what all columns do: copies and results of the target, counters of sorted rows, dates after the fact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorscope.judge import Metric, Outputs
from priorscope.profiles._problem import Problem

__all__ = ["Alone", "alone"]

Array = NDArray[np.float64]
_MOST_ROWS = 4000
_MOST_NUMBERS = 4_000_000  # rows times columns that are looked at


@dataclass(frozen=True)
class Alone:
    """A column (or the columns that one was encoded as), its error alone, and whether it numbers the rows."""

    name: str
    columns: tuple[int, ...]
    error: float
    counts: bool


def _groups(problem: Problem) -> dict[str, list[int]]:
    """Columns by name; those that one column of words became belong together."""
    names = problem.data.columns
    if len(names) != problem.x.shape[1]:
        names = tuple(f"x{j}" for j in range(problem.x.shape[1]))
    found: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        found.setdefault(name.split("=")[0] if "=" in name else name, []).append(j)
    return found


def _left_out(values: Array, targets: Array) -> Array:
    """What each row's value says of its targets (n, outputs), the row left out.

    Rows of the same value: their mean; of a value that is there once: on the line through the rows beside it. A linear
    function of the column is met exactly, a map of its values too.
    """
    kinds, code, count = np.unique(values, return_inverse=True, return_counts=True)
    n, m = len(values), len(kinds)
    total = np.stack([np.bincount(code, column, m) for column in targets.T], 1)
    found = np.empty_like(targets)
    several = count[code] > 1
    found[several] = (total[code] - targets)[several] / (count[code][several] - 1)[:, None]
    if m < 3:
        found[~several] = (total.sum(0) - targets[~several]) / (n - 1)
        return found
    mean = total / count[:, None]
    place = np.arange(m)
    first = np.where(place == 0, 1, np.where(place == m - 1, m - 3, place - 1))  # two others, beside it or beyond
    second = np.where(place == 0, 2, np.where(place == m - 1, m - 2, place + 1))
    part = (kinds - kinds[first]) / (kinds[second] - kinds[first])
    line = mean[first] + part[:, None] * (mean[second] - mean[first])
    found[~several] = line[code][~several]
    return found


def _error(values: Array, y: NDArray[np.generic], classes: int | None, metric: Metric) -> float:
    if classes is None:
        said = _left_out(values, np.asarray(y, dtype=float).reshape(len(y), -1))
        return metric.measure(y, Outputs(said[:, 0] if y.ndim == 1 else said)).value
    said = np.clip(_left_out(values, np.eye(classes)[y]), 1e-3, None)
    return metric.measure(y, Outputs(said.argmax(1), said / said.sum(1, keepdims=True))).value


def alone(problem: Problem, metric: Metric) -> Alone | None:
    """The column with the lowest error alone, by left-out rows; None where inputs have positions or there is one column.

    Example:
        >>> import torch, priorscope as ps
        >>> from priorscope.profiles._problem import problem_of
        >>> rng = np.random.default_rng(0)
        >>> y = rng.normal(size=50)
        >>> data = ps.data.from_arrays(np.c_[rng.normal(size=50), 3 * y + 1], y, test_fraction=0.0)
        >>> found = alone(problem_of(data, None), Metric.RMSE)
        >>> found.name, found.error < 1e-5
        ('x1', True)
    """
    groups = _groups(problem)
    if problem.positions or len(groups) < 2:
        return None
    rows = np.unique(problem.structure.blocks, return_index=True)[1]  # one row of each group, and of copies
    rows = np.sort(rows)[:: -(-len(rows) // _MOST_ROWS)]
    y = problem.y[rows]
    best: Alone | None = None
    for name, columns in list(groups.items())[: _MOST_NUMBERS // len(rows)]:
        values = problem.x[np.ix_(rows, np.asarray(columns))]
        one = (
            values[:, 0]
            if len(columns) == 1
            else np.unique(values, axis=0, return_inverse=True)[1].ravel().astype(float)
        )
        if np.ptp(one) == 0:
            continue
        error = _error(one, y, problem.n_classes, metric)
        if best is None or error < best.error:
            best = Alone(name, tuple(columns), error, len(columns) == 1 and bool((np.diff(one) > 0).all()))
    return best

"""What to be careful about, most important first: leaks, rows that belong together, few rows, rare classes, tails."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priorscope.profiles._independence import Dependence, apart, dependence
from priorscope.profiles._kernel_distance import Distance
from priorscope.profiles._ladder import Part
from priorscope.profiles._leaks import Alone, alone
from priorscope.profiles._problem import Problem
from priorscope.profiles._robust import heavy_tails, outliers, rare_classes, skewed
from priorscope.profiles._trial import fitted_outputs, judged

if TYPE_CHECKING:
    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row

__all__ = ["cautions"]

_FEW, _FAR = 100, 8
_SECONDS = 2.0  # of the processor, that one more fit may take
_PARTS = 40  # in which rows are tested apart from their near ones, at most
_PERFECT, _ALONE = 0.03, 1.5  # of the error of guessing; times worse without the column


def cautions(result: Profile) -> list[str]:
    """All cautions; a piece that fails is left out, for none of them is the answer."""
    found = _quietly(lambda: _belonging(result)) or _quietly(lambda: _leaks(result)) or []
    for piece in (_few, _structure, _of_data, _beyond, _of_findings):
        found += _quietly(lambda piece=piece: piece(result)) or []  # type: ignore[misc]
    return found


def _quietly(piece: Callable[[], list[str]]) -> list[str] | None:
    try:
        return piece()
    except (ValueError, ArithmeticError, np.linalg.LinAlgError, IndexError):
        return None


# -- one more fit --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Fit:
    """A row that is fitted once more, and its error in words."""

    row: Row
    error: float
    tested: int


def _cheap(result: Profile) -> Row | None:
    """The first row that can be fitted once more in the time there is."""
    rows = [row for row in result.rows if not row.native or row is result.best]
    return next((row for row in rows if row.cost <= _SECONDS), None)


def _again(result: Profile, row: Row, problem: Problem, parts: list[Part]) -> float:
    """The mean error of a row's estimator on other parts, or other columns, until its time is over."""
    began, errors, weights = clock.process_time(), [], []
    for part in parts:
        estimator = result.race.records[row.name].contender.timed(_SECONDS)
        outputs = fitted_outputs(estimator, problem, part, row.native)[0]
        errors.append(judged(problem, result.metric, part, outputs).value)
        weights.append(len(part.test))
        if clock.process_time() - began > _SECONDS:
            break
    return float(np.average(errors, weights=weights))


# -- leaks ---------------------------------------------------------------------------------------------------------------


def _leaks(result: Profile) -> list[str]:
    """A column that alone reaches the pick's error, with the error without it."""
    problem = result.race.problem
    found = alone(problem, result.metric)
    guess, now = result.baseline.value, result.best.now[1]
    if found is None or not guess > 0 or found.error > max(1.1 * now.value, now.high, _PERFECT * guess / 3):
        return []
    row = _cheap(result)
    if row is None:
        return [_leak(result, found, None)] if found.error <= _PERFECT * guess else []
    rest = replace(problem, x=np.delete(problem.x, found.columns, axis=1))
    part = result.race.ladder.part(result.race.ladder.top, 0)
    without = _again(result, row, rest, [part])
    if without < max(_ALONE * found.error, _PERFECT * guess):
        return []
    return [_leak(result, found, without)]


def _leak(result: Profile, found: Alone, without: float | None) -> str:
    m = result.metric
    name = f"column {found.name!r} alone gives the answer ({m.text(found.error)})"
    rest = "" if without is None else f"; without it the answer is {m.text(without)}"
    why = (
        "it counts the rows, which are sorted by the target" if found.counts
        else "if it is a copy or a result of the target, or known only afterwards, take it out: all figures here rest on it"
    )  # fmt: skip
    return f"{name}{rest}: {why}"


# -- rows that belong together -------------------------------------------------------------------------------------------


def _belonging(result: Profile) -> list[str]:
    """Whether near rows tell more of a row than independent ones would, where no groups are given."""
    problem = result.race.problem
    structure = problem.structure
    if structure.grouped or structure.time is not None:
        return []
    found = dependence(problem.x, problem.y, problem.n_classes is not None, structure, result.setting.seed)
    if found is None:
        return []
    careful = _careful(result, found)
    size = "" if careful is None else (
        f" {result.metric.text(careful.error)} where the {found.near + 1} nearest rows are left out of training "
        f"({careful.row.name}, {careful.tested} rows tested), not {result.metric.number(careful.row.now[1].value)}:"
    )  # fmt: skip
    return [
        f"rows seem to belong together, some {found.near + 1} to a group (near rows tell {found.ratio:.1f} times more of a row "
        f"than independent ones would):{size} if they share a subject, a day or a place, pass groups= to measure the error of "
        "new ones"
    ]


def _careful(result: Profile, found: Dependence) -> _Fit | None:
    """The error on rows whose near rows are left out of training with them."""
    row, problem = _cheap(result), result.race.problem
    if row is None:
        return None
    near = found.near + found.near // 2 + 1
    count = max(problem.n // (2 * (near + 1)), 2)
    order = problem.structure.growing(np.arange(problem.n), min(_PARTS * count, problem.n), result.setting.seed)
    parts = []
    for rows in np.array_split(order, max(len(order) // count, 1)):
        train = apart(problem.x, problem.structure, near, rows)
        if len(train) >= problem.n // 4:
            parts.append(Part(train, rows))
    if not parts:
        return None
    return _Fit(row, _again(result, row, problem, parts), sum(len(p.test) for p in parts))


# -- the rest ------------------------------------------------------------------------------------------------------------


def _few(result: Profile) -> list[str]:
    n, blocks = result.n_train, result.race.problem.structure.n_blocks
    if n < _FEW:
        return [f"only {n} rows: order and errors are guesses; collect more before deciding"]
    if blocks < _FEW:
        return [f"only {blocks} independent {'groups' if result.about == 'new groups' else 'rows'}: errors are guesses"]
    return []


def _structure(result: Profile) -> list[str]:
    """Copies and groups, and classes that the first rungs lack."""
    race = result.race
    said = list(race.problem.structure.notes)
    if race.problem.n_classes is None:
        return said
    names, y = race.problem.classes, race.problem.y
    lacking = {}
    for rung, size in enumerate(race.ladder.sizes):
        seen = np.bincount(y[race.ladder.part(rung, 0).train], minlength=len(names))
        lacking.update({names[c]: size for c in np.flatnonzero(seen == 0)})
    if lacking:
        shown = ", ".join(f"{name} (up to {size:,} rows)" for name, size in list(lacking.items())[:6])
        said.append(f"classes too rare to be in every training set: {shown}")
    return said


def _of_data(result: Profile) -> list[str]:
    problem = result.race.problem
    tested, losses = _losses(result)
    said = outliers(problem, tested, losses)
    if problem.n_classes is None:
        return said + heavy_tails(losses, result.best.name) + skewed(problem.y)
    return rare_classes(problem.y, problem.classes) + said


def _losses(result: Profile) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows that the pick was tested on at its largest size, and its squared errors there; none where they are not kept."""
    race, problem = result.race, result.race.problem
    record = race.records[result.best.name]
    rows, losses = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for fold, trial in record.trials[record.last].items():
        if trial.outputs is not None and problem.n_classes is None:
            test = race.ladder.part(record.last, fold).test
            rows.append(test)
            losses.append(((trial.outputs.values - problem.y[test]) ** 2).reshape(len(test), -1).mean(1))
    return np.concatenate(rows), np.concatenate(losses)


def _beyond(result: Profile) -> list[str]:
    n = result.n_train
    if result.to <= _FAR * n:
        return []
    return [
        f"{result.to:,} rows are more than {_FAR} times the {n:,} there are: what is said of them is a long way off"
    ]


def _of_findings(result: Profile) -> list[str]:
    """Cautions of what was measured beside the errors."""
    first = next((c for c in result.candidates if c.name == result.best.architecture), None)
    said = []
    if first is not None and first.regime is not None and first.regime.distance is Distance.FAR:
        said.append(f"{first.name}: {first.regime.reading}")
    return said + [care for found in result.findings.values() for care in found.warnings()]

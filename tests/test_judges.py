"""Every judge can say no: each check that holds on the committed runs fails on some spoilt copy of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd
import pytest

from priorscope import papers
from priorscope.lab import (
    Claim,
    Evidence,
    NotMeasured,
    Paper,
    at_most,
    judge_claim,
    read_evidence,
    runs_folder,
)
from priorscope.papers._over_draws import over_draws
from priorscope.statistics import exact

SLOW = {  # more than a second each
    "dide", "diffeo-performance", "diffeo-phase", "diffeo-stability", "directions", "feature-machines", "fluctuations",
    "geometry-theory", "jamming",
    "kernel-exponents", "lazy-feature", "parametrisations", "phase-diagram", "profile-validity", "random-features", "small-data",
    "spectral-bias",
    "symmetry-accuracy", "symmetry-path",
}  # fmt: skip
TABLES = [
    pytest.param(file.stem, marks=[pytest.mark.slow] if file.stem in SLOW else [])
    for file in sorted(runs_folder().glob("*.jsonl"))
]


def number(value: object, change: Callable[[np.ndarray], np.ndarray]) -> object:
    """A value with every number in it changed; lists stay lists, arrays arrays, whole numbers may become fractions."""
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, list):
        return [number(each, change) for each in value]
    if isinstance(value, dict):
        return {name: number(each, change) for name, each in value.items()}
    if isinstance(value, np.ndarray):
        return ~value if value.dtype.kind == "b" else change(value.astype(float))
    if isinstance(value, int | float | np.number):
        return float(change(np.asarray(float(value))))
    return value


def order(value: object) -> object:
    """A list or an array from its end."""
    if isinstance(value, list):
        return value[::-1]
    return value[..., ::-1].copy() if isinstance(value, np.ndarray) and value.ndim else value


def upside_down(value: object) -> object:
    """A table from its last row."""
    return value[::-1].copy() if isinstance(value, np.ndarray) and value.ndim > 1 else value


def along(value: object, power: float) -> object:
    """The entries of a list or an array times a power of their places."""
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "fiu":
        return value * np.arange(1.0, value.shape[-1] + 1) ** power
    if isinstance(value, list):
        return [number(each, partial(np.multiply, (i + 1) ** power)) for i, each in enumerate(value)]
    return value


CHANGES: dict[str, Callable[[object], object]] = {
    "turned": partial(number, change=np.negative),
    "tenfold": partial(number, change=lambda x: 10 * x),
    "a tenth": partial(number, change=lambda x: x / 10),
    "from one": partial(number, change=lambda x: 1 - x),
    "inverse": partial(number, change=lambda x: 1 / np.where(x == 0, 1, x)),
    "squared": partial(number, change=np.square),
    "one": partial(number, change=np.ones_like),
    "nothing": partial(number, change=np.zeros_like),
    "one more": partial(number, change=lambda x: x + 1),
    "one less": partial(number, change=lambda x: x - 1),
    "backwards": order,
    "upside down": upside_down,
    "rising along": partial(along, power=2.0),
    "falling along": partial(along, power=-2.0),
}


def spoilt(table: pd.DataFrame, columns: list[str], change: Callable[[object], object]) -> pd.DataFrame:
    new = table.copy()
    for name in columns:
        new[name] = pd.Series([change(value) for value in table[name]], index=table.index)
    return new


def tilted(table: pd.DataFrame, columns: list[str], by: str, power: float, *, bent: bool = False) -> pd.DataFrame:
    """Every number times a power of the rank of the row's parameter ``by``; ``bent``: to that power."""
    factors = (pd.factorize(table[by].map(str), sort=False)[0] + 1.0) ** power
    if pd.api.types.is_numeric_dtype(table[by]):
        factors = table[by].rank(method="dense").to_numpy() ** power
    new = table.copy()
    for name in columns:
        change = [(lambda x, f=f: np.abs(x) ** f) if bent else partial(np.multiply, f) for f in factors]
        values = [number(value, each) for value, each in zip(table[name], change, strict=True)]
        new[name] = pd.Series(values, index=table.index)
    return new


def told_by(table: pd.DataFrame, parameters: list[str], kept: str) -> list[str]:
    """The parameters that tell runs apart, without those that follow from the others; ``kept`` is one of them."""
    left = list(parameters)
    for name in parameters:
        rest = [each for each in left if each != name]
        if name != kept and not table[rest].map(str).duplicated().any():
            left = rest
    return left


def moved(table: pd.DataFrame, parameters: list[str], columns: list[str], by: str, early: pd.Series) -> pd.DataFrame:
    """Every change along the parameter ``by`` comes at its very start (where ``early``) or at its very end.

    Among runs that differ in ``by`` alone, all but the first are like the last; or all but the last like the first.
    """
    others = [name for name in told_by(table, parameters, by) if name != by]
    cells = [rows.sort_values(by).index for _, rows in table.groupby([table[name].map(str) for name in others])]
    new = table.copy()
    for cell in cells:
        source = (
            [cell[0], *[cell[-1]] * (len(cell) - 1)] if early[cell[0]] else [*[cell[0]] * (len(cell) - 1), cell[-1]]
        )
        for name in columns:
            new[name] = new[name].astype(object)
            for to, at in zip(cell, source, strict=True):
                new.at[to, name] = table.at[at, name]
    return new.infer_objects()


def ladders(table: pd.DataFrame, parameters: list[str], metrics: list[str]) -> Iterator[pd.DataFrame]:
    """Along each parameter with three values or more: all changes early, all late, and early for one value of another alone."""
    varied = [name for name in parameters if table[name].map(str).nunique() > 1]
    for by in varied:
        if not pd.api.types.is_numeric_dtype(table[by]) or table[by].nunique() < 3 or by == "seed":
            continue
        yes = pd.Series(True, index=table.index)
        yield moved(table, parameters, metrics, by, yes)
        yield moved(table, parameters, metrics, by, ~yes)
        for other in (name for name in varied if name not in (by, "seed")):
            for value in table[other].map(str).unique()[:4]:
                yield moved(table, parameters, metrics, by, table[other].map(str) == value)


def corruptions(table: pd.DataFrame, parameters: list[str], metrics: list[str]) -> Iterator[pd.DataFrame]:
    """All metrics changed alike, or with a parameter of the grid, or in another order of the runs; then each by itself.

    Last come runs moved along a parameter: a transition is bounded by the ladder it is looked for on, whatever the runs say.
    """
    varied = [name for name in parameters if table[name].map(str).nunique() > 1]
    groups = [metrics, *([name] for name in metrics)]
    for columns in groups:
        for change in CHANGES.values():
            yield spoilt(table, columns, change)
        for by in varied:
            for power in (2.0, -2.0):
                yield tilted(table, columns, by, power)
            yield tilted(table, columns, by, 1.0, bent=True)
        shuffled = table.copy()
        places = np.random.default_rng(0).permutation(len(table))
        shuffled[columns] = table[columns].to_numpy()[places]
        yield shuffled
    yield from ladders(table, parameters, metrics)


def failing(claim: Claim, table: pd.DataFrame) -> set[str]:
    """The checks that fail on a table; one whose measure cannot digest it says nothing."""
    found = set()
    for check in claim.checks:
        one = Claim(claim.id, claim.source, claim.says, checks=(check,))
        try:
            if judge_claim(one, table.copy()).verdict == "fails":
                found.add(check.name)
        except Exception:  # spoilt numbers may break a measure; that is no verdict
            continue
    return found


def unfailing(paper: Paper, found: Evidence) -> list[str]:
    """The checks that hold on the recorded runs and fail on no spoilt copy of them."""
    parameters = sorted(set().union(*(point.keys() for point in paper.points(found.scale))))
    metrics = [str(column) for column in found.table.columns if column not in parameters]
    waiting: dict[str, Claim] = {}
    for claim in paper.claims:
        held = [c.name for c in judge_claim(claim, found.table.copy()).checks if c.verdict.startswith("holds")]
        if held:
            kept = tuple(check for check in claim.checks if check.name in held)
            waiting[claim.id] = Claim(claim.id, claim.source, claim.says, checks=kept)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for table in corruptions(found.table, parameters, metrics):
            for key, claim in list(waiting.items()):
                failed = failing(claim, table)
                left = tuple(check for check in claim.checks if check.name not in failed)
                if left:
                    waiting[key] = Claim(claim.id, claim.source, claim.says, checks=left)
                else:
                    del waiting[key]
            if not waiting:
                break
    return [f"{key}, {check.name}: {check.expect}" for key, claim in waiting.items() for check in claim.checks]


@pytest.mark.parametrize("name", TABLES)
def test_every_check_that_holds_fails_on_some_spoilt_runs(name):
    paper, found = papers.load(name), read_evidence(name, runs_folder())
    assert found is not None
    if found.version != paper.version:
        pytest.skip("the protocol has changed since the recorded run")
    never = unfailing(paper, found)
    assert not never, "these checks hold whatever the runs say:\n" + "\n".join(never)


def test_a_check_that_cannot_fail_is_found():
    points = [{"n": n, "seed": s} for n in (1, 2, 4) for s in range(4)]
    table = pd.DataFrame([{**p, "error": 0.1 / p["n"] + 0.001 * p["seed"]} for p in points])

    def cosine(table):  # of anything with itself
        return exact(float(np.tanh(np.abs(table["error"]).mean())))

    def mean(table):
        return over_draws(table.groupby("seed")["error"].mean())

    def gives_up(table):
        if not 0 < table["error"].max() < 0.2:
            raise NotMeasured("not as expected")
        return mean(table)

    claims = (
        Claim("X.1", "s", "a cosine is at most one", measure=cosine, expect=at_most(1)),
        Claim("X.2", "s", "the error is small", measure=mean, expect=at_most(0.2)),
        Claim("X.3", "s", "the error is small, where it is", measure=gives_up, expect=at_most(0.2)),
    )
    paper = Paper("p", "P", "s", 1, lambda scale: points, lambda point: {}, claims)
    never = unfailing(paper, Evidence("p", 1, "small", None, 0.0, [], table))
    assert [line.split(",")[0] for line in never] == ["X.1", "X.3"]

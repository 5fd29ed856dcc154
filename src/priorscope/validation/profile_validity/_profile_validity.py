"""Does a profile name what is best, say how wrong it is, and forecast what more data give?"""

from __future__ import annotations

import time as clock
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priorscope.judge import METRICS, Judgement, outputs_of
from priorscope.lab import Claim, Metrics, Paper, Point, above, at_least, at_most, between
from priorscope.profiles import Kind, Profile, profile
from priorscope.validation.profile_validity._problems import Task, development, entries, load
from priorscope.validation.profile_validity._validity_measures import (
    called_worse,
    chart,
    coverage,
    excess_of_pick,
    far_behind,
    headline,
    log_error,
    nothing_seen,
    picks_against,
    right_picks,
)

__all__ = ["PAPER"]

SOURCE = "priorscope, profile"
TIMES = (1, 4, 10, 30)  # rows asked about over rows given, one after another along the list
MOST = {1: 3_000, 4: 6_000, 10: 10_000, 30: 20_000}  # rows asked about
LEAST = 80  # rows given
METRIC = {"error": "misclassification", "auc": "auc", "rmse": "rmse"}


def grid(scale: str) -> list[Point]:
    """One point per problem; how far each is asked about goes round along the list. Tiny: development problems."""
    if scale == "tiny":
        return [{"problem": name, "times": 2, "budget": 2.0, "seed": 0} for name in development()]
    budget = 20.0 if scale == "small" else 60.0
    return [
        {"problem": n, "times": TIMES[k % len(TIMES)], "budget": budget, "seed": 0} for k, n in enumerate(entries())
    ]


def _some(x: Any, rows: NDArray[np.int64]) -> Any:
    return x.iloc[rows].reset_index(drop=True) if isinstance(x, pd.DataFrame) else x[rows]


def _given(task: Task, times: int) -> tuple[int, int]:
    """How many rows are asked about, and how many are given: fewer times as many where the problem is small."""
    asked = min(len(task.y), MOST.get(times, len(task.y)))
    return asked, min(max(asked // times, LEAST), asked)


def _errors(task: Task, guess: Any, codes: dict[Any, int]) -> tuple[float, float, float]:
    """The metric on two halves of the test rows and on all of them."""
    metric = METRICS[METRIC[task.metric]]
    count = len(codes) or None
    truth = np.array([codes[v] for v in task.wanted]) if count else np.asarray(task.wanted, float)
    outputs = outputs_of(_Coded(guess, codes) if count else guess, task.new, count)
    halves = np.random.default_rng(0).permutation(len(truth))
    parts = [np.sort(halves[::2]), np.sort(halves[1::2]), np.arange(len(truth))]
    first, second, whole = (metric.measure(truth[p], outputs.take(p)).value for p in parts)
    return first, second, whole


class _Coded:
    """A fitted classifier whose classes are numbered."""

    def __init__(self, fitted: Any, codes: dict[Any, int]) -> None:
        self.fitted, self.codes = fitted, codes
        self.classes_ = np.array([codes[c] for c in getattr(fitted, "classes_", codes)])

    def predict(self, x: Any) -> NDArray[np.int64]:
        return np.array([self.codes[v] for v in self.fitted.predict(x)])

    def predict_proba(self, x: Any) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.asarray(self.fitted.predict_proba(x))
        return found


def _columns(report: Profile) -> Point:
    """What the profile says of every row."""
    rows = report.rows
    return {
        "rows": [r.name for r in rows],
        "kinds": [r.kind.value for r in rows],
        "estimate": [r.estimate.value for r in rows],
        "low": [r.estimate.low for r in rows],
        "high": [r.estimate.high for r in rows],
        "worse": [r.standing is Judgement.WORSE for r in rows],
        "measured": [r.now[1].value for r in rows],
        "measured_at": [r.now[0] for r in rows],
        "learns": report.learns,
        "guess": report.baseline.value,
        "ended": report.race.ended,
    }


def run(point: Point) -> Metrics:
    """Profile the rows that are given, then fit every predictor of its table to the rows asked about."""
    made = development()
    task = made[point["problem"]] if point["problem"] in made else load(entries()[point["problem"]])
    asked, given = _given(task, point["times"])
    x, y = _some(task.x, np.arange(asked)), task.y[:asked]
    began = clock.process_time()
    report = profile(_some(x, np.arange(given)), y[:given], to=asked, metric=METRIC[task.metric], budget=point["budget"],
                     deep=False, seed=point["seed"])  # fmt: skip
    seconds = clock.process_time() - began
    codes = {c: k for k, c in enumerate(np.unique(np.r_[y, task.wanted]))} if report.task == "classification" else {}
    began = clock.process_time()
    found = [_errors(task, report.estimator(row.name).fit(x, y), codes) for row in report.rows]
    out: Point = {**_columns(report), "given": given, "asked": asked, "tested": len(task.wanted), "metric": task.metric}
    out["first_half"], out["second_half"], out["error"] = (list(v) for v in zip(*found, strict=True))
    names = out["rows"]
    last = max(out["measured_at"])
    whole = [m if at == last else np.inf for m, at in zip(out["measured"], out["measured_at"], strict=True)]
    out["cross-validation"] = names[int(np.argmin(whole))]  # the lowest error on the most rows
    out["boosting"] = "boosted trees" if "boosted trees" in names else names[0]
    return {**out, "profile_seconds": seconds, "fit_seconds": clock.process_time() - began}


def _claim(id_: str, says: str, measure: Any, expect: Any) -> Claim:
    return Claim(id=id_, source=SOURCE, says=says, measure=measure, expect=expect)


PAPER = Paper(
    name="profile-validity",
    title="What a profile names, measures and forecasts, against every predictor on rows that took no part",
    source=SOURCE,
    version=10,
    grid=grid,
    run=run,
    claims=(
        _claim(
            "V.1a",
            "on problems not used while building it, the predictor that a profile names and builds has a mean excess of at most "
            "3 % over the best of all in the table, at 1 to 30 times the rows it was given",
            excess_of_pick,
            at_most(0.03),
        ),
        _claim(
            "V.1b",
            "the predictor that a profile names and builds is within 10 % of the best of all in the table on at least 90 % of "
            "problems",
            right_picks,
            at_least(0.9),
        ),
        _claim(
            "V.2",
            "the error that a profile's first sentence names is the true one within 3 %, in the median over problems",
            headline,
            between(0.97, 1.03),
        ),
        *(
            _claim(
                f"V.3{letter}",
                f"90 % intervals of {kind.plural} cover their error in 85 % of cases or more",
                coverage(kind.value),
                at_least(0.85),
            )
            for letter, kind in (("a", Kind.KERNEL), ("b", Kind.NETWORK), ("c", Kind.CLASSICAL))
        ),
        _claim(
            "V.4",
            "predictors that a profile calls worse than its pick are worse in 95 % of cases",
            called_worse,
            at_least(0.95),
        ),
        _claim(
            "V.5a",
            "the pick is right (within 10 % of the best) on more problems than the lowest error on the most rows",
            picks_against("cross-validation"),
            above(0.0),
        ),
        _claim("V.5b", "the pick is right on more problems than boosted trees", picks_against("boosting"), above(0.0)),
        _claim(
            "V.6",
            "predictors that are more than a quarter worse than the pick are called worse in 80 % of cases",
            far_behind,
            at_least(0.8),
        ),
        _claim(
            "V.7",
            "at 4 times the rows given, forecasts are off by 6 % or less in the median",
            log_error(4),
            at_most(0.06),
        ),
        _claim(
            "V.8",
            "no problem is said to show nothing where the predictor that is built beats guessing clearly",
            nothing_seen,
            at_most(0.0),
        ),
    ),
    chart=chart,
)

"""One verdict: the headline names the first row, and no word about better or worse contradicts the table."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priorscope.probes import SamplesNeeded
from priorscope.profiles import ErrorCurve, EstimatorRecipe, Kind, Metric, Profile, Row, Standing
from priorscope.profiles._baseline import Baseline
from priorscope.profiles._headline import called
from priorscope.profiles._ranking import ranked
from priorscope.statistics import Interval

BASE = 0.5
WORSE = (Standing.WORSE, Standing.LITTLE_WORSE)


def made(value: float, spread: float, place: int, kind: Kind, n: int) -> Row:
    estimate = Interval(value, value / spread, value * spread)
    sizes = np.array([n // 2, n])
    now = np.array([2.0 * value, 1.5 * value])
    grid = np.array([n / 2, 1000.0 * n])
    curve = ErrorCurve(sizes, now, now / spread, now * spread, grid, np.full(2, value), now / spread, now * spread)
    needed = SamplesNeeded(value / 2, float("inf"), float("inf"), float("inf"))
    return Row(f"row{place}", kind, "words", "of", curve, estimate, needed, None, EstimatorRecipe(None))  # type: ignore[arg-type]


def profile_of(
    values: list[tuple[float, float, int]], baseline: float = BASE, metric: Metric = Metric.MISCLASSIFICATION
) -> Profile:
    kinds = list(Kind)
    rows = [made(v, s, i, kinds[k % 4], 100 + 10 * i) for i, (v, s, k) in enumerate(values)]
    rows.sort(key=lambda r: r.estimate.value)
    first = rows[0].estimate
    ratios: list[Interval | None] = [None]
    for row in rows[1:]:
        e = row.estimate
        half = e.high / e.value * first.high / first.value
        middle = e.value / first.value
        ratios.append(Interval(middle, middle / half, middle * half))
    base = Baseline(1.0, baseline, baseline, "always guessing the commonest class")
    return Profile("d", "classification", 1000, 200, 800, 0.1, base, (), (), (), (), 0.0, 0.0,
                   rows=ranked(rows, ratios, baseline), metric=metric)  # fmt: skip


ROWS = st.lists(st.tuples(st.floats(0.001, 0.9), st.floats(1.001, 4.0), st.integers(0, 3)), min_size=1, max_size=12)


@settings(max_examples=300, deadline=None)
@given(ROWS)
def test_the_headline_never_contradicts_the_table(values: list[tuple[float, float, int]]) -> None:
    found = profile_of(values)
    head = found.verdict()[0]
    rows = found.rows
    assert [r.estimate.value for r in rows] == sorted(r.estimate.value for r in rows)
    first_named = min((head.find(called(r)) for r in rows if called(r) in head), default=-1)
    assert head.find(called(rows[0])) == first_named >= 0
    level = [r for r in rows if r.standing is Standing.LEVEL]
    for row in rows:
        if row.standing in WORSE:
            assert row.estimate.value >= rows[0].estimate.value
            assert all(row.estimate.value >= other.estimate.value for other in level)
        if row.standing is Standing.LEARNS_NOTHING:
            assert row.estimate.value >= BASE
    if head.startswith("Use"):
        assert rows[0].estimate.high < BASE
        assert f"at {found.to:,} samples" in head
    else:
        assert rows[0].estimate.high >= BASE
    if rows[0].standing is Standing.BEST:
        assert all(r.standing in WORSE for r in rows[1:] if r.learns)
    n, now = rows[0].now  # what is said to be measured is what the curve has, at its size
    assert f"{found.metric.text(now.value)} ({found.metric.span(now)}) when trained on {n:,}" in found.verdict()[1]


def test_the_sentence_of_a_clear_case() -> None:
    found = profile_of([(0.04, 1.01, 0), (0.05, 1.01, 2), (0.06, 1.01, 1), (0.09, 1.01, 1), (0.1, 1.01, 0)])
    assert found.verdict()[0] == (
        "Use the kernel machine row0: about 4.0 % wrong at 800 samples (4.0–4.0 %). Row1: 5.0 %. "
        "If you want a network, row2: 6.0 %. The other two are worse."
    )
    assert found.best.standing is Standing.BEST
    assert found.best_of("network") is found.rows[2]
    assert found.best_of(Kind.ESTIMATOR) is None


@pytest.mark.parametrize(
    "value, spread, head, standing",
    [
        (0.6, 1.01, "Nothing tried here is forecast to learn anything from 800", Standing.LEARNS_NOTHING),
        (0.45, 1.5, "Nothing tried here is sure to learn anything from 800", Standing.MAY_LEARN_NOTHING),
        (0.3, 1.1, "Use the kernel machine row0", Standing.ONLY),
    ],
)
def test_nothing_is_learnt_where_guessing_does_as_well(
    value: float, spread: float, head: str, standing: Standing
) -> None:
    found = profile_of([(value, spread, 0)])
    assert found.verdict()[0].startswith(head)
    assert found.best.standing is standing


def test_figures_of_every_metric_have_their_form() -> None:
    for metric, form in (
        (Metric.AUC, r"AUC about 0\.96"),
        (Metric.RMSE, "off by about 0.040"),
        (Metric.R2, "R² about 0.96"),
    ):
        head = profile_of([(0.04, 1.2, 0)], metric=metric).verdict()[0]
        assert re.search(form, head)
    assert Metric.AUC.span(Interval(0.04, 0.03, 0.05)) == "0.95–0.97"
    assert Metric.MISCLASSIFICATION.span(Interval(0.04, 0.03, 0.05)) == "3.0–5.0 %"


def test_words_fit_every_metric():
    assert Metric.RMSE.about(2.3) == "off by about 2.3"
    assert Metric.BALANCED_ERROR.about(0.2) == "about 20 % wrong in the mean over classes"
    assert Metric.AUC.about(0.07) == "AUC about 0.93"
    assert Metric.RMSE.aim(2.3) == "To be off by 2.3"
    assert Metric.LOG_LOSS.aim(0.5) == "For log-loss 0.50"

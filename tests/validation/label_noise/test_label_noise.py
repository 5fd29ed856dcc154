"""The check of the label-noise estimate: its own pieces, and that wrong estimates are judged wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from priorscope.validation.label_noise._label_noise import (
    DEVELOPMENT,
    JUDGED,
    PAPER,
    RATES,
    average_precision,
    clusters,
    coverage,
    flipped,
    precision,
    run,
    sets_within,
)


def test_flips_are_as_many_as_asked_for_and_go_to_other_classes():
    y = np.arange(400) % 5
    for rate in RATES:
        given = flipped(y, rate, 0)
        assert (given != y).sum() == round(rate * 400)
        assert set(given) <= set(range(5))
    moved = flipped(y, 0.4, 0)
    counts = np.bincount((moved - y) % 5, minlength=5)[1:]
    assert counts.sum() == 160
    assert (np.abs(counts - 40) < 4 * np.sqrt(160 * 0.25 * 0.75)).all()


def test_average_precision_is_that_of_sklearn():
    rng = np.random.default_rng(0)
    wrong, score = rng.random(200) < 0.2, rng.normal(size=200)
    assert average_precision(wrong, score) == pytest.approx(average_precision_score(wrong, score))
    assert np.isnan(average_precision(np.zeros(3, dtype=bool), np.ones(3)))


def test_no_set_is_judged_that_was_developed_on():
    assert len(JUDGED) == 10
    assert not {name.removeprefix("keel:").removeprefix("bundled:") for name in JUDGED} & set(DEVELOPMENT)


def table(error):
    return pd.DataFrame(
        [
            {
                "data": name, "seed": s, "truth": list(RATES), "estimate": [r + error * (k < 3) for r in RATES],
                "low": list(RATES), "high": list(RATES), "worst": [0.9] * 4, "flagged": [0.7] * 4,
            }
            for k, name in enumerate(JUDGED)
            for s in range(3)
        ]
    )  # fmt: skip


def test_measures_count_and_can_fail():
    assert sets_within(table(0.04)).interval.value == 10
    assert sets_within(table(0.06)).interval.value == 7
    assert precision(table(0.0), "worst", 0.1).interval.value == pytest.approx(0.9)
    assert coverage(table(0.0)).interval.value == 1.0
    beside = table(0.0)
    beside["low"] = beside["high"] = [[r + 0.1 for r in RATES]] * len(beside)
    assert coverage(beside).interval.value == 0.0


def test_one_draw_of_a_development_set():
    found = run({"data": "bundled:iris", "rows": 150, "seed": 0})
    assert found["truth"] == pytest.approx(list(RATES))
    assert max(abs(a - b) for a, b in zip(found["estimate"], RATES, strict=True)) < 0.1
    x, y = clusters(90, 0)
    assert x.shape == (90, 20)
    assert set(y) == {0, 1, 2}
    assert PAPER.chart is not None
    chart = PAPER.chart(pd.DataFrame([{"data": "iris", "seed": 0, **found}]))
    assert chart.to_dict()["columns"] == 5

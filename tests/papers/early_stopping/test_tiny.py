"""Both papers run at tiny scale, without verdicts; measures read made-up runs whose answers are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope import papers
from priorscope.data import Dataset, Split
from priorscope.lab import Store, judge_paper, sweep
from priorscope.papers.early_stopping import _alignment_runs, _stopping_measures


def made_up_images(*, size, n_train, n_test, seed):
    g = torch.Generator().manual_seed(seed)
    parts = [
        (Split(torch.rand(n, 3, size, size, generator=g), torch.eye(10)[torch.arange(n) % 10]), torch.arange(n) % 10)
        for n in (n_train, n_test)
    ]
    names = tuple(str(i) for i in range(10))
    return Dataset(parts[0][0], parts[1][0], "made-up", names, parts[0][1], parts[1][1])


@pytest.mark.parametrize("name", ["early-stopping", "early-stopping-steps", "jacobian-alignment"])
def test_tiny_points_run_and_give_no_verdicts(name, monkeypatch, as_recorded):
    monkeypatch.setattr("priorscope.data.cifar10", made_up_images)
    paper = papers.load(name)
    store = Store(":memory:")
    points = [p for i, p in enumerate(paper.points("tiny")) if name != "early-stopping" or i % 2]
    summary = sweep(paper, points, store, scale="tiny", jobs=1)
    assert summary.failed == 0
    assert summary.ran == len(points) > 0
    assert {record.verdict for record in judge_paper(paper, store)} == {"not run"}  # tiny runs test the code only
    as_recorded(paper, [{**p, **store.get(paper.name, paper.version, p)} for p in points])


def test_the_three_classes_come_one_hot_in_the_order_of_the_source(monkeypatch):
    monkeypatch.setattr("priorscope.data.cifar10", made_up_images)
    found = _alignment_runs.three_classes(20, 10, 8, 0)
    assert found.classes == ("1", "0", "2")
    assert found.train_labels[:3].tolist() == [1, 0, 2]  # airplane, automobile, bird as they come: places 1, 0, 2
    assert found.targets[:3].tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert (len(found.train), len(found.test)) == (20, 10)


def stop(seed, low, high, value):
    at = np.array([0.0, 1, 10, 100])
    return {
        "kind": "stop", "data": "clusters", "rate": 0.2, "seed": seed, "steps_at": at, "loss": np.array([9.0, 2, 1, 3]),
        "accuracy": np.array([0.0, 0.5, 1, 0.7]), "true": at, "given": at, "stop": value, "stop_low": low,
        "stop_high": high, "worth_it": True,
    }  # fmt: skip


def test_measures_of_stops_read_the_best_step_the_stop_and_the_end():
    table = pd.DataFrame([stop(0, 5.0, 20.0, 10.0), stop(1, 20.0, 30.0, 10.0), stop(2, 5.0, 8.0, 100.0)])
    assert _stopping_measures.best_inside(table).interval.value == pytest.approx(1 / 3)  # the best step is 10
    assert _stopping_measures.excess_loss(table).interval.value == pytest.approx((0 + 0 + 2) / 3)
    assert _stopping_measures.accuracy_gained(table).interval.value == pytest.approx((0.3 + 0.3 + 0) / 3)
    middle = pd.DataFrame([stop(s, 5.0, 20.0, 10**0.5) for s in range(2)])
    assert _stopping_measures.excess_loss(middle).interval.value == pytest.approx(0.5)  # halfway on a logarithmic axis


def test_exponents_and_rates_of_curves_that_are_known():
    at = np.arange(0.0, 50)
    for log, wanted in ((3 - 0.2 * at, 1.0), (3 - np.log1p(at / 1e-9), 0.5), (3 - 0.2 * at - 0.01 * at**2, None)):
        rows = [{"kind": "fit", "width": 20, "n": 40, "seed": s, "steps_at": at, "log_loss": log} for s in range(2)]
        found = _stopping_measures.geometric_rate(pd.DataFrame(rows)).interval.value
        assert found > 1 if wanted is None else found == pytest.approx(wanted, abs=0.02)  # one over the steps: a half
    rows = [
        {"kind": "steps", "clusters": L, "seed": s, "steps_at": at, "distance": 1 - 0.5 * at / (4 * L)}
        for L in (3, 6, 12)
        for s in range(2)
    ]
    found = _stopping_measures.steps_exponent(pd.DataFrame(rows)).interval  # half the way is gone at 4 L
    assert found.value == pytest.approx(1, abs=0.01)
    rows = [
        {"kind": "spectrum", "classes": 3, "components": 2, "n": n, "seed": s, "first": n**0.5, "part_0.5": 0.6}
        for n in (100, 400)
        for s in range(2)
    ]
    assert _stopping_measures.growth(pd.DataFrame(rows), "first").interval.value == pytest.approx(0.5)
    kept = 0.25 + 0.125
    derived = (kept + (1 - kept) * 6 / 400) ** 0.5
    assert _stopping_measures.part_ratio(pd.DataFrame(rows), 0.5).interval.value == pytest.approx(0.6 / derived)

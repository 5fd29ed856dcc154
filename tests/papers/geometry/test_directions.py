"""Circles, directions and simplicity: tiny runs, and claims on made-up tables."""

import numpy as np
import pandas as pd
import pytest

from priorscope.lab import judge_claim
from priorscope.papers.geometry import _circles, _directions, _simplicity


def checks(module, table):
    (claim,) = module.PAPER.claims
    return {check.name: check.verdict for check in judge_claim(claim, table).checks}


@pytest.mark.parametrize("module", [_circles, _directions, _simplicity])
def test_tiny_scale_runs_and_draws(module, as_recorded):
    paper = module.PAPER
    table = pd.DataFrame([{**p, **paper.run(p)} for p in paper.points("tiny")])
    as_recorded(paper, table)
    assert {judge_claim(claim, table).verdict for claim in paper.claims} == {"not shown"}  # one repeat of the dense net
    assert paper.chart(table).to_dict()["$schema"]
    assert len(paper.points("small")) >= 10


def circles(**accuracies):
    rows = []
    for model, planes in {"mlp": (0.99, 0.98, 0.99), **accuracies}.items():
        for s in range(5):
            fits = {f"test_{p}": v + 0.002 * (s - 2) for p, v in zip(_circles.PLANES, planes)}
            rows.append({"model": model, "seed": s, **fits, **{f"train_{p}": 1.0 for p in _circles.PLANES}})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("networks", "wanted"),
    [
        ({"normalised": (0.99, 0.52, 0.5)}, "holds"),
        ({"normalised": (0.99, 0.8, 0.7)}, "fails"),  # better than chance elsewhere
        ({"normalised": (0.99, 0.65, 0.5)}, "not shown"),
        ({"normalised": (0.7, 0.5, 0.5)}, "fails"),  # not learned at the top either
        ({"mlp": (0.99, 0.8, 0.99), "normalised": (0.99, 0.52, 0.5)}, "fails"),
        ({}, "not shown"),
    ],
)
def test_circles(networks, wanted):
    (claim,) = _circles.PAPER.claims
    assert judge_claim(claim, circles(**networks)).verdict == wanted


def test_circles_that_were_not_fitted_decide_nothing(as_recorded):
    as_recorded(_circles.PAPER, circles(normalised=(0.99, 0.52, 0.5)), made_up=True)
    unfitted = circles(normalised=(0.99, 0.52, 0.5)).assign(train_bottom=0.5)  # at chance on its training set too
    found = checks(_circles, unfitted)
    assert found["residual networks, other planes"] == "not shown"
    assert found["residual networks, top plane"] == "holds"


def directions(decay, dense=0.0, fit=1.0):
    ranks = np.arange(0, 60, 6)
    rows = []
    for model in ("mlp", "lenet", "resnet"):
        for kind in ("linear", "quadratic", "sinusoidal"):
            for s in range(5):
                fall = (dense if model == "mlp" else decay[kind]) * (1 + 0.05 * s)
                accuracy = 0.5 + 0.5 * np.exp(-fall * ranks) - 0.001 * s
                rows.append({"model": model, "kind": kind, "seed": s, "rank": ranks, "accuracy": accuracy})
                rows[-1]["train_accuracy"] = np.full(len(ranks), fit)
    return pd.DataFrame(rows)


def test_directions_need_the_fall_the_ordering_and_the_flat_dense_net():
    good = checks(_directions, directions({"linear": 0.015, "quadratic": 0.1, "sinusoidal": 0.1}))
    assert len(good) == 13
    assert set(good.values()) == {"holds"}
    slow = checks(_directions, directions({"linear": 0.04, "quadratic": 0.015, "sinusoidal": 0.2}))
    wrong = {f"ranks sooner than the line, {name}, quadratic" for name in ("LeNet", "residual network")}
    assert {name for name, verdict in slow.items() if verdict != "holds"} == wrong
    assert {slow[name] for name in wrong} == {"fails"}
    flat = checks(_directions, directions({"linear": 0.0, "quadratic": 0.1, "sinusoidal": 0.1}))
    assert flat["p of not falling, LeNet, linear"] == "fails"
    falls = checks(_directions, directions({"linear": 0.015, "quadratic": 0.1, "sinusoidal": 0.1}, dense=0.1))
    assert falls["range over ranks, dense net, linear"] == "fails"


def test_directions_that_were_not_fitted_decide_nothing():
    found = checks(_directions, directions({"linear": 0.015, "quadratic": 0.1, "sinusoidal": 0.1}, fit=0.8))
    assert set(found.values()) == {"not shown"}
    assert len(found) == 13


def test_half_ranks_by_hand():
    rows = pd.DataFrame(
        [
            {"seed": s, "rank": k, "accuracy": a}
            for s, accuracies in enumerate(([1.0, 0.8, 0.7], [0.9, 0.6, 0.5], [0.9, 0.9, 0.9]))
            for k, a in zip((0, 10, 20), accuracies)
        ]
    )
    assert _directions._half_ranks(rows).tolist() == [20, 10, 21]  # half of 0.5, half of 0.4, never


@pytest.mark.parametrize(
    ("first", "last", "wanted"),
    [(0.5, -0.5, "holds"), (0.5, 0.4, "fails"), (-0.5, -0.5, "fails"), (0.5, 0.0, "not shown")],
)
def test_simplicity(first, last, wanted):
    rows = [
        {"model": m, "seed": s, "first_preference": first + 0.01 * (s - 2), "last_preference": last + 0.01 * (s - 2)}
        for m in ("mlp", "lenet", "residual")
        for s in range(5)
    ]
    (claim,) = _simplicity.PAPER.claims
    assert judge_claim(claim, pd.DataFrame(rows)).verdict == wanted


def test_simplicity_stores_both_ends():
    point = _simplicity.PAPER.points("tiny")[0]
    found = _simplicity.PAPER.run(point)
    assert found["first_preference"] == found["linear"][0] - found["circle"][0]
    assert found["last_preference"] == found["linear"][-1] - found["circle"][-1]

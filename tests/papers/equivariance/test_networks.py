"""Papers on equivariant networks run at tiny scale, without verdicts; measures by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope import papers
from priorscope.lab import Store, judge_paper, sweep
from priorscope.papers.equivariance import _error, _spherical_mnist, _tetris
from priorscope.papers.equivariance._retrieval import retrieval

NAMES = ["equivariance-error", "spherical-mnist", "tetris", "shapes"]


@pytest.mark.parametrize("name", NAMES)
def test_tiny_points_run_and_give_no_verdicts(name):
    paper = papers.load(name)
    store = Store(":memory:")
    summary = sweep(paper, paper.points("tiny"), store, scale="tiny", jobs=1)
    assert summary.failed == 0
    assert summary.ran == len(paper.points("tiny")) > 0
    assert {record.verdict for record in judge_paper(paper, store)} == {"not run"}  # tiny runs test the code only


def test_growth_is_the_exponent():
    rows = [
        {
            "bandwidth": b,
            "depth": d,
            "nonlinearity": "none",
            "precision": "float32",
            "seed": s,
            "error": b * d**0.5 * (1 + s),
        }
        for b in (2, 4, 8)
        for d in (1, 4)
        for s in range(3)
    ]
    table = pd.DataFrame(rows)
    assert abs(_error.growth(table, "bandwidth", "none").value - 1) < 1e-9
    assert abs(_error.growth(table, "depth", "none").value - 0.5) < 1e-9


def test_gaps_are_taken_draw_by_draw():
    rows = [
        {
            "kind": "voxels",
            "model": m,
            "low_pass": lp,
            "seed": s,
            "accuracy": 0.5 + 0.1 * (m == "steerable") + 0.2 * lp + s / 10,
        }
        for m in ("steerable", "plain")
        for lp in (False, True)
        for s in range(3)
    ]
    found = _tetris.gap(pd.DataFrame(rows), ("steerable", True), ("steerable", False)).interval
    assert abs(found.value - 0.2) < 1e-9
    assert found.high - found.low < 1e-9  # what draws share drops out


def test_what_turning_costs():
    rows = [
        {"model": "spherical", "train": "upright", "on_upright": 0.9 + s / 100, "on_turned": 0.88, "seed": s}
        for s in range(3)
    ]
    assert abs(_spherical_mnist.loss_by_turning(pd.DataFrame(rows)).interval.value - 0.03) < 1e-9


def test_retrieval_by_hand():
    """One query of three others: relevant at ranks 1 and 3."""
    angles = np.array([0.0, 0.1, 0.2, 0.4])
    features = np.stack([np.cos(angles), np.sin(angles)], 1)
    labels = np.array([0, 0, 1, 0])
    with pytest.raises(ValueError, match="one member"):
        retrieval(features, labels)
    features, labels = np.concatenate([features, -features[2:3]]), np.array([0, 0, 1, 0, 1])
    found = retrieval(features[:, ::-1], labels)
    # queries 0 and 1: relevant at 1, 3 -> AP 5/6; query 3: neighbours 2, 1, 0 -> ranks 2, 3; both of class 1 find theirs last
    average = [5 / 6, None, 1 / 4, (1 / 2 + 2 / 3) / 2, None]
    order = np.argsort(-(features[1] @ features.T)[[0, 2, 3, 4]], kind="stable")
    hits = np.array([labels[[0, 2, 3, 4]][i] == 0 for i in order])
    average[1] = float(np.mean([hits[: k + 1].mean() for k in np.flatnonzero(hits)]))
    order = np.argsort(-(features[4] @ features.T)[:4], kind="stable")
    average[4] = 1 / (1 + int(np.flatnonzero(labels[:4][order] == 1)[0]))
    assert abs(found["map"] - np.mean(average)) < 1e-12

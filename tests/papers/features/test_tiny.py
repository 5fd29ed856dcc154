"""Both papers run at tiny scale, without verdicts; measures read what was put into a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope import papers
from priorscope.lab import Store, judge_paper, sweep
from priorscope.papers.features import _ansatz, _machines


@pytest.mark.parametrize("name", ["feature-ansatz", "feature-machines"])
def test_tiny_points_run_and_give_no_verdicts(name, as_recorded):
    paper = papers.load(name)
    store = Store(":memory:")
    summary = sweep(paper, paper.points("tiny"), store, scale="tiny", jobs=1)
    assert summary.failed == 0
    assert summary.ran == len(paper.points("tiny")) > 0
    assert {record.verdict for record in judge_paper(paper, store)} == {"not run"}  # tiny runs test the code only
    as_recorded(paper, [{**p, **store.get(paper.name, paper.version, p)} for p in paper.points("tiny")])


def test_the_lowest_layer_decides():
    rows = [
        {"network": "dense", "problem": p, "end": [0.9 + s / 1e4, low + s / 1e4]}
        for p, low in (("a", 0.95), ("b", 0.5))
        for s in range(4)
    ]
    found = _ansatz._correlation("dense")(pd.DataFrame(rows))
    assert found.interval.value == pytest.approx(0.50015)
    assert found.note.startswith("b, layer 2")


def test_exponents_are_those_of_power_laws():
    rows = [
        {
            "kind": "teacher",
            "n": n,
            "seed": s,
            "features": (1 + 0.1 * s) * n**-1.5,
            "laplace": n**-0.5,
            "oracle": n**-1.5,
        }
        for n in (10, 20, 40)
        for s in range(3)
    ]
    table = pd.DataFrame(rows)
    assert _machines._exponent_gap(table).value == pytest.approx(-1.0)
    assert _machines._beside_oracle(table).value == pytest.approx(1.1)
    stripes = pd.DataFrame(
        [{"kind": "stripe", "n": n, "seed": s, "sine": n**-0.5 * (1 + s)} for n in (8, 32) for s in range(3)]
    )
    assert _machines._stripe_exponent("sine")(stripes).value == pytest.approx(-0.5)
    tables = pd.DataFrame(
        [{"kind": "table", "table": t, "features": 0.9 + t / 100, "laplace": 0.8} for t in range(4) for _ in range(2)]
    )
    assert _machines._ahead("laplace")(tables).value == pytest.approx(np.mean([0.1, 0.11, 0.12, 0.13]))


def test_rises_and_powers_are_compared_layer_by_layer():
    rows = [
        {
            "network": kind, "problem": "a", "end": [0.9 + s / 1e4, 0.8], "end_at_one": [0.5, 0.75 - s / 1e4],
            "start_without_identity": [0.1, 0.3], "end_without_identity": [0.4, 0.5 + s / 1e4],
        }
        for kind in _ansatz.HIDDEN
        for s in range(4)
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    for kind in _ansatz.HIDDEN:
        found = _ansatz._rise(kind)(table)
        assert found.interval.value == pytest.approx(0.20015)
        assert found.note.startswith("a, layer 2")
    assert _ansatz._half_over_one(table).interval.value == pytest.approx(0.05015)

"""Both papers run at tiny scale, without verdicts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from priorscope import papers
from priorscope.lab import Store, judge_paper, sweep
from priorscope.papers.universality import _parity


@pytest.mark.parametrize("name", ["parity", "sgd-universality"])
def test_tiny_points_run_and_give_no_verdicts(name, as_recorded):
    paper = papers.load(name)
    store = Store(":memory:")
    summary = sweep(paper, paper.points("tiny"), store, scale="tiny", jobs=1)
    assert summary.failed == 0
    assert summary.ran == len(paper.points("tiny")) > 0
    assert {record.verdict for record in judge_paper(paper, store)} == {"not run"}  # tiny runs test the code only
    as_recorded(paper, [{**p, **store.get(paper.name, paper.version, p)} for p in paper.points("tiny")])


def test_measures_of_parity_by_hand():
    families = pd.DataFrame(
        [{"kind": "family", "n": 4, "degree": 2, "predictability": p / 6} for p in (1.0, 0.7, 1.1, 0.95)]
    )
    assert _parity.predictability_ratio(families).interval.value == pytest.approx(0.7)  # farthest from one
    rows = []
    for n, s in product((4, 6, 12), range(3)):
        by_degree = np.array([9.0, 2.0 + s, 3.0, 2.0 ** (-0.5 * n + 0.01 * s * n)])
        rows.append({"kind": "signal", "n": n, "seed": s, "floor": 0.5, "by_degree": by_degree})
    found = _parity.signal_over_floor(pd.DataFrame(rows), 0.0833)  # degree one of twelve
    assert found.interval.value == pytest.approx(np.mean(np.log([4.0, 6.0, 8.0])))
    assert found.note == "degree 1 of n = 12"
    assert _parity.signal_over_floor(pd.DataFrame(rows), 0.16).interval.value == pytest.approx(np.log(6.0))
    assert _parity.floor_exponent(pd.DataFrame(rows)).interval.value == pytest.approx(-0.49)
    junk = pd.DataFrame([{"kind": "junk", "n": n, "flow": 1.0, "advantage": 1 / n} for n in (10, 100, 50)])
    assert _parity.best_advantage(junk, "advantage").interval.value == pytest.approx(0.01)
    learnt = pd.DataFrame(
        [
            {"kind": "learn", "seed": s, "degree": k, "accuracy": 1 - 0.1 * k - 0.02 * s * k}
            for s in range(3)
            for k in (1, 2, 4)
        ]
    )
    assert _parity.accuracy_by_degree(learnt).interval.value == pytest.approx(-0.12)

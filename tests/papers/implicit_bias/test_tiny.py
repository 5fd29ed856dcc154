"""The three papers run at tiny scale, without verdicts; their measures read made-up tables rightly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope import papers
from priorscope.lab import Store, judge_paper, sweep
from priorscope.papers.implicit_bias._rich_kernel import needed_slope


@pytest.mark.parametrize("name", ["implicit-bias", "rich-kernel", "matrix-completion"])
def test_tiny_points_run_and_give_no_verdicts(name, as_recorded):
    paper = papers.load(name)
    store = Store(":memory:")
    summary = sweep(paper, paper.points("tiny"), store, scale="tiny", jobs=1)
    assert summary.failed == 0
    assert summary.ran == len(paper.points("tiny")) > 0
    assert {record.verdict for record in judge_paper(paper, store)} == {"not run"}  # tiny runs test the code only
    as_recorded(paper, [{**p, **store.get(paper.name, paper.version, p)} for p in paper.points("tiny")])


def test_the_scale_needed_is_where_the_error_crosses():
    scales = np.array([1e-4, 1e-2, 1.0])
    rows = [
        {"kind": "learning", "m": m, "seed": s, "scales": scales, "errors": 0.025 * (scales / (1e-3 * m / 100)) ** 0.5}
        for m in (100, 400)
        for s in range(3)
    ]  # errors are 0.025 at α = 1e-5 m by construction
    assert needed_slope(pd.DataFrame(rows)).interval.value == pytest.approx(1.0)

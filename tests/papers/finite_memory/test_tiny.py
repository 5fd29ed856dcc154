"""Both papers run at tiny scale, without verdicts."""

from __future__ import annotations

import pytest

from priorscope import papers
from priorscope.lab import Store, judge_paper, sweep


@pytest.mark.parametrize("name", ["memory-exact", "memory-learning"])
def test_tiny_points_run_and_give_no_verdicts(name, as_recorded):
    paper = papers.load(name)
    store = Store(":memory:")
    summary = sweep(paper, paper.points("tiny"), store, scale="tiny", jobs=1)
    assert summary.failed == 0
    assert summary.ran == len(paper.points("tiny")) > 0
    assert {record.verdict for record in judge_paper(paper, store)} == {"not run"}  # tiny runs test the code only
    as_recorded(paper, [{**p, **store.get(paper.name, paper.version, p)} for p in paper.points("tiny")])

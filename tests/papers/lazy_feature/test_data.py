"""Both regimes from the same start, judged on tables that are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from priorscope.lab import judge_claim
from priorscope.papers.lazy_feature._data import COMPARED, PAPER, images

DENSE, CONV = PAPER.claims


def known(dense: float = 0.02, conv: float = 0.02, done: float = 1.0) -> pd.DataFrame:
    noise = 0.002 * np.arange(4)
    rows = []
    for kind, data in COMPARED:
        gain = conv if kind == "conv" else -dense
        for seed in range(2):
            error = np.stack([0.2 + 3 * noise, 0.2 + gain + 2 * noise])
            row = {"kind": kind, "data": data, "seed": seed, "error": error, "finished": np.full((2, 4), done)}
            rows.append({**row, "ensemble": np.array([0.2, 0.2 + gain + 1e-3 * seed])})
    return pd.DataFrame(rows)


def test_the_claims_know_the_papers_table_and_its_opposites(as_recorded):
    as_recorded(PAPER, known(), made_up=True)
    assert [judge_claim(claim, known()).verdict for claim in PAPER.claims] == ["holds", "holds"]
    assert judge_claim(DENSE, known(dense=-0.02)).verdict == "fails"
    assert judge_claim(CONV, known(conv=-0.02)).verdict == "fails"
    assert judge_claim(CONV, known(conv=0.003)).verdict == "not shown"
    assert [judge_claim(claim, known(done=0.5)).verdict for claim in PAPER.claims] == ["not shown", "not trained"]
    table = known()
    alike = table.assign(ensemble=[np.array([0.2, 0.2])] * len(table))
    assert (
        judge_claim(DENSE, alike).verdict == "fails"
    )  # of dense networks ensembles count, of convolutional ones every network
    assert judge_claim(CONV, alike).verdict == "holds"
    assert judge_claim(DENSE, table[table.kind == "conv"]).verdict == "not shown"


def test_tiny_runs_are_measured_and_drawn(as_recorded):
    points = PAPER.points("tiny")
    train, test = images(points[1])
    norms = torch.cat([train.inputs, test.inputs]).flatten(1).norm(dim=1)
    torch.testing.assert_close(norms, torch.full((110,), 8.0))
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in points])
    as_recorded(PAPER, table)
    assert judge_claim(DENSE, table).verdict == "not shown"
    for change in table.weight_change:
        assert (change[0] > 3 * change[1]).all()  # features move weights, lazy training hardly
    assert PAPER.chart is not None
    assert "facet" in PAPER.chart(table).to_dict()


def test_one_set_that_did_not_finish_is_enough():
    table = known()
    first = table.index[table.kind == "dense"][0]
    table.at[first, "finished"] = np.full((2, 4), 0.5)
    assert judge_claim(DENSE, table).verdict == "not shown"

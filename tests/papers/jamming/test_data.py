"""Principal components and balanced splits, counts by hand, and claims on structured data that can fail."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from priorscope.data import Split
from priorscope.lab import judge_claim
from priorscope.papers.jamming._data import PAPER
from priorscope.papers.jamming._images import components, counts, parity

CLAIMS = {claim.id: claim for claim in PAPER.claims}


def test_components_are_whitened_and_splits_are_balanced_nested_and_disjoint():
    x, _ = components("digits", 4)
    torch.testing.assert_close(x.norm(dim=1), torch.full((len(x),), 2.0, dtype=torch.float64))
    moment = x.mT @ x / len(x)
    assert 0.5 < float(torch.linalg.eigvalsh(moment)[0]) < float(torch.linalg.eigvalsh(moment)[-1]) < 1.5  # whitened
    train, test = parity("digits", 100, 200, seed=1, dim=4)
    fewer, same = parity("digits", 60, 200, seed=1, dim=4)
    assert float(train.targets.sum()) == float(test.targets.sum()) == 0
    assert torch.equal(train.inputs[:60], fewer.inputs)
    assert torch.equal(test.inputs, same.inputs)
    assert float(torch.cdist(train.inputs, test.inputs).min()) > 0
    with pytest.raises(ValueError, match="balanced examples; got n_train = 1500"):
        parity("digits", 1500, 1000, seed=0)


def test_counts_of_a_network_solved_by_hand():
    net = nn.Sequential(nn.Linear(1, 2, bias=False), nn.ReLU(), nn.Linear(2, 1)).double()
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[1.0], [2.0]]))
        net[2].weight.copy_(torch.ones(1, 2))
        net[2].bias.zero_()
    data = Split(torch.tensor([[1.0], [-1.0], [0.1]]).double(), torch.tensor([[1.0], [1.0], [1.0]]).double())
    found = counts(net, data, 0.5)  # outputs 3, 0 (both neurons off: dead), 0.3
    assert found["n_unsatisfied"] == 2
    assert found["n_dead"] == 1
    assert found["overlap_ratio"] == 1 / 4
    assert found["loss"] == pytest.approx((0.5**2 + 0.2**2) / 6)
    assert found["living_loss"] == pytest.approx(0.2**2 / 6)


def verdict(id_: str, table: pd.DataFrame) -> str:
    return judge_claim(CLAIMS[id_], table).verdict


def known(smaller: float = 0.5, power: float = 0.7, jump: float = 0.5, loss: float = 1e-4) -> pd.DataFrame:
    rows = []
    for n in (500, 1000, 2000):
        for seed in range(3):
            noise = 1 + 0.02 * seed
            star = {"part": "star", "n_train": n, "seed": seed}
            rows.append({**star, "data": "random", "n_star": 0.35 * n * noise})
            rows.append({**star, "data": "mnist", "n_star": smaller * 350 * (n / 1000) ** power * noise})
    for ratio, value in ((5.0, 0.0), (6.0, 0.0), (7.0, jump), (8.0, jump + 0.02)):
        for seed in range(2):
            value += 0.01 * seed if value else 0
            run = {"part": "jump", "data": "mnist", "seed": seed, "n_train": round(ratio * 152), "n_weights": 152}
            left = loss * (1 + ratio) if value else 0.0
            rows.append({**run, "overlap_ratio": value, "loss": left, "living_loss": left})
    return pd.DataFrame(rows)


def test_claims_know_the_papers_table_and_its_opposites():
    assert {id_: verdict(id_, known()) for id_ in ("J.11", "J.11b")} == {"J.11": "holds", "J.11b": "holds"}
    assert verdict("J.14", known(power=0.75)) == "holds"
    assert verdict("J.14", known(power=1.3)) == "fails"
    assert verdict("J.11", known(smaller=1.2)) == "fails"
    assert verdict("J.11", known(jump=0.8)) == "fails"
    assert verdict("J.11", known(jump=0.8, loss=0.1)) == "not shown"  # too far from the transition
    assert verdict("J.11b", known(power=1.3)) == "fails"
    assert verdict("J.11b", known(power=1.0)) == "not shown"


def test_tiny_runs_are_measured_and_drawn(as_recorded):
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    as_recorded(PAPER, table)
    assert {verdict(id_, table) for id_ in CLAIMS} == {"not shown"}
    jump = table[table.part == "jump"]
    assert (jump[jump.n_train == jump.n_train.max()].overlap_ratio > 0.25).all()
    stars = table[table.part == "star"]
    for widths, ratios in zip(stars.searched, stars.overlap_ratios):
        assert len(widths) <= 3  # of five: a bisection
        assert (np.diff(np.asarray(ratios) < 0.1) >= 0).all()
    assert PAPER.chart is not None
    assert "hconcat" in PAPER.chart(table).to_dict()

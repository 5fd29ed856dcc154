"""The stripe at tiny scale, and claims on tables whose answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope.lab import judge_claim
from priorscope.papers.training_regimes._stripe import PAPER
from priorscope.papers.training_regimes._stripe_measures import way_left
from priorscope.papers.training_regimes._stripe_training import readout_compression as _compression

CLAIMS = {claim.id: claim for claim in PAPER.claims}


def known(power: float = 0.5, gain: float = 0.5, done: float = 1.0) -> pd.DataFrame:
    noise = 1 + 0.03 * np.arange(8)
    rows = []
    for n in (16, 32, 64, 128, 256):
        lazy = 0.8 * n**-0.4 * noise
        rows.append(
            {"n_train": n, "lazy": lazy, "feature": gain * lazy, "squeezed": 0.9 * gain * lazy}
            | {"compression": n**power * noise, "finished": np.full(8, done if n < 256 else 0.0)}
        )
    return pd.DataFrame(rows)


def test_claims_know_the_papers_table_and_its_opposites(as_recorded):
    as_recorded(PAPER, known(), made_up=True)
    found = judge_claim(CLAIMS["L.14c"], known())
    assert found.verdict == "holds"
    assert abs(found.measured - 0.5) < 1e-6
    assert found.note.endswith("P = 32, 64, 128")  # networks that did not finish are left out
    assert judge_claim(CLAIMS["L.14b"], known()).verdict == "holds"
    assert judge_claim(CLAIMS["L.14c"], known(power=0.0)).verdict == "fails"
    assert judge_claim(CLAIMS["L.14"], known(gain=1.2)).verdict == "fails"
    untrained = known(done=0.5)
    assert [judge_claim(CLAIMS[c], untrained).verdict for c in ("L.14", "L.14b", "L.14c")] == [
        "holds",
        *["not trained"] * 2,
    ]
    table = known()
    assert judge_claim(CLAIMS["L.14b"], table.assign(squeezed=table.lazy)).verdict == "fails"


def test_neurons_count_by_their_readout():
    w = torch.tensor([[[4.0, 1.0], [0.0, 3.0]]])  # one network of two neurons; the second points across
    ends = [{"w": w, "c": torch.tensor([[1.0, second]])} for second in (0.0, 1.0)]
    found = [float(_compression(end, torch.eye(2, 1)).ratio[0]) for end in ends]
    assert found == pytest.approx([4.0, (16 / 10) ** 0.5])


def test_tiny_runs_are_measured_and_drawn(as_recorded):
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    as_recorded(PAPER, table)
    assert {judge_claim(claim, table).verdict for claim in PAPER.claims} <= {"not shown", "not trained"}
    for start, end in table.neurons:
        assert np.abs(end - start).max() > 1  # weights of size one moved by more: features are learnt
    assert PAPER.chart is not None
    assert "hconcat" in PAPER.chart(table).to_dict()


def test_the_way_left_weighs_all_sizes_alike():
    """Means of logarithms over sizes, not the logarithm of a mean that the smallest P would rule."""
    sizes = np.array([32, 64, 128])
    lazy = 0.8 * sizes**-0.4
    feature = lazy * np.array([0.9, 0.5, 0.2])
    squeezed = feature * np.array([1.5, 1.1, 1.0])
    rows = [
        {
            "n_train": n,
            "lazy": np.full(4, a),
            "feature": np.full(4, b),
            "squeezed": np.full(4, c),
            "finished": np.ones(4),
        }
        for n, a, b, c in zip(sizes, lazy, feature, squeezed)
    ]
    near, far = np.log(squeezed / feature).mean(), np.log(lazy / feature).mean()
    assert way_left(pd.DataFrame(rows)).interval.value == pytest.approx(near / far)

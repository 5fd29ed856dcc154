"""Made-up tables of double descent and of layers that move, with their opposites; tiny runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope.lab import judge_claim
from priorscope.models import fcn
from priorscope.papers.width_limits import _parametrisations, _random_features, _sgd_flow

CLAIMS = {
    claim.id: claim for module in (_random_features, _parametrisations, _sgd_flow) for claim in module.PAPER.claims
}


def verdict(id_: str, rows: pd.DataFrame) -> str:
    return judge_claim(CLAIMS[id_], rows).verdict


def risks(off: float = 0.0, peak: bool = True, flat: bool = True) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for ridge in (0.0, 0.05):
        for ratio in (0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.5, 2.0, 4.0, 8.0):
            single = 0.1 + 1 / (abs(np.log(ratio)) + 1e-3) ** 1.5 if peak else 1.0
            mean = 0.2 if flat else single
            for seed in range(8):
                noise = (1 + off) * np.exp(0.02 * rng.standard_normal(2))
                rows.append(
                    {"ratio": ratio, "ridge": ridge, "seed": seed, "single": single * noise[0], "mean": mean * noise[1]}
                    | {"theory_single": single, "theory_mean": mean}
                )
    return pd.DataFrame(rows)


def test_double_descent():
    assert [verdict(c, risks()) for c in ("B.1", "B.2", "B.3")] == ["holds"] * 3
    assert verdict("B.1", risks(off=0.5)) == "fails"
    assert verdict("B.2", risks(peak=False)) == "fails"
    assert verdict("B.3", risks(flat=False)) == "fails"


def moves(mup=0.0, ntk=-0.5, first=-1.5) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = []
    for name, law in (("mup", (mup, mup, mup)), ("ntk", (ntk, ntk, 0.0)), ("standard", (first, -0.5, 0.0))):
        for width in (64, 256, 1024):
            for seed in range(6):
                values = [width**a * np.exp(0.03 * rng.standard_normal()) for a in law]
                rows.append(
                    {
                        "parametrisation": name,
                        "width": width,
                        "seed": seed,
                        **dict(zip(("first", "hidden", "output"), values)),
                    }
                )
    return pd.DataFrame(rows)


def test_layers_that_move():
    assert [verdict(c, moves()) for c in ("B.4", "B.5", "B.6")] == ["holds"] * 3
    assert verdict("B.4", moves(mup=-0.5)) == "fails"
    assert verdict("B.5", moves(ntk=0.0)) == "fails"
    assert verdict("B.6", moves(first=-0.5)) == "fails"


def descents(exponent: float = 0.7) -> pd.DataFrame:
    rows = []
    for scale in (1.0, 10.0, 100.0):
        for width in (16, 64):
            for seed in range(5):
                row = {
                    "scale": scale,
                    "width": width,
                    "seed": seed,
                }
                rows.append(
                    row | {f"apart_{k}": r**exponent * (1 + 0.01 * seed) for k, r in enumerate(_sgd_flow.RATES)}
                )
    return pd.DataFrame(rows)


def test_descent_and_flow():
    assert verdict("B.7", descents()) == "holds"
    assert verdict("B.7", descents(exponent=0.0)) == "fails"


def test_a_scaled_readout_is_the_scaled_output():
    x = torch.randn(5, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    plain = fcn(depth=2).network((64,), width=8, seed=3, dtype=torch.float64)
    scaled = _sgd_flow._scaled(0.3).network((64,), width=8, seed=3, dtype=torch.float64)
    torch.testing.assert_close(scaled(x), 0.3 * plain(x))


@pytest.mark.parametrize("module", [_random_features, _parametrisations, _sgd_flow])
def test_tiny_points(module, as_recorded):
    rows = [{**point, **module.PAPER.run(point)} for point in module.PAPER.points("tiny")[::2]]
    module.PAPER.chart(pd.DataFrame(rows)).to_dict()
    as_recorded(module.PAPER, rows)

"""The law of the norm on made-up tables: its power with a spread as recorded, other laws, and too few sizes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope.lab import judge_claim
from priorscope.papers.scaling._norm import PAPER, divergence, exponent, stars

(CLAIM,) = PAPER.claims
SPREAD = 0.35  # of log norm over seeds next to the transition: 0.2 to 0.5 in the eight seeds of double-descent


def known(power: float, seed: int, star: float = 148.0, constant: float = 2.0) -> pd.DataFrame:
    """Networks on the grid of the protocol whose norm diverges at ``star``, and that fit from there on."""
    rng, rows = np.random.default_rng(seed), []
    for point in PAPER.points("small"):
        first, second = point["widths"]
        n = 10 * first + first * second + second
        near = abs(1 - n / star)
        rows.append(
            {**point, "n_weights": n, "overlap_ratio": 0.5 * (n < star)}
            | {"norm_test": constant + 2 * near**-power * np.exp(SPREAD * min(1, 0.3 / near) * rng.standard_normal())}
        )
    return pd.DataFrame(rows)


def test_the_judge_has_power_at_this_grid_and_these_seeds():
    verdicts = [judge_claim(CLAIM, known(1.0, seed)).verdict for seed in range(20)]
    assert sum(v.startswith("holds") for v in verdicts) >= 16, verdicts
    others = [judge_claim(CLAIM, known(power, seed)).verdict for power in (0.4, 1.8) for seed in range(5)]
    assert not any(v.startswith("holds") for v in others)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("constant", [0.0, 5.0])
def test_divergence_recovers_exponent_and_place(power, constant):
    n = np.array([161.0, 170, 180, 210, 254, 312, 522, 1230])
    found, star = divergence(n, constant + 3 * abs(1 - n / 140) ** -power, stars(n, 150.0))
    assert found == pytest.approx(power, abs=0.06)
    assert star == pytest.approx(140, rel=0.02)
    assert np.isnan(divergence(n[:3], np.ones(3), stars(n, 150.0))[0])


def test_sizes_that_some_seed_does_not_fit_take_no_part():
    table = known(1.0, 0)
    late = table.assign(overlap_ratio=np.where((table.n_weights == 254) & (table.seed == 3), 0.5, table.overlap_ratio))
    assert "from 276 to" in exponent(late).note  # the first size from which on all fit
    assert (
        judge_claim(CLAIM, table[table.n_weights > 200]).verdict == "not shown"
    )  # where the transition is nobody knows


def test_tiny_runs_are_measured_and_drawn(as_recorded):
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    as_recorded(PAPER, table)
    assert set(table.n_weights) == {42, 60}
    PAPER.chart(table).to_dict()
    PAPER.chart(known(1.0, 0)).to_dict()

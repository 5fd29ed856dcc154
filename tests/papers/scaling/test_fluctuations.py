"""Tables whose laws are known and others that break each claim; reductions of Gaussian members in closed form."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope.data import random_patterns
from priorscope.lab import judge_claim
from priorscope.papers.scaling import _fluctuations
from priorscope.papers.scaling._ensemble_statistics import SIZES, boundary_distances
from priorscope.papers.scaling._fluctuations import PAPER, _reduced
from priorscope.papers.scaling._fluctuations_measures import ensemble_law, star_of

CLAIMS = {claim.id: claim for claim in PAPER.claims}


def verdict(id_: str, table: pd.DataFrame) -> str:
    return judge_claim(CLAIMS[id_], table).verdict


def blocks(values: list[float], noise: float = 2e-4) -> list[list[float]]:
    """Numbers of all members, then eight rows that differ a little, as when blocks of members are left out."""
    rng = np.random.default_rng(len(values))
    return [values, *(np.array(values) * (1 + noise * rng.standard_normal((8, len(values))))).tolist()]


def known(
    power: float = -0.5, size: float = -1.0, shift: float = -0.5, flat: bool = True, most: int = 128
) -> pd.DataFrame:
    """Errors 0.1 + 0.6 N^power M^size of ensembles of M, 0.1 + 0.6 N^power of all 20 unless they are ``flat``."""
    rows, sizes = [], np.array(SIZES)
    for n, members in ((60, 20), (100, 20), (250, most), (500, 20), (1000, 20), (2500, 20), (6000, 20)):
        excess = 0.6 * n**power
        row = {"part": "ensemble", "n_weights": n, "n_train": 500, "seed": 0, "members": members, "compared": 20}
        row |= {"overlap_ratios": [0.5 * (n < 80)] * members, "ensemble": 0.1}
        row["errors"] = (0.1 + excess * (1 + 0.01 * np.sin(np.arange(members)))).tolist()
        row["single_and_together"] = blocks([0.1 + excess, 0.1 + excess * (0.05 if flat else 0.6)])
        if members >= 4 * SIZES[-1]:
            row["ensemble_errors"] = blocks((0.1 + excess * sizes**size).tolist())
            row["boundary_distances"] = blocks((0.4 * sizes**shift * np.sqrt(1 + sizes / (members // 2))).tolist())
            row |= {"boundary_estimates": [0.3] * len(SIZES), "boundary_without": 0}
        rows.append(row)
    for width in (16, 64, 256):
        noise = 1 + 0.01 * np.arange(4)
        rows.append({"part": "kernel", "width": width, "learnt": noise / width, "start": noise})
    return pd.DataFrame(rows)


def test_claims_know_the_papers_table_and_its_opposites():
    table = known()
    for id_ in CLAIMS:
        assert verdict(id_, table) == "holds", (id_, judge_claim(CLAIMS[id_], table))
    assert 60 < star_of(table[table.part == "ensemble"]) < 100
    assert verdict("L.2", known(flat=False)) == "fails"  # ensembles gain with the width as single networks do
    assert verdict("L.2", known(size=-0.5)) == "fails"
    assert verdict("L.2", known(power=0.1)) == "fails"  # one network does not get better
    assert verdict("L.3", known(power=-0.2)) == "fails"
    assert verdict("L.2b", known(shift=-0.25)) == "fails"
    assert verdict("L.3b", table.assign(learnt=table.start)) == "fails"
    assert verdict("L.2b", known(most=32)) == "not shown"
    assert verdict("L.3", table[~table.n_weights.isin([500, 1000])]) == "not shown"


def test_reductions_of_gaussian_members_follow_the_closed_form():
    """Outputs x + noise of size s at points uniform in x: P(wrong sign) of M together is s / (range · sqrt(2 pi M)) · 2."""
    rng = np.random.default_rng(0)
    x, s, members = np.linspace(-5, 5, 2000), 0.5, 64
    F = np.sign(x) * (x + s * rng.standard_normal((members, 2000)))
    found = _reduced(F, np.sign(x)[None, :, None].repeat(members, 0), 20)
    sizes = np.array(SIZES)
    expected = 2 * s / np.sqrt(2 * np.pi * sizes) / 10
    got = np.array(found["ensemble_errors"])
    assert got.shape == (9, 5)
    draws = 2000 * members / sizes  # decisions that were averaged
    assert (np.abs(got[0] - expected) < 4 * np.sqrt(expected / draws) + 1e-3).all()  # points lie 0.005 apart
    single, together = found["single_and_together"][0]
    assert single == pytest.approx((F[:20] <= 0).mean())
    assert together == pytest.approx((F[:20].mean(0) <= 0).mean())
    assert len(found["single_and_together"]) == 9
    assert found["boundary_without"] == 0
    one = found["boundary_distances"][0][
        0
    ]  # where s z passes -|x|: |s z| on average s sqrt(pi / 2), with the reference's noise
    assert one == pytest.approx(s * np.sqrt(np.pi / 2) * np.sqrt(1 + 1 / 32), rel=0.1)
    assert "boundary_distances" not in _reduced(F[:32], np.ones((32, 2000, 1)), 20)


def test_networks_that_are_off_at_a_point_have_no_boundary_there():
    """One member of two is constant: its gradient is zero, and dividing by it gave infinite distances."""
    margins = np.array([[1.0, -1.0, 2.0], [-3.0, -3.0, -3.0]])
    slopes = np.array([[[2.0]] * 3, [[0.0]] * 3])
    distances, _, without = boundary_distances(margins, slopes, np.array([1.0, 1.0, 1.0]), [1])
    assert without == 3
    assert distances == [1.0]  # |-1 - 1| / 2, of the first member at the second point
    nothing, _, all_of_them = boundary_distances(margins[1:], slopes[1:], np.ones(3), [1])
    assert np.isnan(nothing[0])
    assert all_of_them == 3


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_law_of_ensembles_is_recovered(power):
    m = np.array([1.0, 2, 4, 8, 16])
    found, limit = ensemble_law(m, 0.05 + 0.03 * m**-power)
    assert found == pytest.approx(power, abs=0.01)
    assert limit == pytest.approx(0.05, abs=1e-4)


def test_tiny_runs_are_measured_and_drawn(as_recorded):
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    as_recorded(PAPER, table)
    for id_ in ("L.2", "L.2b", "L.3"):
        assert verdict(id_, table) == "not shown"
    assert judge_claim(CLAIMS["L.3b"], table).measured < -0.3
    widths = table[table.part == "ensemble"].set_index("width")
    assert max(widths.losses[32]) == 0
    assert min(widths.losses[2]) > 0
    assert np.mean(widths.errors[8][:4]) == pytest.approx(widths.single_and_together[8][0][0])
    assert PAPER.chart is not None
    assert "layer" in PAPER.chart(table).to_dict()
    assert "hconcat" in PAPER.chart(known()).to_dict()


def test_wide_networks_get_a_smaller_rate(monkeypatch):
    """At most 0.1 width^(-3/2) above a width of 100; the rate of the grid below."""
    seen = []

    class Stop(Exception):
        pass

    def recorded(net, x, y, steps, *, stages, margin):
        seen.append(stages[0][0])
        raise Stop

    monkeypatch.setattr(_fluctuations, "train_hinge", recorded)
    data = random_patterns(4, _fluctuations.DIM)
    for width, rate in ((8, 0.1), (400, 0.1), (400, 1e-9)):
        point = {"width": width, "depth": 1, "rate": rate, "steps": 1}
        with pytest.raises(Stop):
            _fluctuations._member(point, 0, data, data)
    assert seen == pytest.approx([0.1, 0.1 * 400**-1.5, 1e-9])

"""Gaussian members whose ensembles are known in closed form, and members that break each claim."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope.papers.scaling._fluctuations import PAPER
from priorscope.papers.scaling._fluctuations_claims import ensemble_law

CLAIMS = {claim.id: claim for claim in PAPER.claims}


def known(noise_power: float = -0.25, shared: float = 0.0) -> pd.DataFrame:
    """Margins 0.7 + x + noise: points uniform across the boundary, so that errors grow with the noise's square.

    ``shared`` is a bias of small networks that no ensemble averages away.
    """
    rng = np.random.default_rng(0)
    x = np.linspace(-1, 3, 1000)
    sign = np.where(rng.random(1000) < 0.5 + 0.5 * np.clip(np.abs(x), 0, 1), 1.0, -1.0)
    rows = []
    for n, members in ((60, 20), (100, 20), (250, 64), (500, 20), (1000, 20), (2500, 20), (6000, 20)):
        for seed in range(members):
            f = x + 3.0 * n**noise_power * rng.standard_normal(1000) + shared * 20 / n
            margins = np.sign(x) * sign * f
            slopes = (np.sign(x) * sign)[:1000, None] * np.array([[1.0, 0.0]])
            rows.append(
                {"part": "member", "n_weights": n, "n_train": 500, "seed": seed, "overlap_ratio": 0.5 * (n < 80)}
                | {"margins": margins.astype(np.float32), "slopes": slopes, "error": float((margins <= 0).mean())}
            )
    for width in (16, 64, 256):
        noise = 1 + 0.01 * np.arange(4)
        rows.append({"part": "kernel", "width": width, "learnt": noise / width, "start": noise})
    return pd.DataFrame(rows)


def test_judges_know_the_papers_table_and_its_opposites():
    table = known()
    for id_, claim in CLAIMS.items():
        assert claim.judge(table).verdict == "holds", (id_, claim.judge(table))
    assert CLAIMS["L.2"].judge(known(shared=3.0)).verdict == "fails"  # the ensemble is not flat
    assert CLAIMS["L.3"].judge(known(noise_power=-0.1)).verdict == "fails"
    correlated = table.assign(margins=[np.asarray(m) * 0 + np.asarray(table.margins.iloc[0]) for m in table.margins])
    assert CLAIMS["L.2"].judge(correlated).verdict != "holds"  # members that are all the same
    assert CLAIMS["L.3b"].judge(table.assign(learnt=table.start)).verdict == "fails"
    steep = table.assign(slopes=[np.asarray(s) for s in table.slopes])
    assert CLAIMS["L.2b"].judge(steep[steep.seed < 20]).verdict == "not shown"


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_law_of_ensembles_is_recovered(power):
    m = np.array([1.0, 2, 4, 8, 16])
    found, limit = ensemble_law(m, 0.05 + 0.03 * m**-power)
    assert found == pytest.approx(power, abs=0.01)
    assert limit == pytest.approx(0.05, abs=1e-4)


def test_tiny_runs_judge_and_draw():
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    for id_ in ("L.2", "L.2b", "L.3"):
        assert CLAIMS[id_].judge(table).verdict == "not shown"
    assert CLAIMS["L.3b"].judge(table).measured < -0.3
    members = table[table.part == "member"]
    assert (members[members.width == 32].loss == 0).all()
    assert (members[members.width == 2].loss > 0).all()
    assert PAPER.chart is not None
    assert "hconcat" in PAPER.chart(table).to_dict()

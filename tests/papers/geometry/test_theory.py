"""The theory paper at tiny scale, and claims that can fail."""

import pandas as pd
import pytest

from priorscope.lab import judge_claim
from priorscope.papers.geometry._theory import PAPER

CLAIMS = {claim.id: claim for claim in PAPER.claims}


def verdicts(table: pd.DataFrame) -> dict[str, str]:
    return {name: judge_claim(claim, table).verdict for name, claim in CLAIMS.items()}


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame([{**p, **PAPER.run(p)} for p in PAPER.points("tiny") if p["n_models"] <= 400])


def test_tiny_scale_shows_direction_labels_and_isotropy(table, as_recorded):
    as_recorded(PAPER, table)
    moves = table[(table["part"] == "movement") & (table["model"] == "relu")]
    assert (moves["corr_s"] < -0.85).all()
    linear = table[table["model"] == "linear"].iloc[0]
    assert 0.5 < linear["linear_pull"] < 2
    assert judge_claim(CLAIMS["S4.3"], table).measured == pytest.approx(1, abs=0.5)
    isotropic = judge_claim(CLAIMS["S4.4"], table)
    assert {check.verdict for check in isotropic.checks} == {"not shown"}  # one draw
    assert "no runs with part structure, model lenet" in judge_claim(CLAIMS["S4.5"], table).note
    assert PAPER.chart(table).to_dict()["$schema"]


def made_up(
    gap: float = 0.1, rate: float = -1.0, pull: float = 1.0, slope: float = -0.5, decades: float = 3.0
) -> pd.DataFrame:
    rows = []
    for seed in range(3):
        noise = 1 + 0.01 * (seed - 1)
        rows.append(
            {"part": "movement", "model": "linear", "width": 1, "dim": 16, "seed": seed, "linear_pull": pull * noise}
        )
        for width in (2, 4, 8, 16):
            corr = 1 - gap * noise * width**rate
            fields = {"width": width, "seed": seed, "corr_s": -corr, "corr_gsg": -corr, "geometry_error": 0.01}
            rows += [{"part": "movement", "model": m, "dim": 8, **fields} for m in ("relu", "conv")]
        rows += [{"part": "labels", "model": m, "pull": pull * noise, "seed": seed} for m in ("relu", "conv")]
        for model, power in (("fcn", slope), ("vec", slope), ("gap", 0.0)):
            rows += [
                {
                    "part": "isotropy",
                    "model": model,
                    "n_models": n,
                    "seed": seed,
                    "off_diagonal": noise * float(n) ** power,
                }
                for n in (10, 100, 1000)
            ]
        for model, value in (("mlp", 0.1), ("lenet", decades), ("resnet18", 4.0), ("vit", 4.0)):
            rows.append({"part": "structure", "model": model, "seed": seed, "decades": value + 0.01 * seed * noise})
    return pd.DataFrame(rows)


def test_claims_hold_and_fail():
    assert verdicts(made_up()) == {
        "S4.1": "holds",
        "S4.2": "holds with changes",
        "S4.3": "holds",
        "S4.4": "holds",
        "S4.5": "holds",
    }
    assert verdicts(made_up(gap=0.4))["S4.2"] == "fails"  # 0.4/16 is not yet 0.01
    assert verdicts(made_up(gap=0.05, rate=-0.3))["S4.2"] == "fails"  # slower than 1/n
    assert verdicts(made_up(gap=0.4, rate=-2.0))["S4.2"] == "holds with changes"  # faster is what happens
    assert verdicts(made_up(gap=1.5))["S4.1"] == "fails"  # 1.5/16 is not yet 0.03
    assert verdicts(made_up(pull=5.0))["S4.1"] == verdicts(made_up(pull=5.0))["S4.3"] == "fails"
    assert verdicts(made_up(slope=-0.1))["S4.4"] == "fails"
    assert verdicts(made_up(decades=0.5))["S4.5"] == "fails"
    away = made_up()
    away["geometry_error"] = 0.5
    assert verdicts(away)["S4.2"] == "fails"


def test_one_model_that_fails_is_told():
    found = judge_claim(CLAIMS["S4.5"], made_up(decades=0.5))
    assert [check.verdict for check in found.checks] == ["fails", "holds", "holds"]

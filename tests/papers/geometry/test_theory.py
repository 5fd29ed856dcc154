"""The theory paper at tiny scale, and judges that can say no."""

import numpy as np
import pandas as pd
import pytest

from priorscope.papers.geometry._theory import PAPER

JUDGES = {claim.id: claim.judge for claim in PAPER.claims}


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame([{**p, **PAPER.run(p)} for p in PAPER.points("tiny") if p["n_models"] <= 400])


def test_tiny_scale_shows_direction_labels_and_isotropy(table):
    moves = table[(table["part"] == "movement") & (table["model"] == "relu")]
    assert (moves["corr_s"] < -0.85).all()
    linear = table[table["model"] == "linear"].iloc[0]
    assert 0.5 < linear["linear_pull"] < 2
    assert JUDGES["S4.3"](table).measured == pytest.approx(1, abs=0.5)
    assert JUDGES["S4.4"](table).verdict in ("holds", "fails")
    assert JUDGES["S4.5"](table).verdict == "not run"
    assert PAPER.chart(table).to_dict()["$schema"]


def made_up(corr: float, pull: float, slope: float) -> pd.DataFrame:
    rows = [{"part": "movement", "model": "linear", "width": 1, "dim": 16, "seed": 0, "linear_pull": pull}]
    for width in (2, 4, 8, 16):
        gap = corr / width
        fields = {"width": width, "seed": 0, "corr_s": 1 - gap, "corr_gsg": 1 - gap, "geometry_error": 0.01}
        rows += [{"part": "movement", "model": m, "dim": 8, **fields} for m in ("relu", "conv")]
    rows.append({"part": "labels", "model": "relu", "pull": pull, "seed": 0})
    for model, power in (("fcn", slope), ("vec", slope), ("gap", 0.0)):
        rows += [
            {"part": "isotropy", "model": model, "n_models": n, "seed": 0, "off_diagonal": float(n) ** power}
            for n in (10, 100, 1000)
        ]
    for model, decades in (("mlp", 0.1), ("lenet", 3 * corr), ("resnet18", 4.0), ("vit", 4.0)):
        rows += [{"part": "structure", "model": model, "seed": s, "decades": decades + 0.01 * s} for s in range(3)]
    return pd.DataFrame(rows)


def test_judges_say_yes_and_no():
    good, bad = made_up(0.4, 1.0, -0.5), made_up(8.0, 5.0, -0.1)
    assert {name: judge(good).verdict for name, judge in JUDGES.items()} == dict.fromkeys(
        ("S4.1", "S4.3", "S4.4"), "holds"
    ) | {"S4.2": "fails", "S4.5": "holds"}  # 0.4/16 is not yet 0.99
    assert JUDGES["S4.2"](made_up(0.1, 1.0, -0.5)).verdict == "holds"
    bad.loc[bad["model"] == "lenet", "decades"] = 0.5
    assert {judge(bad).verdict for judge in JUDGES.values()} == {"fails"}
    assert np.isfinite(JUDGES["S4.1"](good).measured)

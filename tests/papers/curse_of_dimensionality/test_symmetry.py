"""The paper at tiny scale: every part runs, exact claims hold, and each judge can say no."""

from __future__ import annotations

import numpy as np
import pandas as pd

from priorscope.papers.curse_of_dimensionality._judges import drops
from priorscope.papers.curse_of_dimensionality._symmetry import PAPER
from priorscope.papers.curse_of_dimensionality._systems import SIZE_OF, inside

CLAIMS = {claim.id: claim for claim in PAPER.claims}


def test_runs_and_judges() -> None:
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    within = table.inside.fillna(False).astype(bool)
    kernel = table[table.part == "kernel"]
    assert kernel[within.loc[kernel.index]].change.max() < 1e-10
    assert kernel[~within.loc[kernel.index]].change.min() > 1e-4  # 4×4 images of white colours
    assert CLAIMS["S0.1"].judge(table.assign(change=table.change.where(within, 1.0))).verdict == "holds"
    assert CLAIMS["S0.1"].judge(table.assign(change=1.0)).verdict == "fails"
    assert CLAIMS["S0.2"].judge(table).verdict == "holds"
    assert CLAIMS["S0.3"].judge(table).verdict == "holds"
    assert CLAIMS["S0.3"].judge(table.assign(difference=1e-3)).verdict == "fails"
    lost = drops(table)
    assert {"drop", "before", "after"} <= set(lost.columns)
    for claim in ("S0.4", "S0.5"):
        assert CLAIMS[claim].judge(table.assign(variant=table.variant.replace({"ntk": "nn++"}))).note
    assert PAPER.chart is not None
    assert PAPER.chart(table).to_dict()


def _made_up(step: float) -> pd.DataFrame:
    """Accuracies that lose ``step`` for each of the two larger symmetries, whether the system's own or the data's."""
    rows = []
    for point in PAPER.points("small"):
        if point["part"] == "accuracy":
            infinite = point["variant"] == "ntk"
            own = 3 if point["system"] == "fcn" else 1 + inside(point["system"], "O(c)^d", infinite)
            level = max(own, SIZE_OF[point["group"]])
            stays = inside(point["system"], point["group"], infinite)
            rows.append({**point, "inside": stays, "accuracy": 0.5 - step * level})
    table = pd.DataFrame(rows)
    return table.assign(accuracy=table.accuracy + 0.005 * np.random.default_rng(0).normal(size=len(table)))


def test_the_judge_of_figure_one_tells_the_cases_apart() -> None:
    judge = CLAIMS["S0.4"].judge
    good = _made_up(0.08)
    assert judge(good).verdict == "holds"
    assert judge(_made_up(-0.08)).verdict == "fails"
    flat = _made_up(0.0)
    assert judge(flat).verdict == "not shown"
    flat.loc[flat.data == "local", "accuracy"] = good.accuracy[good.data == "local"]
    assert judge(flat).verdict == "holds with changes"
    moved = good.assign(accuracy=good.accuracy.where(good["group"] != "O(c)⊗I", good.accuracy - 0.2))
    assert judge(moved).verdict == "fails"  # a loss inside the symmetry


def test_the_judge_of_interventions_tells_the_cases_apart() -> None:
    def table(separates: float, gap: dict[str, float]) -> pd.DataFrame:
        made = _made_up(0.08)
        pooled = (made.system == "gap") * made.variant.map(gap).fillna(0)
        lost = separates * ((made.system == "vec") & (made["group"] == "O(c)^d"))
        return made.assign(accuracy=0.5 + pooled - lost + 1e-3 * (made.seed * 7 % 3))

    judge = CLAIMS["S0.5"].judge
    assert judge(table(0.1, {"nn+": 0.1, "nn++": 0.02})).verdict == "holds"
    assert judge(table(0.1, {"nn+": 0.02, "nn++": 0.1})).verdict == "fails"
    assert judge(table(-0.1, {"nn+": 0.1, "nn++": 0.02})).verdict == "fails"
    behind = judge(table(0.1, {"nn+": -0.1, "nn++": -0.02}))
    assert behind.verdict == "not shown"
    assert "nothing to close" in behind.note

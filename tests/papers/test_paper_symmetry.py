"""The paper at tiny scale: every part runs, exact claims hold, and each judge can say no."""

from __future__ import annotations

import pandas as pd

from priorscope.papers._symmetry import PAPER, drops

CLAIMS = {claim.id: claim for claim in PAPER.claims}


def test_runs_and_judges() -> None:
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    inside = table.inside.fillna(False).astype(bool)
    kernel = table[table.part == "kernel"]
    assert kernel[inside.loc[kernel.index]].change.max() < 1e-10
    assert kernel[~inside.loc[kernel.index]].change.min() > 1e-4  # 4×4 images of white colours
    assert CLAIMS["S0.1"].judge(table.assign(change=table.change.where(inside, 1.0))).verdict == "holds"
    assert CLAIMS["S0.1"].judge(table.assign(change=1.0)).verdict == "fails"
    assert CLAIMS["S0.2"].judge(table).verdict == "holds"
    assert CLAIMS["S0.3"].judge(table).verdict == "holds"
    assert CLAIMS["S0.3"].judge(table.assign(difference=1e-3)).verdict == "fails"
    lost = drops(table)
    assert {"drop", "above_fcn"} <= set(lost.columns)
    for claim in ("S0.4", "S0.5"):
        assert CLAIMS[claim].judge(table.assign(variant=table.variant.replace({"ntk": "nn++"}))).note
    assert PAPER.chart is not None
    assert PAPER.chart(table).to_dict()


def _made_up(drop: float) -> pd.DataFrame:
    """Accuracies that lose ``drop`` to every group outside the symmetry, with small noise."""
    rows = []
    for point in PAPER.points("small"):
        if point["part"] == "accuracy":
            from priorscope.papers._symmetry_systems import inside

            stays = inside(point["system"], point["group"], point["variant"] == "ntk")
            height = {"fcn": 0.3}.get(point["system"], 0.3 + abs(drop))
            rows.append(
                {**point, "inside": stays, "accuracy": height - (0 if stays else drop) + 1e-4 * len(rows) % 3e-3}
            )
    return pd.DataFrame(rows)


def test_the_judge_of_figure_one_tells_the_three_cases_apart() -> None:
    judge = CLAIMS["S0.4"].judge
    assert judge(_made_up(0.08)).verdict == "holds"
    assert judge(_made_up(-0.08)).verdict == "fails"
    assert judge(_made_up(0.0)).verdict in ("not shown", "fails")

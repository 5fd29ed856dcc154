"""Symmetries, what they cost and interventions at tiny scale: exact claims hold, and each claim can fail."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope.lab import NotMeasured, Paper, Verdict, judge_claim
from priorscope.papers import load
from priorscope.papers.curse_of_dimensionality import _measures
from priorscope.papers.curse_of_dimensionality._measures import drops
from priorscope.papers.curse_of_dimensionality._systems import SIZE_OF, inside

EXACT, ACCURACY, INTERVENTIONS = (load(f"symmetry{part}") for part in ("", "-accuracy", "-interventions"))
CLAIMS = {claim.id: claim for paper in (EXACT, ACCURACY, INTERVENTIONS) for claim in paper.claims}


def judged(claim: str, table: pd.DataFrame) -> Verdict:
    return judge_claim(CLAIMS[claim], table)


def verdicts(claim: str, table: pd.DataFrame) -> dict[str, str]:
    return {check.name: check.verdict for check in judged(claim, table).checks}


def _tiny(paper: Paper) -> pd.DataFrame:
    return pd.DataFrame([{**point, **paper.run(point)} for point in paper.points("tiny")])


def test_theorems_hold_and_can_fail(as_recorded) -> None:
    table = _tiny(EXACT)
    as_recorded(EXACT, table)
    within = table.inside.fillna(False).astype(bool)
    kernel = table[table.part == "kernel"]
    assert kernel[within.loc[kernel.index]].change.max() < 1e-10
    assert kernel[~within.loc[kernel.index]].change.min() > 1e-4  # 4×4 images of white colours
    assert judged("S0.1", table.assign(change=table.change.where(within, 1.0))).verdict == "holds"
    assert judged("S0.1", table.assign(change=1.0)).verdict == "fails"
    assert judged("S0.2", table).verdict == "holds"
    assert judged("S0.3", table).verdict == "holds"
    assert judged("S0.3", table.assign(difference=1e-3)).verdict == "fails"
    assert EXACT.chart is not None
    assert EXACT.chart(table).to_dict()


def test_accuracies_run_and_are_judged(as_recorded) -> None:
    table = _tiny(ACCURACY)
    as_recorded(ACCURACY, table)
    lost = drops(table)
    assert {"drop", "before", "after"} <= set(lost.columns)
    shown = verdicts("S0.4", table)
    assert {shown[name] for name in shown if "CIFAR-10" in name} == {"not shown"}  # tiny has no CIFAR-10
    assert {shown[name] for name in shown if "inside" in name and "synthetic" in name} == {"holds"}
    assert judged("S0.5", table).verdict == "not shown"  # no MixUp here
    assert ACCURACY.chart is not None
    assert ACCURACY.chart(table).to_dict()


def _made_up(step: float, paper: Paper = ACCURACY) -> pd.DataFrame:
    """Accuracies that lose ``step`` for each of the two larger symmetries, whether the system's own or the data's."""
    rows = []
    for point in paper.points("small"):
        if point["part"] == "accuracy":
            infinite = point["variant"] == "ntk"
            own = 3 if point["system"] == "fcn" else 1 + inside(point["system"], "O(c)^d", infinite)
            level = max(own, SIZE_OF[point["group"]])
            stays = inside(point["system"], point["group"], infinite)
            rows.append({**point, "inside": stays, "accuracy": 0.5 - step * level})
    table = pd.DataFrame(rows)
    return table.assign(accuracy=table.accuracy + 0.005 * np.random.default_rng(0).normal(size=len(table)))


def test_figure_one_tells_the_cases_apart() -> None:
    good = _made_up(0.08)
    assert judged("S0.4", good).verdict == "holds"
    assert judged("S0.4", _made_up(-0.08)).verdict == "fails"
    flat = _made_up(0.0)
    assert judged("S0.4", flat).verdict == "not shown"
    flat.loc[flat.data == "local", "accuracy"] = good.accuracy[good.data == "local"]
    half = verdicts("S0.4", flat)
    assert judged("S0.4", flat).verdict == "not shown"  # one set of images decides, the other does not
    assert half["mean drop outside, synthetic images"] == "holds"
    assert half["mean drop outside, CIFAR-10"] == "not shown"
    moved = good.assign(accuracy=good.accuracy.where(good["group"] != "O(c)⊗I", good.accuracy - 0.2))
    assert judged("S0.4", moved).verdict == "fails"  # a loss inside the symmetry
    away = good.assign(accuracy=good.accuracy.where(good["group"] != "O(cd)", good.accuracy - 0.3))
    assert verdicts("S0.4", away)["nearer to the system that has it, CIFAR-10"] == "fails"  # below what FCN has


@pytest.mark.parametrize(
    ("separates", "plain", "mixed", "wanted"),
    [
        (0.1, 0.1, 0.02, ("holds", "holds")),
        (0.1, 0.02, 0.1, ("holds", "fails")),
        (-0.1, 0.1, 0.02, ("fails", "holds")),
        (0.1, -0.1, -0.02, ("holds", "not shown")),
    ],
)
def test_interventions_tell_the_cases_apart(
    separates: float, plain: float, mixed: float, wanted: tuple[str, str]
) -> None:
    made = _made_up(0.08, INTERVENTIONS)
    pooled = (made.system == "gap") * made.variant.map({"nn+": plain, "nn++": mixed}).fillna(0)
    lost = separates * ((made.system == "vec") & (made["group"] == "O(c)^d"))
    table = made.assign(accuracy=0.5 + pooled - lost + 1e-3 * (made.seed * (1 + pooled) * 7 % 3))
    found = verdicts("S0.5", table) | verdicts("S0.5b", table)
    for images in ("CIFAR-10", "synthetic images"):
        assert found[f"separation, {images}"] == wanted[0]
        assert found[f"GAP ahead, {images}"] == ("fails" if plain < 0 else "holds")
    assert found["closing, synthetic images"] == wanted[1]
    if plain < 0:
        assert "nothing to close" in judged("S0.5b", table).note


def test_changes_inside_and_outside_are_the_worst_of_their_cells() -> None:
    rotation = next(iter(_measures.ROTATIONS))
    rows = [
        {"part": "kernel", "group": rotation, "inside": inside, "change": change}
        for inside, change in ((True, 1e-9), (True, 1e-7), (True, 1e-8), (False, 0.5), (False, 0.2), (False, 0.9))
    ]
    rows += [{"part": "kernel", "group": "no rotation", "inside": True, "change": 5.0}]
    rows += [{"part": "inclusion", "difference": d} for d in (1e-12, 3e-11, 2e-12)]
    table = pd.DataFrame(rows)
    assert _measures.changes(table, "kernel", True).interval.value == 1e-7
    assert _measures.changes(table, "kernel", False).interval.value == 0.2
    assert _measures.inclusion(table).interval.value == 3e-11
    with pytest.raises(NotMeasured):
        _measures.changes(table[:3], "kernel", False)
    with pytest.raises(NotMeasured):
        _measures.changes(table, "network", True)


def test_the_largest_change_is_in_units_of_the_noise_of_its_cell() -> None:
    """Two systems and two draws; a cell is a mean over draws, its noise that of two accuracies of n_test coin flips."""
    rows = []
    for system, losses, n_test in (("fcn", (0.02, -0.01), 100), ("lcn", (-0.04, -0.02), 400)):
        for seed, loss in enumerate(losses):
            point = {
                "part": "accuracy",
                "data": "local",
                "n": 64,
                "variant": "nn",
                "seed": seed,
                "system": system,
                "n_test": n_test,
            }
            rows.append({**point, "group": "identity", "inside": True, "accuracy": 0.8})
            rows.append({**point, "group": "P(c)⊗I", "inside": True, "accuracy": 0.8 - loss})
    found = _measures.largest_change_inside(pd.DataFrame(rows), "local")
    assert found.interval.value == pytest.approx(0.03 / (0.5 / 400) ** 0.5)
    assert "largest change 0.030" in found.note

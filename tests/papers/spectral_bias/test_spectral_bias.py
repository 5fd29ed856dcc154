"""The paper at tiny scale: it runs, its sure claims hold, and every claim can come out otherwise."""

from __future__ import annotations

import numpy as np
import pandas as pd

from priorscope.lab import judge_claim
from priorscope.papers.spectral_bias._spectral_bias import PAPER


def test_runs_and_judges(as_recorded) -> None:
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    as_recorded(PAPER, table)
    claims = {claim.id: claim for claim in PAPER.claims}
    assert list(claims) == ["S2.1", "S2.2", "S2.3", "S2.4", "S2.5", "S2.6", "S2.8", "S2.9"]
    verdict = lambda name, t: judge_claim(claims[name], t).verdict  # noqa: E731
    for name in ("S2.1", "S2.3", "S2.8", "S2.9"):
        assert verdict(name, table) == "holds", name
    assert verdict("S2.1", table.assign(off_train_error=0.5)) == "fails"
    assert verdict("S2.3", table.assign(worst_ratio=2.0)) == "fails"
    assert verdict("S2.8", table.assign(rate=0.5)) == "fails"
    assert verdict("S2.8", table.assign(kernel_decay=5.0)) == "fails"  # the laws of all targets change with it
    assert verdict("S2.9", table.assign(output=1e-3)) == "fails"
    assert verdict("S2.9", table.assign(kernel_error=1e-3)) == "fails"
    noise = 1 + 0.01 * (table.seed % 2)
    assert verdict("S2.5", table.assign(distance=noise * table.width**-0.5)) == "holds"
    assert verdict("S2.5", table.assign(distance=noise * table.width**-1.0)) == "fails"
    one_off = table.width ** np.where(table.network == "conv", -1.0, -0.5)
    found = judge_claim(claims["S2.5"], table.assign(distance=noise * one_off))
    assert [check.verdict for check in found.checks] == ["holds", "fails", "holds"]
    times, rates = np.linspace(0, 1, 41), np.array([8.0, 8, 4, 2, 2, 1, 1])
    ideal, amounts = np.exp(-np.outer(times, rates)), np.array([1.0, 1, 2, 3, 3, 4, 4])
    for told, late, wanted in (
        (amounts, amounts, "holds"),
        (amounts[::-1], amounts, "fails"),
        (amounts, amounts[::-1], "holds"),
    ):
        off = np.where(times[:, None] <= 1.05 / rates, told, late)  # what comes after a space's own time says nothing
        paths = [ideal + part * np.sqrt(off) for part in noise]
        curves = {"times": [times] * len(table), "ideal": [ideal] * len(table), "projections": paths}
        assert verdict("S2.4", table.assign(mode_deviation=[late] * len(table), **curves)) == wanted
    assert verdict("S2.6", table.assign(total_deviation=noise / table.width)) == "holds"
    assert verdict("S2.6", table.assign(total_deviation=noise * table.width)) == "fails"
    about = (1.05, "holds with changes")  # within the tolerance, and one is excluded
    for ratio, wanted in ((1.0, "holds"), about, (1.3, "fails"), (1.1, "not shown"), (np.nan, "not shown")):
        rates = [np.full(7, ratio) + 0.002 * (part - 1.005) for part in noise]
        assert verdict("S2.2", table.assign(rate_ratios=rates)) == wanted, ratio
    assert PAPER.chart is not None
    assert "hconcat" in PAPER.chart(table).to_dict()

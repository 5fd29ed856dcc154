"""The paper at tiny scale: it runs, its sure claims hold, and every judge can say otherwise."""

from __future__ import annotations

import numpy as np
import pandas as pd

from priorscope.papers.spectral_bias._spectral_bias import PAPER


def test_runs_and_judges() -> None:
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    claims = {claim.id: claim for claim in PAPER.claims}
    assert list(claims) == ["S2.1", "S2.2", "S2.3", "S2.4", "S2.5", "S2.6", "S2.8", "S2.9"]
    verdicts = {name: claim.judge(table) for name, claim in claims.items()}
    for name in ("S2.1", "S2.3", "S2.8", "S2.9"):
        assert verdicts[name].verdict == "holds", verdicts[name]
    assert claims["S2.1"].judge(table.assign(off_train_error=0.5)).verdict == "fails"
    assert claims["S2.3"].judge(table.assign(worst_ratio=2.0, epsilon=1.0)).verdict == "fails"
    assert claims["S2.8"].judge(table.assign(rate=0.5)).verdict == "fails"
    assert claims["S2.9"].judge(table.assign(output=1e-3)).verdict == "fails"
    halves = table.assign(distance=table.width**-0.5)
    assert claims["S2.5"].judge(halves).verdict == "holds"
    assert claims["S2.5"].judge(table.assign(distance=table.width**-1.0)).verdict == "fails"
    rising = [np.array([1.0, 1, 2, 3, 3, 4, 4])] * len(table)
    grown = table.assign(mode_deviation=rising, early_mode_deviation=rising)
    assert claims["S2.4"].judge(grown).verdict == "holds"
    falling = table.assign(mode_deviation=[r[::-1] for r in rising], early_mode_deviation=rising)
    assert claims["S2.4"].judge(falling).verdict == "fails"
    assert claims["S2.6"].judge(table.assign(total_deviation=1 / table.width)).verdict == "holds"
    assert claims["S2.6"].judge(table.assign(total_deviation=1.0 * table.width)).verdict == "fails"
    assert claims["S2.2"].judge(table.assign(rate_ratios=[np.full(7, 1.05)] * len(table))).verdict == "holds"
    assert claims["S2.2"].judge(table.assign(rate_ratios=[np.full(7, 1.3)] * len(table))).verdict == "fails"
    assert PAPER.chart is not None
    assert "hconcat" in PAPER.chart(table).to_dict()

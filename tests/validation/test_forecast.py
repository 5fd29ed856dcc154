"""The paper at its smallest size: every claim gets a verdict from measured numbers, and a wrong forecast fails."""

from __future__ import annotations

import pandas as pd

from priorscope.validation._forecast import PAPER


def test_tiny_run_is_judged_and_a_wrong_forecast_fails() -> None:
    points = [p for p in PAPER.points("tiny") if p["arch"] != "vec"]
    table = pd.DataFrame([{**p, **PAPER.run(p)} for p in points])
    verdicts = {claim.id: claim.judge(table) for claim in PAPER.claims}
    assert set(verdicts) == {"F.1", "F.2", "F.3"}
    assert all(v.verdict in ("holds", "fails") for v in verdicts.values())
    assert all(float(v.measured) < 0.6 for i, v in verdicts.items() if i != "F.3")  # not far off even at pilot 60
    assert PAPER.chart(table).to_dict()
    wrong = {name: 1.0 for name in table if name.startswith("relative_")}
    spoilt = table.assign(**wrong, **{name: 0.0 for name in table if name.startswith("covered_")})
    assert [claim.judge(spoilt).verdict for claim in PAPER.claims] == ["fails"] * 3

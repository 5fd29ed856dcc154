"""The paper at its smallest size: every claim gets a verdict from measured numbers, and a wrong forecast fails."""

from __future__ import annotations

import pandas as pd

from priorscope.validation.forecasts._forecast import MULTIPLES, N_PILOTS, PAPER

FORECASTS = [(m, k) for m in MULTIPLES for k in range(N_PILOTS)]


def test_tiny_run_is_judged_and_a_wrong_forecast_fails() -> None:
    points = [p for p in PAPER.points("tiny") if p["arch"] != "vec"]
    table = pd.DataFrame([{**p, **PAPER.run(p)} for p in points])
    verdicts = {claim.id: claim.judge(table) for claim in PAPER.claims}
    assert set(verdicts) == {"F.1", "F.2", "F.3"}
    assert [v.verdict for v in verdicts.values()] == ["not shown"] * 3  # two tasks bound nothing
    assert all(float(v.measured) < 0.6 for i, v in verdicts.items() if i != "F.3")  # not far off even at pilot 60
    assert PAPER.chart(table).to_dict()


def test_the_tasks_decide_and_their_forecasts_are_not_counted_one_by_one() -> None:
    def verdicts(error: float, covered: float, tasks: int) -> list[str]:
        rows = [
            {"kind": kind, "task": f"t{i}", "arch": "fcn"}
            | {
                f"{name}_{m}_{k}": value
                for name, value in (("relative", error), ("covered", covered))
                for m, k in FORECASTS
            }
            for kind in ("synthetic", "real")
            for i in range(tasks)
        ]
        rows[0] |= {f"covered_{m}_{k}": 0.9 for m, k in FORECASTS}  # so that tasks differ
        return [claim.judge(pd.DataFrame(rows)).verdict for claim in PAPER.claims]

    assert verdicts(0.04, 1.0, tasks=9) == ["holds"] * 3
    assert verdicts(0.07, 0.95, tasks=9) == ["fails", "holds", "holds"]
    assert verdicts(0.2, 0.0, tasks=9) == ["fails"] * 3
    assert verdicts(0.2, 0.0, tasks=5)[:2] == ["not shown"] * 2  # five tasks, though forty-five forecasts

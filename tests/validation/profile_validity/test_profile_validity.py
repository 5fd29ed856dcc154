"""What a profile says against what every predictor did: measures by hand, problems apart, a run at the smallest scale."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope.lab import NotMeasured
from priorscope.validation.profile_validity import _validity_measures as measures
from priorscope.validation.profile_validity._problems import entries
from priorscope.validation.profile_validity._profile_validity import PAPER, TIMES, grid

RESERVED = {"penbased", "splice", "satimage", "letter", "spambase", "coil2000"}


def table(count: int = 12, **changes: object) -> pd.DataFrame:
    """Equal problems: a first row, a kernel machine that is worse, a classical model that is best by a twentieth."""
    one = {
        "problem": "made", "times": 4, "rows": ["a", "b", "c"], "kinds": ["network", "kernel machine", "classical model"],
        "estimate": [0.20, 0.30, 0.20], "low": [0.15, 0.25, 0.17], "high": [0.25, 0.35, 0.23], "worse": [False, True, False],
        "measured_at": [100, 100, 100], "given": 100, "learns": True, "guess": 0.5, "metric": "error", "tested": 1000,
        "first_half": [0.21, 0.40, 0.20], "second_half": [0.21, 0.40, 0.20], "error": [0.21, 0.40, 0.20],
        "cross-validation": "c", "boosting": "b",
    }  # fmt: skip
    return pd.DataFrame([{**one, **changes}] * count)


def test_excess_is_over_the_best_named_on_the_other_half() -> None:
    row = table().iloc[0]
    half = 0.5 / 500
    assert measures.excess(row, 0) == pytest.approx((0.21 + half) / (0.20 + half))
    lucky = table(first_half=[0.21, 0.40, 0.10], second_half=[0.21, 0.40, 0.30]).iloc[0]
    expected = np.sqrt((0.21 + half) / (0.30 + half) * (0.21 + half) / (0.21 + half))
    assert measures.excess(lucky, 0) == pytest.approx(expected)  # named best on one half, it is not on the other


def test_picks_headline_and_those_called_worse() -> None:
    assert measures.right_picks(table()).interval.value == 1
    assert measures.right_picks(table(first_half=[0.3, 0.4, 0.2], second_half=[0.3, 0.4, 0.2])).interval.value == 0
    assert measures.excess_of_pick(table()).interval.value == pytest.approx(0.0498, abs=1e-3)
    assert measures.headline(table()).interval.value == pytest.approx(0.20 / 0.21, abs=1e-6)
    assert measures.called_worse(table(24)).interval.value == 1
    assert measures.called_worse(table(24, error=[0.41, 0.40, 0.20])).interval.value == 0
    assert measures.far_behind(table(24)).interval.value == 1
    assert measures.far_behind(table(24, worse=[False, False, False])).interval.value == 0
    assert measures.picks_against("cross-validation")(table()).interval.value == 0
    assert measures.picks_against("boosting")(table()).interval.value == 1
    with pytest.raises(NotMeasured, match="12 are wanted"):
        measures.right_picks(table(5))


def test_coverage_allows_for_the_test_rows_alone() -> None:
    assert measures.coverage("network")(table()).interval.value == 1
    assert measures.coverage("kernel machine")(table()).interval.value == 0  # 0.40 beside 0.25 to 0.35
    assert measures.coverage("kernel machine")(table(tested=50)).interval.value == 1  # 50 rows cannot tell


def test_errors_of_forecasts_and_false_words() -> None:
    found = measures.log_error(4)(table()).interval.value
    assert found == pytest.approx(np.median([np.log(0.21 / 0.20), np.log(0.40 / 0.30), 0.0]))
    with pytest.raises(NotMeasured):
        measures.log_error(10)(table())
    assert measures.nothing_seen(table()).interval.value == 0
    assert measures.nothing_seen(table(learns=False)).interval.value == 12
    assert measures.nothing_seen(table(learns=False, guess=0.211)).interval.value == 0


def test_problems_are_many_and_none_is_reserved() -> None:
    listed = entries()
    assert len(listed) >= 60
    assert sum(e.task == "regression" for e in listed.values()) >= len(listed) / 3
    assert not RESERVED & {e.table for e in listed.values()}
    points = grid("small")
    assert all(sum(p["times"] == times for p in points) >= 15 for times in TIMES)


def test_a_run_at_the_smallest_scale() -> None:
    point = {**PAPER.points("tiny")[0], "budget": 1.0}
    found = PAPER.run(point)
    assert (found["asked"], found["given"]) == (300, 150)
    assert len(found["error"]) == len(found["rows"]) == len(found["first_half"])
    assert np.isfinite(found["error"]).all()
    judged = [claim.judge(pd.DataFrame([{**point, **found}])).verdict for claim in PAPER.claims]
    assert set(judged) <= {"not shown"}
    assert PAPER.chart is not None
    assert PAPER.chart(pd.DataFrame([{**point, **found}])).to_dict()

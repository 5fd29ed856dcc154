"""The judges of forecasts: on made-up tables of curves for which what they measure is known by construction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope.validation.curves import _curve_forecasts as judge
from priorscope.validation.curves._curve_bank import PAPER as BANK
from priorscope.validation.curves._curve_bank import rises
from priorscope.validation.curves._measure import measure, sizes_of
from priorscope.validation.curves._problems import BANK as PROBLEMS
from priorscope.validation.curves._problems import JUDGED

SIZES = [64, 128, 256, 512, 1024, 2048, 4096]


def table(problems=5, bend=0.0, tests=2000):
    """Four predictors per problem along c + a n^-alpha, with counting noise on rows of their own; ``bend``: a rise at the end."""
    rng, rows = np.random.default_rng(0), []
    for problem in range(problems):
        for j, (c, alpha) in enumerate([(0.05, 0.5), (0.06, 0.5), (0.2, 0.7), (0.3, 0.3)]):
            true = c + 0.25 * (np.array(SIZES) / 64) ** -alpha
            true[-1] *= 1 + bend
            hard = rng.uniform(
                size=tests
            )  # a row is wrong where its number lies below the error: luck of rows is shared
            errors = {f"e{n}": float((hard < e).mean()) for n, e in zip(SIZES, true, strict=True)}
            rows.append(
                {"problem": str(problem), "seed": 0, "predictor": str(j), "kind": "tree", "task": "classification"}
                | {"tests": tests, **errors}
            )
    return pd.DataFrame(rows)


def test_falling_curves_do_not_rise_and_a_bend_is_seen():
    assert rises(table()).value == 0
    assert rises(table(bend=0.5)).value == pytest.approx(1 / 6)  # the last of six doublings


def test_forecasts_of_curves_of_the_form_hold_and_of_others_do_not():
    good = table()
    assert judge.off(good).value < 0.08
    assert judge.coverage(good).value > 0.9
    assert 1 < judge.width(good).value < 2
    assert judge.wrongly_out(good).value <= 0.05
    broken = good.assign(e4096=3 * good["e4096"], e2048=3 * good["e2048"], e1024=3 * good["e1024"])
    assert judge.off(broken).value > 0.8
    assert judge.coverage(broken).value < 0.1


def test_a_fit_with_floor_gives_back_its_law():
    law = lambda n: 0.1 + 0.4 * (n / 64) ** -0.5  # noqa: E731
    assert judge.with_floor([64, 128, 256, 512], [law(n) for n in (64, 128, 256, 512)], 4096) == pytest.approx(
        law(4096), rel=0.02
    )


def test_no_problem_of_the_bank_is_judged():
    assert not set(PROBLEMS) & set(JUDGED)
    assert {p["problem"] for p in BANK.points("small")} == set(PROBLEMS)


def test_a_measured_curve_is_that_of_scikit_learn():
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from priorscope.validation.curves._problems import rows_of

    found = measure({"problem": "digits", "predictor": "neighbours", "largest": 256, "seed": 0})
    x, y, _ = rows_of("digits", 0)
    flat, tests = x.reshape(len(x), -1), found["tests"]
    model = make_pipeline(StandardScaler(), KNeighborsClassifier()).fit(
        flat[tests : tests + 128], y[tests : tests + 128]
    )
    assert found["e128"] == pytest.approx((model.predict(flat[:tests]) != y[:tests]).mean())
    assert sizes_of(found) == [64, 128, 256]

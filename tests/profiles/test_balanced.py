"""A profile of unbalanced classes: Gaussian classes whose best balanced error is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

import priorscope as ps
from priorscope.judge import Metric
from priorscope.profiles import Profile
from priorscope.sklearn import BalancedDecision

APART = 2.0  # between the means, along the first of three inputs
BEST = float(norm.cdf(-APART / 2))  # halfway between the means: 15.9 %
BEYOND = APART / 2 + np.log(15) / APART  # where the rare class becomes the likelier one
LARGEST = float(norm.cdf(-BEYOND) + norm.cdf(BEYOND - APART)) / 2  # 32.2 %


def _drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 16 == 0).astype(int)
    x = rng.normal(size=(n, 3))
    x[:, 0] += APART * y
    return x, np.where(y == 1, "rare", "common")


X, Y = _drawn(480, 0)
NEW, TRUE = _drawn(8000, 1)


@pytest.fixture(scope="module")
def found() -> Profile:
    return ps.profile(
        X, Y, deep=False, budget=25, level=0.99, candidates=["fcn-1", "linear"], models=[LogisticRegression()]
    )


def test_the_metric_is_chosen_and_told_and_what_is_built_decides_by_it(found: Profile) -> None:
    assert found.metric is Metric.BALANCED_ERROR
    assert found.baseline.value == 0.5
    assert any("rare" in line and "balanced" in line for line in found.verdict()[:3])
    for row in found.rows:
        model = found.estimator(row.name).fit(X, Y)
        assert isinstance(model, BalancedDecision)
        error = 1 - float(balanced_accuracy_score(TRUE, model.predict(NEW)))
        assert BEST - 0.03 < error < LARGEST - 0.05  # the largest probability alone would be 32 % wrong
        assert row.estimate.low - 0.02 < error < row.estimate.high + 0.02


def test_two_positives_in_a_thousand_rows_are_answered() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1002, 3)), np.zeros(1002, dtype=int)
    y[[10, 700]] = 1
    found = ps.profile(x, y, deep=False, budget=25, candidates=["linear", "fcn-1"])
    assert found.learns is not True
    assert "constant" not in " ".join(found.verdict())

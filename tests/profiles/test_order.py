"""The order of the rows is that of their estimates, and what training will cost is told at the size asked about."""

import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

import priorscope as ps


class Slow(RegressorMixin, BaseEstimator):
    """Least squares that takes at least 20 ms of processor time."""

    def fit(self, X, y):
        began = time.process_time()
        while time.process_time() - began < 0.02:
            pass
        self.inner_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.inner_.predict(X)


class Mean(RegressorMixin, BaseEstimator):
    """Looks at no input."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X @ np.array([1.0, -2.0]) + 0.1 * rng.normal(size=80)
    own = [Mean(), Slow()]
    return ps.profile(X, y, candidates=own, to=2000, pilot=80, deep=False, trials=False, classical=False)


def test_least_squares_leads_on_linear_data_and_the_mean_comes_last(found):
    assert [row.name for row in found.rows] == ["Slow", "Mean"]
    values = [row.estimate.value for row in found.rows]
    assert values[0] < 0.1 < 0.9 < values[1]


def test_the_seconds_to_train_are_those_at_the_size_asked_about(found):
    """A fit on at most 80 samples takes 20 ms or more; on 2,000, in proportion, half a second or more."""
    slow, mean = (next(row for row in found.rows if row.name == name) for name in ("Slow", "Mean"))
    assert slow.cost >= 0.02 * 2000 / 80
    assert mean.cost < slow.cost / 2

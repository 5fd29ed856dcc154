"""A profile of unbalanced classes: Gaussian classes whose best balanced error is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.svm import SVC

import priorscope as ps
from priorscope.profiles import Metric, Profile
from priorscope.profiles._build import chosen_rows
from priorscope.profiles._classical import measure_estimator, references
from priorscope.profiles._design import Design
from priorscope.profiles._held_out import Truth, sample_losses
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


X, Y = _drawn(240, 0)
NEW, TRUE = _drawn(8000, 1)


@pytest.fixture(scope="module")
def found() -> Profile:
    """With 99 % intervals: of 90 % ones every tenth would miss."""
    models = [ps.models.fcn(1), LogisticRegression(), SVC()]
    return ps.profile(X, Y, pilot=240, deep=False, trials=False, level=0.99, candidates=models)


def _error(model: object) -> float:
    return 1 - float(balanced_accuracy_score(TRUE, model.predict(NEW)))  # type: ignore[attr-defined]


def test_the_first_row_learns_and_what_is_built_does_as_forecast(found: Profile) -> None:
    assert found.metric is Metric.BALANCED_ERROR
    assert found.baseline.value == 0.5
    row = found.best
    assert row.learns
    assert row.now[1].value < 0.3
    assert row.estimate.high < 0.5
    for other in found.rows[:2]:
        error = _error(found.estimator(other.name).fit(X, Y))
        assert BEST - 0.03 < error < 0.3
        assert other.estimate.low < error < other.estimate.high
    assert _error(found.build().fit(X, Y)) < 0.3
    plain = found.estimator(row.name).estimator.fit(X, Y)
    assert _error(plain) > LARGEST - 0.05 > BEST + 0.1  # the largest output alone does not get there


def test_margins_without_weights_are_measured_as_they_predict(found: Profile) -> None:
    """The user's own SVC takes most rare samples for common ones, and is measured as it predicts."""
    own = next(row for row in found.rows if row.name == "SVC")
    error = _error(SVC().fit(X, Y))
    assert own.estimate.low < error < own.estimate.high
    assert own.now[1].value > found.best.now[1].value + 0.1
    assert _error(found.estimator("SVC").fit(X, Y)) == error > 0.3
    labels = (Y == "rare").astype(int)
    truth, design = Truth(2.0 * labels[:, None] - 1, labels), Design.of(240, draws=1, labels=labels)
    held = measure_estimator([SVC()], X, design, truth, Metric.BALANCED_ERROR).held
    losses = sample_losses(Metric.BALANCED_ERROR, list(held.scores), list(held.parts), truth, held.probable)
    for part, loss in zip(held.parts, losses, strict=True):
        guess = SVC().fit(X[part.train], labels[part.train]).predict(X[part.test])
        assert loss.tolist() == (guess != labels[part.test]).tolist()
    weighs = {m: references(2, 1, m)[1].settings[0].class_weight for m in (Metric.BALANCED_ERROR, Metric.AUC)}
    assert weighs == {Metric.BALANCED_ERROR: "balanced", Metric.AUC: None}


def test_the_code_builds_what_was_measured(found: Profile) -> None:
    for kind in ("kernel", "classical"):
        text = found.code(kind)
        assert "ps.sklearn.BalancedDecision(" in text
        names: dict[str, object] = {"X": X, "y": Y, "X_new": NEW, "your_model": ps.models.fcn(1)}
        exec(text, names)
        model = names["model"]
        row = chosen_rows(found, kind)[0]
        assert _error(model) == pytest.approx(_error(found.estimator(row.name).fit(X, Y)), abs=0.02)
    assert isinstance(found.estimator(found.best.name), BalancedDecision)
    by_error = ps.profile(
        X, Y, pilot=240, deep=False, trials=False, candidates=[LogisticRegression()], metric="misclassification"
    )
    assert "BalancedDecision" not in by_error.code()

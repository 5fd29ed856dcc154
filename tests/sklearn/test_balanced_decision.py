"""Decisions by which every class counts alike: Gaussian classes whose best rule is known, and division by hand."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from priorscope.sklearn import BalancedDecision, KernelMachine, Shortlist, TrainedNetwork, balanced_classes
from priorscope.sklearn._folds import folds_of

APART = 2.0  # between the means of two classes of unit variance, one sample in twenty of the second


def _two_classes(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 20 == 0).astype(int)
    return rng.normal(size=(n, 1)) + APART * y[:, None], y


def _error(threshold: float) -> float:
    """Balanced error of calling everything beyond the threshold the rare class, in closed form."""
    return float(norm.cdf(-threshold) + norm.cdf(threshold - APART)) / 2


X, Y = _two_classes(1200, 0)
NEW, TRUE = _two_classes(8000, 1)
NOISE = np.sqrt(0.25 / 400 + 0.25 / 7600) / 2  # standard error of a balanced error on the new samples, at most


@parametrize_with_checks([BalancedDecision(LogisticRegression())])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "inner",
    [
        LogisticRegression(),
        KernelMachine("fcn-1", kind="ntk"),
        make_pipeline(StandardScaler(), KernelMachine("gaussian", kind="ntk")),
        TrainedNetwork("fcn-1", width=64, epochs=10, learning_rate=0.02),
    ],
    ids=["logistic", "kernel", "pipeline", "network"],
)
def test_the_error_is_that_of_the_best_rule_halfway_between_the_means(inner):
    best = _error(APART / 2)  # Φ(-1): where densities are equal
    largest = _error(APART / 2 + np.log(19) / APART)  # where 19 to 1 times the densities are equal
    assert (best, largest) == pytest.approx((0.1587, 0.3439), abs=1e-3)
    model = BalancedDecision(clone(inner)).fit(X, Y)
    assert model.shares_.tolist() == [0.95, 0.05]
    found = 1 - balanced_accuracy_score(TRUE, model.predict(NEW))
    plain = 1 - balanced_accuracy_score(TRUE, clone(inner).fit(X, Y).predict(NEW))
    assert best - 5 * NOISE < found < best + 5 * NOISE + 0.02  # a threshold wrong by 0.4 adds 0.02
    assert plain > largest - 5 * NOISE - 0.05 > found + 0.05  # the largest output alone does not get there


def test_it_is_division_by_hand():
    rng = np.random.default_rng(2)
    y = np.repeat(["c", "a", "b"], [70, 20, 10])
    x = rng.normal(size=(100, 2)) + (y[:, None] == ["a", "b"])
    forest = ExtraTreesClassifier(20, random_state=0, max_depth=3)
    model = BalancedDecision(forest).fit(x, y)
    p = clone(forest).fit(x, y).predict_proba(x)
    by_hand = np.array(["a", "b", "c"])[(p / [0.2, 0.1, 0.7]).argmax(1)]
    assert (model.predict(x) == by_hand).all()
    assert (by_hand != np.array(["a", "b", "c"])[p.argmax(1)]).any()
    np.testing.assert_array_equal(model.predict_proba(x), p)  # the probabilities stay what they are
    machine = KernelMachine("fcn-1", kind="ntk").fit(x, y)
    again = BalancedDecision(KernelMachine("fcn-1", kind="ntk")).fit(x, y)
    np.testing.assert_array_equal(again.decision_function(x), machine.decision_function(x))
    np.testing.assert_allclose(
        again.posterior(x), machine.decision_function(x)
    )  # outputs for one-hot targets, not a softmax
    assert (again.predict(x) == machine.classes_[(machine.decision_function(x) / [0.2, 0.1, 0.7]).argmax(1)]).all()


@pytest.mark.parametrize(
    "inner",
    [SVC(), SVC(class_weight="balanced"), RidgeClassifier(), LogisticRegression(class_weight="balanced")]
    + [KernelMachine("fcn-1", kind="ntk", class_weight="balanced"), KernelMachine("fcn-1", kind="ntk", head="svm")]
    + [make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))],
)
def test_margins_and_weighted_classes_keep_their_own_decision(inner):
    some = slice(0, 400)
    plain, model = clone(inner).fit(X[some], Y[some]), BalancedDecision(inner).fit(X[some], Y[some])
    assert (model.predict(NEW[:2000]) == plain.predict(NEW[:2000])).all()
    p = model.posterior(NEW[:2000])
    np.testing.assert_allclose(p.sum(1), 1.0)
    assert (model.classes_[(p / model.shares_).argmax(1)] == plain.predict(NEW[:2000])).all()


def test_what_the_inner_estimator_does_not_have_is_not_there():
    assert not hasattr(BalancedDecision(SVC()), "predict_proba")
    assert not hasattr(BalancedDecision(KNeighborsClassifier()), "decision_function")
    with pytest.raises(ValueError, match="requires y"):
        BalancedDecision(LogisticRegression()).fit(X, None)


def test_a_class_without_a_share_never_wins_and_equal_shares_change_nothing():
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    assert (balanced_classes(p, np.full(3, 0.2)) == p.argmax(1)).all()
    assert set(balanced_classes(p, np.array([0.5, 0.0, 0.5]))) == {0, 2}
    assert (balanced_classes(p, np.array([2.0, 1.0, 1.0])) == (p / [0.5, 0.25, 0.25]).argmax(1)).all()


def test_a_machine_that_chooses_by_balanced_error_predicts_by_it(tmp_path):
    machine = KernelMachine("fcn-1", kind="ntk", metric="balanced").fit(X, Y)
    found = 1 - balanced_accuracy_score(TRUE, machine.predict(NEW))
    assert found < _error(APART / 2) + 5 * NOISE + 0.02
    assert machine.report_.chosen.score == pytest.approx(found, abs=5 * np.sqrt(0.25 / 60) / 2)  # left-out rows said so
    f = machine._function(NEW)
    assert (machine.predict(NEW) == (f / [0.95, 0.05]).argmax(1)).all()
    again = KernelMachine.load(machine.save(tmp_path / "machine.npz"))
    assert (again.predict(NEW) == machine.predict(NEW)).all()
    weighted = KernelMachine("fcn-1", kind="ntk", metric="balanced", class_weight="balanced").fit(X, Y)
    assert weighted.class_shares_ == pytest.approx([0.5, 0.5])  # of the weights: nothing is divided twice
    assert 1 - balanced_accuracy_score(TRUE, weighted.predict(NEW)) < _error(APART / 2) + 5 * NOISE + 0.02


def test_a_shortlist_measures_and_predicts_by_one_rule():
    members = [
        ("kernel", KernelMachine("fcn-1", kind="ntk")),
        ("linear", LogisticRegression()),
        ("svm", SVC(class_weight="balanced")),
    ]
    model = Shortlist(members, metric="balanced").fit(X, Y)
    noise = np.sqrt(0.25 / 60) / 2  # of 60 rare rows
    for contender in model.report_.contenders:
        assert contender.score == pytest.approx(_error(APART / 2), abs=4 * noise)
        assert contender.score < 0.3
    assert {c.name: c.how for c in model.report_.contenders}["kernel"] == "closed form"
    assert 1 - balanced_accuracy_score(TRUE, model.predict(NEW)) < _error(APART / 2) + 5 * NOISE + 0.02
    plain = Shortlist(members[:2], metric="error").fit(X, Y)
    assert 1 - balanced_accuracy_score(TRUE, plain.predict(NEW)) > 0.3


def test_left_out_errors_of_a_shortlist_are_those_of_its_members_fitted_without_each_fold():
    """Every fold has one rare row in twenty, as all rows have, so that both divide by the same shares."""
    members = [("linear", LogisticRegression()), ("svm", SVC(class_weight="balanced")), ("ridge", RidgeClassifier())]
    model = Shortlist(members, metric="balanced").fit(X, Y)
    scores = {c.name: c.score for c in model.report_.contenders}
    for name, member in members:
        guess = np.empty_like(Y)
        for left in folds_of(Y, 5, True, 0):
            rest = np.setdiff1d(np.arange(len(Y)), left)
            fitted = clone(member).fit(X[rest], Y[rest])
            own = name != "linear"
            guess[left] = fitted.predict(X[left]) if own else fitted.predict_proba(X[left])[:, 1] > 0.05
        assert scores[name] == pytest.approx(1 - balanced_accuracy_score(Y, guess)), name
    assert model.report_.chosen != "ridge"
    alone = Shortlist(members[:1], metric="balanced").fit(X, Y)
    assert (alone.predict(NEW) == (alone.predict_proba(NEW)[:, 1] > 0.05)).all()

"""Members that cannot be told apart answer together: by hand, and against averaging their predictions outside."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVC

import priorscope as ps
from priorscope.sklearn._averaged import averaged_scores, not_told_apart
from priorscope.sklearn._loss import Problem
from priorscope.sklearn._shortlist import Shortlist


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.4 * rng.normal(size=160)


def test_numbers_are_the_mean_of_the_members_fitted_to_all_rows(numbers):
    X, y = numbers
    members = [("a", Ridge(1.0)), ("b", Ridge(1.2)), ("far", Ridge(1e6))]
    model = Shortlist(members).fit(X[:120], y[:120])
    assert model.report_.chosen == "the average of a and b" or model.report_.chosen == "the average of b and a"
    alone = [e.fit(X[:120], y[:120]).predict(X[120:]) for _, e in members[:2]]
    np.testing.assert_allclose(model.predict(X[120:]), np.mean(alone, 0))
    assert str(model.report_).count("Each alone: ") == 1
    assert [c.how for c in model.report_.contenders] == ["averaged", *["refitted"] * 3]


def test_kernel_machines_take_part_in_their_closed_form(numbers):
    X, y = numbers
    members = [
        ("machine", ps.KernelMachine("fcn-1", ridge=0.1)),
        ("near", KNeighborsRegressor(12)),
        ("far", Ridge(1e6)),
    ]
    model = Shortlist(members).fit(X[:120], y[:120])
    names = {name for name, _ in members if f" {name}" in model.report_.chosen.replace(",", "")}
    if len(names) > 1:
        alone = [e.fit(X[:120], y[:120]).predict(X[120:]) for n, e in members if n in names]
        np.testing.assert_allclose(model.predict(X[120:]), np.mean(alone, 0), rtol=1e-6)
    assert "far" not in names


def test_one_that_is_clearly_better_stands_alone(numbers):
    X, _ = numbers
    y = X @ [1.0, 2.0, 3.0]
    model = Shortlist([("far", KNeighborsRegressor(30)), ("exact", Ridge(1e-8))]).fit(X, y)
    assert model.report_.chosen == "exact"
    both = Shortlist([("a", Ridge(1.0)), ("b", Ridge(1.2))], average=1).fit(X, y)
    assert both.report_.chosen in ("a", "b")


def test_classes_by_mean_probabilities(numbers):
    X, y = numbers
    labels = np.where(y > 0, "up", "down")
    members = [("linear", LogisticRegression()), ("margins", SVC(kernel="linear")), ("weak", LogisticRegression(C=0.3))]
    model = Shortlist(members).fit(X[:120], labels[:120])
    assert model.report_.chosen.startswith("the average of ")
    p = model.predict_proba(X[120:])
    np.testing.assert_allclose(p.sum(1), 1.0)
    assert (model.predict(X[120:]) == model.classes_[p.argmax(1)]).all()
    assert model.score(X[120:], labels[120:]) > 0.7


def test_scores_average_by_hand():
    labels = np.array([0, 1])
    sure, unsure = np.log([[0.9, 0.1], [0.2, 0.8]]), np.log([[0.6, 0.4], [0.5, 0.5]])
    found, betas = averaged_scores([sure, unsure], labels)
    p = [np.exp(b * s) / np.exp(b * s).sum(1, keepdims=True) for s, b in zip((sure, unsure), betas)]
    np.testing.assert_allclose(np.exp(found), np.mean(p, 0))
    plain, none = averaged_scores([np.ones((2, 1)), np.zeros((2, 1))], None)
    assert (plain.tolist(), none) == ([[0.5], [0.5]], None)


def test_told_apart_by_two_standard_errors_of_the_paired_difference():
    y = np.zeros((100, 1))
    step = np.tile([[1.0], [-1.0]], (50, 1))  # losses differ by 2 c step + c^2: mean c^2, standard error 2 c / 10 or so
    base = y + 1.0
    near, far = base + 0.1 * step, base + 0.6 * step  # mean 0.01 against 0.02 per error; 0.36 against 0.12
    assert not_told_apart([base, near, far], Problem(y, None, np.ones(100)), 5) == [0, 1]
    assert not_told_apart([near, base, far], Problem(y, None, np.ones(100)), 1) == [1]


def test_two_standard_errors_are_those_of_a_sample():
    """Gaps of mean 1.07 and deviation 1 (1.155 by n - 1) over four rows: within two standard errors, by the latter alone."""
    y, best = np.zeros((4, 1)), np.zeros((4, 1))
    problem = Problem(y, None, np.ones(4))
    near = np.sqrt(1.07 + np.array([[1.0], [-1.0], [1.0], [-1.0]]))
    far = np.sqrt(1.25 + np.array([[1.0], [-1.0], [1.0], [-1.0]]))
    assert not_told_apart([near, best, far], problem, 5) == [1, 0]
    assert not_told_apart([best, best, near], problem, 5) == [0, 1, 2]
    assert not_told_apart([near, best], problem, 1) == [1]

"""scikit-learn's own checks, the dense formula, the choice of a kernel by brute force, bad input."""

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.datasets import load_digits, load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import priorscope as ps
from priorscope.sklearn import KernelMachine


@parametrize_with_checks(
    [KernelMachine("fcn-1", task="classification"), KernelMachine("fcn-1", task="regression"), KernelMachine("fcn-1")]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def bordered(K, Y, w, ridge):
    n = len(K)
    M = np.block([[K + ridge * np.diag(1 / w), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    found = np.linalg.solve(M, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return found[:n], found[n]


def test_regression_is_the_dense_solve():
    rng = np.random.default_rng(0)
    X, y, Z = rng.normal(size=(30, 4)), 3 + 2 * rng.normal(size=30), rng.normal(size=(5, 4))
    arch = ps.models.fcn(1)
    machine = KernelMachine(arch, kind="nngp", ridge=0.1).fit(X, y)
    x, z = (torch.from_numpy((a - X.mean(0)) / X.std(0)) for a in (X, Z))
    alpha, b = bordered(arch.kernel(x).nngp.numpy(), y[:, None], np.ones(30), 0.1)
    want = arch.kernel(z, x).nngp.numpy() @ alpha[:, 0] + b
    np.testing.assert_allclose(machine.predict(Z), want, rtol=1e-8)
    control = KernelMachine(arch, kind="ntk", ridge=0.1).fit(X, y).predict(Z)
    assert np.abs(control - want).max() > 1e-3


def test_the_ridge_and_kernel_chosen_have_the_lowest_error_left_out_by_brute_force():
    X, y = load_iris(return_X_y=True)
    X, y = X[40:110:2], y[40:110:2]  # two classes that overlap
    machine = KernelMachine("fcn-2-erf", metric="squared", class_weight="balanced").fit(X, y)
    classes, labels = np.unique(y, return_inverse=True)
    Y, w = np.eye(len(classes))[labels], (len(y) / len(classes) / np.bincount(labels))[labels]
    x = torch.from_numpy((X - X.mean(0)) / X.std(0))
    pair = ps.models.fcn(2, activation="erf", bias_variance=0.1).kernel(x)

    def each(kind, ridge):
        K = getattr(pair, kind).numpy()
        found = []
        for i in range(len(X)):
            rest = np.arange(len(X)) != i
            alpha, b = bordered(K[np.ix_(rest, rest)], Y[rest], w[rest], ridge)
            found.append(((K[i, rest] @ alpha + b - Y[i]) ** 2).mean())
        return np.array(found)

    def loss(kind, ridge):
        return float(each(kind, ridge).mean())

    best = machine.report_.chosen
    np.testing.assert_allclose(best.score, loss(best.kind, best.ridge), rtol=1e-7)
    for rival in machine.report_.rivals:
        np.testing.assert_allclose(best.score + rival.behind, loss(rival.kind, rival.ridge), rtol=1e-7)
        gaps = each(rival.kind, rival.ridge) - each(best.kind, best.ridge)
        np.testing.assert_allclose(rival.error, stats.sem(gaps) if rival.key != best.key else 0.0, rtol=1e-6)
    for factor in (0.3, 3.0):
        assert loss(best.kind, factor * best.ridge) > best.score * 0.999


def test_auto_beats_a_kernel_that_cannot_learn_the_target():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "different")  # no linear rule is better than chance
    machine = KernelMachine().fit(X[:150], y[:150])
    assert machine.score(X[150:], y[150:]) > 0.8
    assert KernelMachine("fcn-1-linear").fit(X[:150], y[:150]).score(X[150:], y[150:]) < 0.7
    table = machine.report_.table()
    assert table["chosen"].sum() == 1
    assert table["chosen"].iloc[0]
    assert (table["score"].iloc[0] <= table["score"]).all()


def test_many_rows_are_screened_and_it_is_told():
    X, y = load_digits(return_X_y=True)
    machine = KernelMachine("fcn-1").fit(X[:900], y[:900])
    assert "2 kernels were compared on 700 of 900 rows" in str(machine.report_)
    assert machine.report_.chosen.rows == 900
    assert len(machine.X_fit_) == 900
    assert machine.score(X[900:], y[900:]) > 0.93


def test_numbers_that_are_codes_are_found():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 9, size=(300, 4)).astype(float)
    y = np.isin(X[:, 0], [1, 4, 6]) | np.isin(X[:, 1], [0, 3, 8])  # by the code, not by its size
    machine = KernelMachine().fit(X[:200], y[:200])
    assert machine.report_.chosen.inputs in ("codes", "steps")
    plain = KernelMachine(inputs="standard").fit(X[:200], y[:200])
    assert machine.score(X[200:], y[200:]) > plain.score(X[200:], y[200:]) + 0.05


def test_codes_and_steps_by_hand():
    rows = np.array([[0.0, 1.5], [1.0, 2.5], [2.0, 1.5], [1.0, 2.5]])
    plain = ps.sklearn._inputs.Inputs.learnt(rows, (2,))
    codes, steps = plain.coded(rows), plain.stepped(rows)
    assert (codes.shape, steps.shape) == (
        (5,),
        (3,),
    )  # three values of the first; two thresholds of it, one of the second
    x = codes(rows).numpy()
    for column, value in zip(x.T[2:], (0.0, 1.0, 2.0)):
        assert len(np.unique(column)) == 2
        assert ((column > 0) == (rows[:, 0] == value)).all()
    np.testing.assert_allclose(x.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(x.var(0).mean(), 1.0)
    z = steps(rows).numpy()
    assert ((z > 0) == np.stack([rows[:, 0] > 0.5, rows[:, 0] > 1.5, rows[:, 1] > 2], 1)).all()
    np.testing.assert_allclose(z.var(0).mean(), 1.0)
    np.testing.assert_allclose(
        z[:, :2].var(0).sum(), z[:, 2].var()
    )  # a feature counts as one, however many steps it has
    assert plain.coded(rows[:, :] * 0 + rows[:, 1:]) is None  # two values are no codes


def test_steps_see_the_order_of_numbers_only():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] * X[:, 1] > 0
    machines = [KernelMachine("fcn-1", inputs="steps").fit(f(X[:60]), y[:60]) for f in (np.array, np.exp)]
    scores = [m.decision_function(f(X[:60])) for m, f in zip(machines, (np.array, np.exp))]
    np.testing.assert_allclose(*scores, atol=1e-8)
    plain = [KernelMachine("fcn-1").fit(f(X[:60]), y[:60]).decision_function(f(X[:60])) for f in (np.array, np.exp)]
    assert np.abs(plain[0] - plain[1]).max() > 0.01


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"] * 10, "classification"),
        ([True, False] * 10, "classification"),
        ([0, 1, 2, 3] * 5, "classification"),
        (np.linspace(0, 1, 20), "regression"),
        (np.arange(20) * 100, "regression"),
        (np.random.default_rng(0).normal(size=(20, 2)), "regression"),
    ],
)
def test_the_task_is_decided_by_the_targets(y, task):
    X = np.random.default_rng(2).normal(size=(20, 3))
    machine = KernelMachine("fcn-1").fit(X, y)
    assert machine.task_ == task == machine.report_.task
    assert machine.predict(X).shape == np.shape(y)
    assert hasattr(machine, "predict_proba") == (task == "classification")


def test_a_kernel_of_ones_own_by_the_contract():
    class Linear:
        name = "linear"

        def kernel(self, x1, x2=None, *, kinds=("nngp", "ntk")):
            K = x1 @ (x1 if x2 is None else x2).T
            return ps.models.Kernel(nngp=K, ntk=2 * K)

    X = np.random.default_rng(3).normal(size=(40, 2))
    machine = KernelMachine(Linear(), ridge=1e-6).fit(X, X @ [1.0, -2.0] + 5)
    np.testing.assert_allclose(machine.predict([[1.0, 1.0]]), [4.0], atol=1e-5)
    assert machine.report_.chosen.name == "linear"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"arch": "fnc-3"}, "no architecture 'fnc-3'"),
        ({"arch": "gap-2"}, "gap-2 needs inputs with positions"),
        ({"arch": "fcn-1-rleu"}, "rleu"),
        ({"kind": "rbf"}, "kind of 'auto'"),
        ({"task": "ranking"}, "task of 'classification'"),
        ({"metric": "f1"}, "metric of 'error'"),
        ({"ridge": -1.0}, "ridge >= 0, or 'auto'"),
        ({"input_shape": (1, 3, 3)}, r"input_shape \(1, 3, 3\) needs 9 features per row; X has 4"),
        ({"head": "hinge"}, "head of 'regression', 'svm'"),
        ({"inputs": "pca"}, "inputs of 'auto', 'standard'"),
        ({"landmarks": 1}, "landmarks >= 2, or 'auto', 'all'"),
        ({"class_weight": "even"}, "class_weight must be None, 'balanced'"),
        ({"class_weight": {7: 1.0}}, "positive weights of classes among"),
    ],
)
def test_messages(settings, words):
    with pytest.raises(ValueError, match=words):
        KernelMachine(**settings).fit(np.random.default_rng(0).normal(size=(8, 4)), [0, 1] * 4)
    with pytest.raises(TypeError, match="wanted an architecture by name, or a model with a kernel; got int"):
        KernelMachine(3).fit(np.eye(4), [0, 1, 0, 1])

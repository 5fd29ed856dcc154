"""Targets of a kernel machine: numbers of any size and offset, classes, and weights of classes, by hand."""

import numpy as np
import pytest

from priorscope.sklearn import KernelMachine
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._moments import mean_and_scale
from priorscope.sklearn._targets import class_weights, read_targets

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X[:, 0] ** 2 + 0.1 * RNG.normal(size=40)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1.0, 1e200, 1e307])
def test_means_and_deviations_of_numbers_of_any_size(size):
    columns = np.clip(RNG.normal(size=(50, 4)), -3, 3) + np.array([0.0, 1.0, 5.0, 9.0])
    columns[:, 1] = 2.0
    mean, scale = mean_and_scale(size * columns)
    np.testing.assert_allclose(mean, size * columns.mean(0), rtol=1e-12)
    np.testing.assert_allclose(scale[[0, 2, 3]], size * columns.std(0)[[0, 2, 3]], rtol=1e-12)
    assert scale[1] == 1.0  # a constant is divided by one
    whole, spread = mean_and_scale(size * columns.reshape(25, 2, 4), (0, 2))  # channel by channel
    np.testing.assert_allclose(whole, size * columns.reshape(25, 2, 4).mean((0, 2)), rtol=1e-12)
    np.testing.assert_allclose(spread, size * columns.reshape(25, 2, 4).std((0, 2)), rtol=1e-12)


def test_a_deviation_that_is_rounding_counts_as_none():
    steps = np.arange(6.0)[:, None]
    assert mean_and_scale(1e6 + 1e-7 * steps)[1] == [1.0]
    assert mean_and_scale(1e6 + 1e-4 * steps)[1] == pytest.approx(1e-4 * np.arange(6).std(), rel=1e-4)
    zeros = mean_and_scale(np.zeros((3, 2)))
    assert [z.tolist() for z in zeros] == [[0.0, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e30, 1e200])
def test_units_of_inputs_and_targets_are_the_users(size):
    """Once columns of 1e200 had an infinite deviation, became zero, and the mean was predicted without a word."""
    wanted = KernelMachine("fcn-1", ridge=0.1).fit(X, Y).predict(X)
    np.testing.assert_allclose(KernelMachine("fcn-1", ridge=0.1).fit(size * X, Y).predict(size * X), wanted, rtol=1e-9)
    np.testing.assert_allclose(KernelMachine("fcn-1", ridge=0.1).fit(X, size * Y).predict(X), size * wanted, rtol=1e-9)
    images = Inputs.learnt(size * X.repeat(4, 1), (3, 2, 2))(size * X.repeat(4, 1))
    np.testing.assert_allclose(images[:, :, 0, 0], (X - X.mean(0)) / X.std(0), rtol=1e-12)


def test_targets_far_from_zero_are_read_in_double_precision():
    machine = KernelMachine("fcn-1", ridge=0.1).fit(X, 1e12 + Y)  # constant in single precision
    np.testing.assert_allclose(
        machine.predict(X) - 1e12, KernelMachine("fcn-1", ridge=0.1).fit(X, Y).predict(X), atol=2e-3
    )
    assert read_targets(1e12 + Y, None).task == "regression"
    with pytest.raises(ValueError, match="constant"):
        KernelMachine("fcn-1").fit(X, np.full(40, 3.5))


def test_weights_of_classes_by_hand():
    given = read_targets(["b", "a", "a", "c", "a", "b"], None)
    assert given.classes.tolist() == ["a", "b", "c"]
    assert given.scaled[0].tolist() == [0.0, 1.0, 0.0]
    assert class_weights(given, None).tolist() == [1.0] * 6
    balanced = class_weights(given, "balanced")  # n / (C n_c): 6/9, 6/6, 6/3
    assert balanced.tolist() == pytest.approx([1.0, 2 / 3, 2 / 3, 2.0, 2 / 3, 1.0])
    assert class_weights(given, {"a": 3, "c": 0.5}).tolist() == [1.0, 3.0, 3.0, 0.5, 3.0, 1.0]


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (3, "None, 'balanced' or a weight for each class; got 3"),
        ([1.0, 2.0], "None, 'balanced' or a weight for each class"),
        ({0: float("nan")}, "positive weights of classes among"),
        ({0: True}, "positive weights of classes among"),
        ({0: 1e300, 1: 1e-300}, "within a factor of 1e.10 of each other and of 1"),
        ({0: 1e-300, 1: 1e-300}, "within a factor of 1e.10 of each other and of 1"),
    ],
)
def test_weights_that_cannot_be_meant(weight, words):
    with pytest.raises(ValueError, match=words):
        KernelMachine("fcn-1", class_weight=weight).fit(X, (X[:, 0] > 0).astype(int))


@pytest.mark.parametrize("settings", [{"whiten": "x"}, {"whiten": None}, {"flips": 3}])
def test_switches_are_true_or_false(settings):
    with pytest.raises(ValueError, match="of True, False; got"):
        KernelMachine("fcn-1", **settings).fit(X, Y)


def test_two_rows_have_no_features():
    with pytest.raises(ValueError, match="at least 3 rows, to leave some out; got 2"):
        KernelMachine("fcn-1", features="learn").fit(X[:2], ["a", "b"])


def test_words_are_no_numbers():
    with pytest.raises(ValueError, match="task='regression' needs numbers as targets; got 'a'"):
        KernelMachine("fcn-1", task="regression").fit(X, ["1", "a"] * 20)
    assert KernelMachine("fcn-1", task="regression").fit(X, [str(v) for v in Y]).score(X, Y) > 0.5


def test_inputs_that_never_change_are_told():
    told = "no column changes from row to row: all predictions are the same"
    machine = KernelMachine("fcn-1").fit(np.ones((40, 3)), Y)
    assert told in machine.report_.notes
    np.testing.assert_allclose(machine.predict(np.ones((4, 3))), Y.mean())
    assert told not in KernelMachine("fcn-1").fit(np.c_[np.ones(40), X[:, 0]], Y).report_.notes

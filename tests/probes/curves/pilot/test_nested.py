"""Regression on prefixes against regression done one size at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.probes.curves.pilot import (
    draw_pilot,
    factorise,
    fold_sizes,
    k_fold,
    leave_one_out,
    nested_regression,
    prefix_sizes,
    with_folds,
)


def _problem(n: int = 40, outputs: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 5))
    gram = np.exp(-np.linalg.norm(x[:, None] - x[None], axis=-1))
    return gram, rng.standard_normal((n, outputs))


@pytest.mark.parametrize("ridge, time", [(0.0, None), (0.3, None), (0.0, 5.0), (0.2, 5.0)])
def test_prefixes_equal_one_solve_a_size(ridge: float, time: float | None) -> None:
    gram, y = _problem()
    sizes = np.array([5, 17, 30])
    found = nested_regression(gram, y, sizes, ridge=ridge, time=time, orderings=3, seed=4)
    rng = np.random.default_rng(4)
    loss = np.zeros((3, 40))
    permutation = rng.permutation(40)
    for turn in range(3):
        order = np.roll(permutation, turn * 5)
        for s, p in enumerate(sizes):
            train, test = order[:p], order[p:]
            K = gram[np.ix_(train, train)] + ridge * np.eye(p)
            weights = np.linalg.solve(K, y[train])
            if time is not None:
                lam, U = np.linalg.eigh(K)
                weights = (U * ((1 - np.exp(-time * lam / p)) / lam)) @ U.T @ y[train]
            loss[s, test] += ((gram[np.ix_(test, train)] @ weights - y[test]) ** 2).mean(1)
    np.testing.assert_allclose(found.loss, loss, rtol=1e-8, atol=1e-10)
    assert not np.allclose(found.loss[0], loss[1])  # and it can fail: another size is another error


def test_kappa_and_quadratic_form_are_those_of_the_prefix() -> None:
    gram, y = _problem()
    found = nested_regression(gram, y, np.array([12]), orderings=1, seed=0)
    train = np.random.default_rng(0).permutation(40)[:12]
    inverse = np.linalg.inv(gram[np.ix_(train, train)])
    assert found.kappa[0] == pytest.approx(1 / np.trace(inverse))
    assert found.quadratic[0] == pytest.approx(np.trace(y[train].T @ inverse @ y[train]))


def test_misclassification_counts_wrong_signs() -> None:
    gram, _ = _problem(outputs=1)
    labels = (np.arange(40) % 2).astype(np.int64)
    y = (2.0 * labels - 1)[:, None]
    found = nested_regression(gram, y, np.array([20]), labels=labels, orderings=1, seed=1)
    order = np.random.default_rng(1).permutation(40)
    train, test = order[:20], order[20:]
    guess = gram[np.ix_(test, train)] @ np.linalg.solve(gram[np.ix_(train, train)], y[train])
    assert found.wrong is not None
    assert found.wrong.sum() == ((guess[:, 0] > 0).astype(int) != labels[test]).sum()


def test_a_singular_kernel_gets_jitter_and_an_indefinite_one_is_refused() -> None:
    gram = np.ones((5, 5)) + np.diag([1.0, 1.0, 0.0, 0.0, 0.0])
    _, jitter = factorise(gram)
    assert 0 < jitter < 1e-6
    with pytest.raises(ValueError, match="not positive semidefinite"):
        factorise(np.diag([1.0, -1.0]))


def test_prefix_sizes_end_at_seven_eighths() -> None:
    sizes = prefix_sizes(400)
    assert sizes[-1] == 350
    assert (np.diff(sizes) > 0).all()


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_leave_one_out_equals_n_solves(ridge: float) -> None:
    gram, y = _problem(20)
    labels = y.argmax(1)
    found = leave_one_out(gram, y, labels=labels, ridge=ridge)
    for i in range(20):
        rest = np.delete(np.arange(20), i)
        guess = gram[i, rest] @ np.linalg.solve(gram[np.ix_(rest, rest)] + ridge * np.eye(19), y[rest])
        assert found.loss[0, i] == pytest.approx(((guess - y[i]) ** 2).mean(), rel=1e-8)
        assert found.wrong is not None
        assert found.wrong[0, i] == float(guess.argmax() != labels[i])


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_k_fold_equals_one_solve_a_fold(ridge: float) -> None:
    gram, y = _problem(20)
    labels = y.argmax(1)
    loss, wrong = k_fold(gram, y, 5, labels=labels, ridge=ridge, seed=3)
    expected, mistakes = np.zeros(20), np.zeros(20)
    rng = np.random.default_rng([3, 5])
    for _ in range(8):
        for test in np.array_split(rng.permutation(20), 5):
            train = np.setdiff1d(np.arange(20), test)
            guess = gram[np.ix_(test, train)] @ np.linalg.solve(
                gram[np.ix_(train, train)] + ridge * np.eye(16), y[train]
            )
            expected[test] += ((guess - y[test]) ** 2).mean(1) / 8
            mistakes[test] += (guess.argmax(1) != labels[test]) / 8
    np.testing.assert_allclose(loss, expected, rtol=1e-8)
    np.testing.assert_allclose(wrong, mistakes)
    assert not np.allclose(
        loss, leave_one_out(gram, y, ridge=ridge).loss[0]
    )  # and it can fail: another size is another error


def test_rotations_and_folds_test_every_sample_equally_often() -> None:
    gram, y = _problem(40)
    found = nested_regression(gram, y, np.array([5, 20, 35]), orderings=16, seed=0)
    np.testing.assert_array_equal(found.count, np.outer([14, 8, 2], np.ones(40)))
    sizes = np.array(sorted(fold_sizes(40).values()))
    whole = with_folds(nested_regression(gram, y, sizes, orderings=8), gram, y)
    assert whole.sizes[-1] == 39
    assert (whole.count == 1).all()


@pytest.mark.parametrize("n", range(4, 41))
def test_every_fold_holds_two_samples_and_sizes_differ(n):
    sizes = fold_sizes(n)
    assert all(n // folds >= 2 for folds in sizes)
    assert len(set(sizes.values())) == len(sizes)
    assert all(size == round(n - n / folds) for folds, size in sizes.items())


def test_rounding_of_single_precision_is_repaired_and_told() -> None:
    """Many samples of few directions, one of them large: rounding to float32 leaves eigenvalues far below zero."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(200, 6)) * np.array([30.0, 1, 1, 1, 1, 1])
    gram = (a @ a.T).astype(np.float32).astype(float)
    scale = np.trace(gram) / len(gram)
    lowest = np.linalg.eigvalsh(gram)[0]
    assert lowest < -1e-6 * scale  # what one part in a million would not repair
    factor, jitter = factorise(gram)
    assert -lowest < jitter <= 1e-4 * scale
    np.testing.assert_allclose(factor @ factor.T, gram + jitter * np.eye(200), atol=1e-9 * scale)


def test_a_pilot_is_a_draw_of_its_size_in_the_order_of_the_draw() -> None:
    data = ps.data.digits(classes="parity").subset(60, seed=0)
    n = len(data.train)
    pilot = draw_pilot(data, 25, seed=3)
    assert len(pilot) == 25
    assert pilot.index.tolist() == np.random.default_rng(3).permutation(n)[:25].tolist()
    torch.testing.assert_close(pilot.inputs, data.inputs[torch.as_tensor(pilot.index)])
    np.testing.assert_array_equal(pilot.labels, pilot.targets[:, 0] > 0)
    assert len(draw_pilot(data, 10**6, seed=0)) == len(draw_pilot(data, None, seed=0)) == n

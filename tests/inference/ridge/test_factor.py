"""Left-out rows by one Cholesky factor against the decomposition and against brute force, and the walk along the ridges."""

import numpy as np
import pytest

from priorscope.inference.ridge import RIDGES, RidgePath, downhill, inverse_of, solved
from priorscope.sklearn import KernelMachine


def problem(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = np.exp(-((X[:, None] - X) ** 2).sum(-1) / 2)
    return K, rng.normal(size=(n, 2)), rng.uniform(0.3, 3.0, n), rng


@pytest.mark.parametrize("n", [12, 319, 320, 321, 700])  # on both sides of the tiles
@pytest.mark.parametrize("blocks", [None, "pairs", "three"])
def test_what_a_factor_leaves_out_is_what_the_decomposition_does(n, blocks):
    K, Y, w, rng = problem(n)
    ids = {None: None, "pairs": rng.integers(0, n // 2, n), "three": rng.integers(0, 3, n)}[blocks]
    path, got = RidgePath.of_kernel(K, w), solved(K, Y, w, 0.1, left_out=True, blocks=ids)
    want = path.leave_one_out(Y, [0.1])[0] if ids is None else path.leave_out(Y, [0.1], ids)[0]
    np.testing.assert_allclose(Y - got.residuals, want, atol=1e-9)
    np.testing.assert_allclose(got.spread, path.left_out_spread(0.1, ids), rtol=1e-9)
    np.testing.assert_allclose(got.coefficients, path.solve(Y, 0.1), atol=1e-9)
    if blocks == "three":  # the control: alone and together are not the same
        assert np.abs(got.residuals - solved(K, Y, w, 0.1, left_out=True).residuals).max() > 0.1


def test_rows_left_out_by_the_inverse_are_those_of_a_fit_without_them():
    K, Y, _, rng = problem(40)
    gone = rng.permutation(40)[:7]
    rest = np.setdiff1d(np.arange(40), gone)
    A = inverse_of(K, 0.3)
    left = Y[gone] - np.linalg.solve(A[np.ix_(gone, gone)], (A @ Y)[gone])
    fit = solved(K[np.ix_(rest, rest)], Y[rest], np.ones(33), 0.3)
    np.testing.assert_allclose(left, K[np.ix_(gone, rest)] @ fit.coefficients + fit.offset, atol=1e-10)
    spoilt = np.diag([1.0, 1.0, 1.0, -1e-6])  # has no factor: by the decomposition, with what is below zero at zero
    np.testing.assert_allclose(inverse_of(spoilt, 0.0) @ np.ones(4), 0.0, atol=1e-3)


@pytest.mark.parametrize("start", [0, 3, 11, 21])
@pytest.mark.parametrize("where", [0, 7, 21])
def test_downhill_finds_the_lowest_of_one_valley(start, where):
    asked = []
    assert downhill(lambda k: asked.append(k) or abs(k - where), start) == where
    assert len(asked) == len(set(asked)) <= 12
    assert where != start or len(asked) <= 3


def test_the_walk_ends_where_the_whole_grid_has_its_minimum(monkeypatch):
    """The same machine with all ridges from one decomposition and with a few factors, on targets of three kinds of noise."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(450, 4))
    for noise in (0.01, 0.3, 3.0):
        y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=450)
        made = []
        for few in (100, 10**6):
            monkeypatch.setattr("priorscope.sklearn._search.FEW", few)
            made.append(KernelMachine("fcn-2").fit(X, y))
        one, two = made
        assert one.ridge_ == pytest.approx(two.ridge_, rel=1e-9)
        assert one.report_.chosen.squared == pytest.approx(two.report_.chosen.squared, rel=1e-7)
        np.testing.assert_allclose(one.predict(X[:9]), two.predict(X[:9]), atol=1e-6)
    assert len(RIDGES) == 22

"""Ridge regression with weights and an intercept against the bordered linear system, left out by brute force."""

import numpy as np
import pytest

from priorscope.inference import RidgePath


def solved(K, Y, w, ridge):
    """Coefficients and intercept from the bordered system: noise ridge / weight, an intercept without penalty."""
    n = len(K)
    M = np.block([[K + ridge * np.diag(1 / w), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    found = np.linalg.solve(M, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return found[:n], found[n]


def left_out(K, Y, w, ridge, blocks=None):
    """Each sample by a fit to all others, or to all of other blocks."""
    blocks = np.arange(len(K)) if blocks is None else blocks
    found = []
    for i in range(len(K)):
        rest = blocks != blocks[i]
        alpha, b = solved(K[np.ix_(rest, rest)], Y[rest], w[rest], ridge)
        found.append(K[i, rest] @ alpha + b)
    return np.array(found)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 3))
    return (
        np.exp(-((X[:, None] - X) ** 2).sum(-1) / 2),
        rng.normal(size=(25, 2)),
        rng.uniform(0.2, 3.0, 25),
    )


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 5.0])
def test_solution_and_leave_one_out_are_those_of_brute_force(problem, ridge):
    K, Y, w = problem
    path = RidgePath.of_kernel(K, w)
    alpha, b = solved(K, Y, w, ridge)
    got = path.solve(Y, ridge)
    np.testing.assert_allclose(got, alpha, atol=1e-9)
    np.testing.assert_allclose(path.intercept(Y, K @ got), b, atol=1e-10)
    loo = path.leave_one_out(Y, [ridge, 2 * ridge])
    np.testing.assert_allclose(loo[0], left_out(K, Y, w, ridge), atol=1e-9)
    np.testing.assert_allclose(loo[1], left_out(K, Y, w, 2 * ridge), atol=1e-9)
    plain = left_out(K, Y, np.ones(25), ridge)
    assert np.abs(loo[0] - plain).max() > 1e-3  # the control: weights matter


BLOCKS = np.array([0, 1, 1, 2, 3, 3, 3, 4, 5, 5, *[6] * 10, 7, 8, 8, 9, 0])  # sizes 1, 2, 3 and 10, not in order


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 5.0])
@pytest.mark.parametrize("features", [False, True])
def test_leaving_out_blocks_is_brute_force(problem, ridge, features):
    K, Y, w = problem
    phi = np.linalg.cholesky(K + 1e-10 * np.eye(25))[:, :8]
    K = phi @ phi.T if features else K
    path = RidgePath.of_features(phi, w) if features else RidgePath.of_kernel(K, w)
    got = path.leave_out(Y, [ridge, 2 * ridge], BLOCKS)
    np.testing.assert_allclose(got[0], left_out(K, Y, w, ridge, BLOCKS), atol=1e-9)
    np.testing.assert_allclose(got[1], left_out(K, Y, w, 2 * ridge, BLOCKS), atol=1e-9)
    assert np.abs(got[0] - left_out(K, Y, w, ridge)).max() > 1e-3  # the control: blocks matter
    single = np.arange(25)[::-1]
    np.testing.assert_allclose(path.leave_out(Y, [ridge], single), path.leave_one_out(Y, [ridge]), atol=1e-12)


def test_copies_left_out_together_are_the_sample_left_out_alone(problem):
    """A sample of weight w that is given k times is one of weight k w, whatever the target."""
    K, Y, _ = problem
    twice = np.repeat(np.arange(25), 2)
    many = RidgePath.of_kernel(K[np.ix_(twice, twice)]).leave_out(Y[twice], [0.1], twice)
    once = RidgePath.of_kernel(K, np.full(25, 2.0)).leave_one_out(Y, [0.1])
    np.testing.assert_allclose(many, once[:, twice], atol=1e-9)


def test_spread_of_left_out_blocks_is_that_of_a_process_without_them(problem):
    K, _, w = problem
    for blocks in (None, BLOCKS):
        got = RidgePath.of_kernel(K, w).left_out_spread(0.1, blocks)
        ids = np.arange(25) if blocks is None else blocks
        for i in range(0, 25, 4):
            rest = ids != ids[i]
            A, k = np.linalg.inv(K[np.ix_(rest, rest)] + 0.1 * np.diag(1 / w[rest])), K[i, rest]
            free = (
                1 - (A @ k).sum()
            ) ** 2 / A.sum()  # of a constant with a broad prior (Rasmussen & Williams, eq. 2.42)
            known = K[i, i] - k @ A @ k + free + 0.1 / w[i]  # and the noise of the sample itself
            np.testing.assert_allclose(got[i] ** 2 / w[i], known, rtol=1e-9)


def test_what_is_wrong_with_blocks_is_told(problem):
    path = RidgePath.of_kernel(problem[0])
    with pytest.raises(ValueError, match="each of 25 samples; got shape \\(3,\\)"):
        path.leave_out(problem[1], [0.1], np.arange(3))
    with pytest.raises(ValueError, match="all samples are of one block"):
        path.leave_out(problem[1], [0.1], np.zeros(25, dtype=int))


def test_features_give_the_path_of_their_kernel(problem):
    K, Y, w = problem
    phi = np.linalg.cholesky(K + 1e-10 * np.eye(25))[:, :8]
    short, long = RidgePath.of_features(phi, w), RidgePath.of_kernel(phi @ phi.T, w)
    ridges = [1e-3, 0.3]
    np.testing.assert_allclose(short.leave_one_out(Y, ridges), long.leave_one_out(Y, ridges), atol=1e-8)
    np.testing.assert_allclose(short.diagonal(ridges), long.diagonal(ridges), rtol=1e-8)
    np.testing.assert_allclose(short.solve(Y, 0.3), long.solve(Y, 0.3), atol=1e-9)
    np.testing.assert_allclose(short.scale, long.scale, rtol=1e-9)


def test_messages():
    with pytest.raises(ValueError, match=r"square \(n, n\) with n >= 2; got \(2, 3\)"):
        RidgePath.of_kernel(np.ones((2, 3)))
    with pytest.raises(ValueError, match="weights must be 3 positive numbers"):
        RidgePath.of_kernel(np.eye(3), [1.0, 0.0, 1.0])


def test_the_unit_of_ridges_is_the_mean_eigenvalue_of_the_centred_kernel():
    """Of three orthogonal samples the centred kernel 5 (1 - 1/3) has the eigenvalues 5, 5 and 0, of which the last is no mode."""
    assert RidgePath.of_kernel(5 * np.eye(3)).scale == pytest.approx(5.0)
    x = np.random.default_rng(0).normal(size=(7, 2))
    centred = x - x.mean(0)
    assert RidgePath.of_kernel(x @ x.T).scale == pytest.approx((centred**2).sum() / 6)

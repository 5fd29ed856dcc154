"""Deep diagonal networks, penalties towards the start, few frequencies and completed matrices, against second algorithms."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from priorscope.inference import DeepEntropy
from priorscope.models import CircularNetwork
from priorscope.probes import (
    InitialScale,
    completion_scale,
    diagonal_potential,
    diagonal_solution,
    distance_penalty,
    distance_solution,
    homogeneity,
    initial_scale,
    maximum_margin,
    minimum_norm,
    minimum_potential,
)
from priorscope.probes.limits.implicit import norm_of


def test_the_distance_to_the_start_has_the_potential_of_depth_four():
    for value in (0.1, 1.0, 5.0, 20.0):
        by_root = distance_penalty([value], 0.7)
        assert float(DeepEntropy(0.49, 2.0).value(torch.tensor(value).double())) == pytest.approx(by_root, rel=1e-7)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2, 4)), rng.normal(size=2)
    found = distance_solution(X, y, 0.5)
    null, base = np.linalg.svd(X)[2][2:], np.linalg.lstsq(X, y, rcond=None)[0]
    direct = minimize(
        lambda free: distance_penalty(base + free @ null, 0.5),
        np.zeros(2),
        method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-13},
    )
    np.testing.assert_allclose(found, base + direct.x @ null, atol=1e-5)
    assert np.abs(found - diagonal_solution(X, y, 0.5)).max() > 1e-2  # the start's scale leads elsewhere


def test_depth_sharpens_the_transition_between_the_same_ends():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8, 20))
    y = X[:, 0]
    sparse, dense = minimum_norm(X, y, "l1"), minimum_norm(X, y)
    for depth in (2, 3, 4):
        np.testing.assert_allclose(diagonal_solution(X, y, 30.0, depth), dense, atol=1e-4)
        np.testing.assert_allclose(diagonal_solution(X, y, 0.01 if depth > 2 else 1e-5, depth), sparse, atol=1e-3)
    np.testing.assert_allclose(diagonal_solution(X, y, 0.5, 1), dense, atol=1e-9)
    shallow, deep = (initial_scale(X, y, scales=(0.1, 0.3), depth=depth) for depth in (2, 4))
    assert deep.to_l1[0] < 0.2 * shallow.to_l1[0]
    with pytest.raises(ValueError, match="more digits than double"):
        minimum_potential(X, y, diagonal_potential(1e-4, 6), most=20)


def test_the_margin_of_few_frequencies_is_the_largest():
    rng = np.random.default_rng(2)
    for d in (7, 8):
        x, y = rng.normal(size=(5, d)), np.sign(rng.normal(size=5))
        w = maximum_margin(x, y, "dft-l1")
        assert (y * (x @ w)).min() == pytest.approx(1)
        best = norm_of(w, "dft-l1")
        direct = minimize(
            lambda v: norm_of(v, "dft-l1"), 1.5 * w + 0.01 * rng.normal(size=d), method="SLSQP",
            constraints={"type": "ineq", "fun": lambda v, x=x, y=y: y * (x @ v) - 1}, options={"maxiter": 500},
        )  # fmt: skip
        assert direct.fun >= best * (1 - 2e-5)
        assert direct.fun < best * 1.02  # it comes near
        assert norm_of(maximum_margin(x, y), "dft-l1") > best * 1.001
    with pytest.raises(ValueError, match="dft-l1"):
        norm_of([1.0], "l3")
    with pytest.raises(ValueError, match="a line through the origin separates"):
        maximum_margin([[1.0, 2.0], [2.0, 4.0]], [1, -1], "dft-l1")


def test_circular_networks_are_products_in_frequencies():
    net = CircularNetwork(5, 1.0, depth=3, seed=1)
    a, b, c = net.filters.detach().numpy()

    def convolve(u, v):
        return np.array([sum(u[k] * v[(i - k) % 5] for k in range(5)) for i in range(5)]) / 5**0.5

    np.testing.assert_allclose(net.coefficients.detach(), convolve(convolve(a, b), c), atol=1e-12)
    assert homogeneity(net, torch.eye(5, dtype=torch.float64)).degree == 3


def test_small_scales_complete_a_matrix_and_large_ones_leave_it():
    rng = np.random.default_rng(3)
    truth = np.outer(rng.normal(size=5), rng.normal(size=4))
    truth /= np.linalg.norm(truth, 2)
    gaps = truth.copy()
    hidden = [(0, 0), (2, 3), (4, 1), (3, 2)]
    gaps[tuple(np.transpose(hidden))] = np.nan
    found = completion_scale(gaps, scales=(3.0, 0.01))
    assert list(found.scales) == [0.01, 3.0]
    np.testing.assert_allclose(found.matrices[0], truth, atol=0.03)
    assert found.change[1] < 0.01
    assert found.nuclear_norm[0] == pytest.approx(found.least, rel=0.02)
    assert found.nuclear_norm[1] > 1.02 * found.least
    shown = ~np.isnan(gaps)
    np.testing.assert_allclose(found.matrices[:, shown], np.stack([truth[shown]] * 2), atol=1e-6)
    again = completion_scale(truth, scales=(0.01, 3.0), held_out=0.2, seed=1)
    assert again.best == 0.01
    assert again.error[1] == pytest.approx(again.no_completion, rel=0.05)  # left at zero
    assert "held out" in again.sentence()
    assert len(again.table()) == 2
    assert again.chart().to_dict()["mark"]["type"] == "line"


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.ones(3), "a matrix with NaN"),
        (np.ones((3, 3)), "gaps to fill"),
        (np.where(np.eye(3) > 0, np.nan, 0.0), "not all zero"),
        (np.full((40, 40), np.nan), "at most 44"),
        (np.array([[np.inf, 1.0], [1.0, np.nan]]), "finite entries"),
    ],
)
def test_matrices_that_cannot_be_completed_are_refused(matrix, words):
    with pytest.raises(ValueError, match=words):
        completion_scale(matrix)


@pytest.mark.parametrize("beta", [0.0, 1e-3, 0.7, -3.0, 40.0])
@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_the_distance_penalty_is_the_least_distance_found_by_search(beta, scale):
    """Over w-: w+ follows from w+² - w-² = β. Search on a fine grid, an algorithm without roots."""
    small = np.linspace(0, 3 * scale + abs(beta) ** 0.5, 200_001)
    large = np.sqrt(small**2 + abs(beta))
    least = ((large - scale) ** 2 + (small - scale) ** 2).min()
    assert distance_penalty([beta], scale) == pytest.approx(least, rel=1e-6, abs=1e-9)
    assert distance_penalty([beta, beta, 0.0], scale) == pytest.approx(2 * least, rel=1e-6, abs=1e-9)


def test_the_transition_is_the_first_crossing_between_the_ends():
    scales = np.array([1.0, 10.0, 100.0, 1e3, 1e4])
    to_l1, to_l2 = np.array([0.0, 0.2, 1.0, 0.3, 0.9]), np.array([1.0, 0.4, 0.4, 0.5, 0.5])
    found = InitialScale(scales, to_l1, to_l2, np.array([3.0, 1.0, 2.0, 1.5, 1.6]), np.zeros((5, 2)))
    assert found.transition == pytest.approx(10 * 10**0.25)  # apart by -0.2 at 10 and 0.6 at 100
    assert found.best == 10.0
    one_sided = InitialScale(scales, to_l2 + 1, to_l2, np.full(5, np.nan), np.zeros((5, 2)))
    assert np.isnan(one_sided.transition)
    assert np.isnan(one_sided.best)

"""Fits of least norm, divergence, penalty and nuclear norm, against hand-solved cases, scipy's minimisers and flows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize, minimize_scalar

from priorscope.inference import Entropy, FourthOrderFlow, HyperbolicEntropy, Power, Quadratic
from priorscope.models import DiagonalNetwork
from priorscope.probes import (
    InitialScale,
    diagonal_penalty,
    diagonal_solution,
    distance_penalty,
    initial_scale,
    maximum_margin,
    minimum_norm,
    minimum_nuclear_norm,
    minimum_potential,
)


@pytest.fixture
def wide():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 60))
    beta = np.zeros(60)
    beta[:3] = 3**-0.5
    return X, X @ beta


def test_least_norms_fit_and_no_step_inside_the_null_space_shortens_them(wide):
    X, y = wide
    null = np.linalg.svd(X)[2][20:]
    orders = {"l1": 1, "l2": 2, "linf": np.inf}
    for norm, order in orders.items():
        w = minimum_norm(X, y, norm)
        np.testing.assert_allclose(X @ w, y, atol=1e-8)
        steps = np.random.default_rng(1).normal(size=(200, 40)) @ null * 1e-3
        assert (np.linalg.norm(w + steps, order, axis=1) > np.linalg.norm(w, order)).all()
    assert np.linalg.norm(minimum_norm(X, y, "l1"), 1) < np.linalg.norm(minimum_norm(X, y, "l2"), 1) - 0.1


@pytest.mark.parametrize("potential", [Quadratic(), HyperbolicEntropy(0.1), Power(1.5), Power(3.0)])
def test_least_potentials_agree_with_a_general_minimiser(potential):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(2, 5)), rng.normal(size=2)
    w = minimum_potential(X, y, potential)
    np.testing.assert_allclose(X @ w, y, atol=1e-9)
    null = np.linalg.svd(X)[2][2:]
    base = np.linalg.lstsq(X, y, rcond=None)[0]

    def value(free):
        return float(potential.value(torch.from_numpy(base + free @ null)).sum())

    found = minimize(value, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 5000})
    np.testing.assert_allclose(w, base + found.x @ null, atol=2e-5)
    assert value(found.x) >= float(potential.value(torch.from_numpy(w)).sum()) - 1e-12


def test_entropy_needs_positive_weights():
    w = minimum_potential([[1.0, 1.0]], [3.0], Entropy(), start=[1.0, 2.0])
    np.testing.assert_allclose(w, [1.0, 2.0])  # it fits already
    np.testing.assert_allclose(minimum_potential([[1.0, 1.0]], [6.0], Entropy(), start=[1.0, 2.0]), [2.0, 4.0])
    with pytest.raises(ValueError, match="cannot start here"):
        minimum_potential([[1.0, 1.0]], [3.0], Entropy())
    with pytest.raises(ValueError, match="stopped at a residual"):
        minimum_potential([[1.0, 1.0]], [-1.0], Entropy(), start=[1.0, 1.0], most=50)


def test_penalties_of_diagonal_networks():
    # b asinh(b/2) - sqrt(4 + b²) + 2 by quadrature of its derivative asinh(b/2)
    b = np.linspace(0, 5, 100_001)
    by_hand = np.trapezoid(np.arcsinh(b / 2), b)
    assert diagonal_penalty([5.0], 1.0) == pytest.approx(by_hand, rel=1e-8)
    assert diagonal_penalty([-20.0], 2.0) == pytest.approx(4 * by_hand, rel=1e-8)
    for value in (0.1, 1.0, 5.0, 20.0):
        direct = minimize_scalar(
            lambda m, value=value: (m - 1) ** 2 + (np.sqrt(m * m + value) - 1) ** 2, bounds=(0, 3), method="bounded",
            options={"xatol": 1e-12},
        ).fun  # fmt: skip
        assert distance_penalty([value], 1.0) == pytest.approx(direct, rel=1e-8)
        assert distance_penalty([-4 * value], 2.0) == pytest.approx(4 * direct, rel=1e-8)
    assert distance_penalty([5.0], 1.0) != pytest.approx(diagonal_penalty([5.0], 1.0), rel=0.1)


@pytest.mark.parametrize(("scale", "within"), [(1.0, 5e-8), (0.3, 2e-7)])
def test_the_flow_of_a_diagonal_network_ends_at_the_minimiser(wide, scale, within):
    X, y = wide
    wanted = diagonal_solution(X, y, scale)
    lam = 4 * np.linalg.eigvalsh((X * np.sqrt(wanted**2 + 4 * scale**4)) @ X.T / 20)
    flow = FourthOrderFlow(
        DiagonalNetwork(60, scale), torch.from_numpy(X), torch.from_numpy(y), 1.5 * lam[-1], step=0.25
    )
    flow.advance(22 / lam[0])
    ended = flow.network.coefficients.detach().numpy()
    np.testing.assert_allclose(ended, wanted, atol=within)
    assert np.abs(ended - diagonal_solution(X, y, 0.8 * scale)).max() > 10 * within  # and another scale would be seen


def test_the_ends_of_the_scale_are_the_least_l1_and_l2_norms(wide):
    X, y = wide
    found = initial_scale(X, y, scales=(1e-6, 0.1, 100.0))
    assert found.to_l1[0] < 1e-3
    assert found.to_l2[-1] < 1e-5
    assert found.to_l1[-1] == pytest.approx(1, abs=1e-4)
    assert 0.01 < found.transition < 1
    assert "about" in found.sentence()
    np.testing.assert_allclose(found.coefficients[0], minimum_norm(X, y, "l1"), atol=1e-4)
    with pytest.raises(ValueError, match="more features than samples"):
        initial_scale(X.T, X.T[:, 0])


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_largest_margins_are_largest(norm):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(30, 4))
    y = np.sign(x @ [1.0, 2.0, -1.0, 0.5])
    order = {"l1": 1, "l2": 2, "linf": np.inf}[norm]
    w = maximum_margin(x, y, norm)
    assert (y * (x @ w)).min() == pytest.approx(1)
    many = rng.normal(size=(20_000, 4))
    margins = (y[:, None] * (x @ many.T)).min(0) / np.linalg.norm(many, order, axis=1)
    best = 1 / np.linalg.norm(w, order)
    assert margins.max() <= best + 1e-12
    assert margins.max() > 0.6 * best  # the draws come near
    with pytest.raises(ValueError, match="a line through the origin separates"):
        maximum_margin([[1.0], [2.0]], [1, -1], norm)


def test_nuclear_norm_completes_a_matrix_of_rank_one_and_none_shorter_agrees():
    rng = np.random.default_rng(4)
    truth = np.outer(rng.normal(size=6), rng.normal(size=5))
    seen = rng.random((6, 5)) < 0.7
    places = np.argwhere(seen)
    A = np.zeros((len(places), 6, 5))
    A[np.arange(len(places)), places[:, 0], places[:, 1]] = 1
    found = minimum_nuclear_norm(A, truth[seen])
    size = np.linalg.norm(found, "nuc")
    assert size <= np.linalg.norm(truth, "nuc") + 1e-6
    np.testing.assert_allclose(found[seen], truth[seen], atol=1e-8)
    for _ in range(100):
        step = 1e-3 * rng.normal(size=(6, 5)) * ~seen
        assert np.linalg.norm(found + step, "nuc") >= size - 1e-9
    with pytest.raises(ValueError, match="no matrix agrees"):
        minimum_nuclear_norm(np.concatenate([A, A[:1]]), np.r_[truth[seen], 99.0])


def test_the_transition_is_where_both_ends_are_equally_far():
    """On log axes apart = to_l1 - to_l2 is -0.6, -0.2, 0.2 at 1e-3, 1e-2, 1: zero half way between 1e-2 and 1."""
    far = np.array([0.2, 0.4, 0.6])
    found = InitialScale(np.array([1e-3, 1e-2, 1.0]), far, far[::-1] + [0.2, 0.2, 0.2], np.array([0.3, 0.1, 0.2]), far)
    assert found.transition == pytest.approx(0.1)
    assert found.best == 1e-2
    never = InitialScale(found.scales, far, far + 1, np.full(3, np.nan), far)
    assert np.isnan(never.transition)
    assert np.isnan(never.best)

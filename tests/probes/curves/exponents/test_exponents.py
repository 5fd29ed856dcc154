"""Exponents against laws that are known, spheres of known dimension, and recorded numbers of the digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import gammaln
from sklearn.datasets import load_digits

import priorscope as ps
from priorscope.probes import (
    effective_dimension,
    expected_exponents,
    gram_convergence,
    kernel_pca_exponent,
    learning_curve_exponent,
    sphere_distance,
)
from priorscope.probes.curves.exponents._kernel_pca import _bins


@pytest.fixture(scope="module")
def digits():
    x, y = load_digits(return_X_y=True)
    return torch.tensor(x), np.where(y % 2 == 1, 1.0, -1.0)


def test_the_exponent_of_a_power_law_three_ways():
    rng = np.random.default_rng(0)
    sizes = np.array([30, 60, 120, 240, 480, 960])
    errors = sizes**-0.4 * np.exp(0.05 * rng.standard_normal((12, 6)))
    found = learning_curve_exponent(sizes, errors)
    assert found.n_min == 96
    assert found.beta.contains(0.4)
    assert found.beta.high - found.beta.low < 0.1
    assert not found.beta.contains(0.5)
    assert len(found.local) == 5
    assert len(found.running) == 4
    assert sum(i.contains(-0.4) for _, i in (*found.local, *found.running)) >= 7
    found.chart().to_dict()
    bent = learning_curve_exponent(
        sizes, np.append(np.ones(3), 8.0 / np.array([1, 2, 4]))[None] * np.ones((2, 1)), n_min=200
    )
    assert bent.fixed.exponent == pytest.approx(-1)
    assert bent.local[0][1].value == pytest.approx(0)
    assert bent.running[-1][1].value > -1
    with pytest.raises(ValueError, match="three or more rising sizes"):
        learning_curve_exponent([1, 2], [1.0, 0.5])


def test_the_exponent_of_a_curve_measured_on_a_pilot_has_the_interval_of_its_bootstrap():
    curve = ps.probes.learning_curve(ps.data.digits(classes="parity"), ps.models.laplace(), pilot=150, orderings=6)
    found = learning_curve_exponent(curve)
    assert found.beta.low < found.beta.value < found.beta.high
    slopes = [np.polyfit(np.log(curve.sizes), np.log(d), 1)[0] for d in curve.draws]
    assert found.running[-1][1].low == pytest.approx(np.quantile(slopes, 0.025), abs=1e-6)


def test_the_mean_distance_on_spheres_against_points_and_by_hand():
    np.testing.assert_allclose(
        sphere_distance(1, [400, 6000]), np.pi / np.array([400, 6000]), rtol=0.003
    )  # E gap = pi / n
    assert sphere_distance(2, 2) == pytest.approx(4 / 3, rel=1e-6)  # mean chord of the sphere
    for d, n in ((3, 500), (8, 500)):
        means = []
        for seed in range(6):
            x = ps.data.sphere(n, d + 1, seed=seed, dtype=torch.float64)
            gaps = torch.cdist(x, x) + 9 * torch.eye(n)
            means.append(float(gaps.min(1).values.mean()))
        noise = np.std(means, ddof=1) / 6**0.5
        assert abs(np.mean(means) - sphere_distance(d, n)) < 5 * noise
        assert abs(np.mean(means) - sphere_distance(d + 1, n)) > 5 * noise


@pytest.mark.parametrize("d", [1, 3, 5])
def test_spheres_have_their_dimension(d):
    found = effective_dimension(ps.data.sphere(3000, d + 1, seed=d), subsets=2)
    assert found.overlay == pytest.approx(d, rel=0.05)
    assert found.slope.value == pytest.approx(d, rel=0.08)
    found.chart().to_dict()


def test_the_overlay_repairs_the_slope_in_many_dimensions():
    found = effective_dimension(ps.data.sphere(1500, 26, seed=0), subsets=2)
    assert found.overlay == pytest.approx(25, rel=0.1)
    assert found.slope.value < 0.9 * 25


def test_repeats_are_left_out_and_few_rows_refused(digits):
    x = digits[0][:300]
    twice = effective_dimension(torch.cat([x, x]), subsets=2)
    assert twice.repeated == 300
    assert twice.overlay == pytest.approx(effective_dimension(x, subsets=2).overlay, rel=1e-6)
    assert "300 repeated rows" in twice.sentence()
    with pytest.raises(ValueError, match="20 or more different inputs; got 1"):
        effective_dimension(np.ones((50, 3)))
    with pytest.raises(ValueError, match="three or more sizes up to the 300"):
        effective_dimension(x, sizes=[10, 20, 900])
    with pytest.raises(ValueError, match="needs finite data; got NaN"):
        effective_dimension(np.full((30, 2), np.nan))


def test_the_digits_as_recorded(digits):
    """Effective dimension and the three estimators that do not agree: prototype's numbers, within 0.1."""
    x, z = digits
    assert 7 < effective_dimension(x, subsets=2).overlay < 11
    pca = kernel_pca_exponent(ps.models.laplace(100.0), z, inputs=x)
    assert [pca.estimates[k] for k in ("modes", "tail", "head")] == pytest.approx([0.49, 0.84, 0.66], abs=0.1)
    assert pca.power.sum() == pytest.approx(1.0)
    found = gram_convergence(ps.models.laplace(100.0).kernel(x).ntk)
    assert found.eigenvalues[-1, 0] == pytest.approx(0.619, abs=0.001)
    assert abs(found.ratios[-2] - 1).max() < 0.1
    assert abs(found.ratios[0] - 1).max() > 0.1
    assert found.theta == pytest.approx(1 + 1 / pca.decay, rel=1e-6)


def test_kernel_components_of_a_law():
    n = 1000
    q2 = np.arange(1.0, n + 1) ** -1.7
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((n, n)))[0]
    gram = (turn * np.arange(1.0, n + 1) ** -1.4) @ turn.T
    found = kernel_pca_exponent(gram, turn @ np.sqrt(q2))
    assert found.estimates["modes"] == pytest.approx(0.7, abs=0.02)
    assert found.estimates["head"] == pytest.approx(0.7, abs=0.15)
    assert found.estimates["tail"] > found.estimates["head"]  # the end of the sample bends the tail
    assert found.decay == pytest.approx(1.4, abs=0.01)
    assert len(found.table()) == 3
    found.chart().to_dict()
    with pytest.raises(ValueError, match="n >= 100"):
        kernel_pca_exponent(np.eye(50), np.ones(50))
    with pytest.raises(ValueError, match="needs inputs="):
        kernel_pca_exponent(ps.models.laplace(), np.ones(50))


def test_what_each_candidate_should_reach_in_sentences():
    n = 300
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((n, n)))[0]
    z = turn @ np.sqrt(np.arange(1.0, n + 1) ** -3.0)
    gram = lambda a: (turn * np.arange(1.0, n + 1) ** -a) @ turn.T  # noqa: E731
    found = expected_exponents(ps.data.sphere(n, 3, seed=0), z, {"smooth": gram(2.0), "rough": gram(0.5)})
    table = found.table().set_index("candidate")
    assert table.limited_by.to_dict() == {"smooth": "target", "rough": "kernel"}
    assert table.beta["smooth"] == pytest.approx(2.0, abs=0.3)
    assert table.beta["rough"] == pytest.approx(1.0, abs=0.02)
    first, smooth, rough = found.sentences()
    assert first.startswith("The data look 2-dimensional (of 3 numbers per input)")
    assert "would allow n^-4.0" in smooth
    assert "its own smoothness allows no more" in rough
    found.chart().to_dict()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gram_convergence(np.ones((3, 4))), "needs a Gram matrix"),
        (lambda: gram_convergence(np.eye(32), sizes=[8, 64]), "needs sizes up to 32"),
        (lambda: gram_convergence(np.eye(32), ranks=[5]), "Give larger sizes"),
        (lambda: sphere_distance(0, 5), "dim > 0"),
    ],
)
def test_bad_input_is_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_ranks_of_a_bin_have_their_geometric_mean():
    """The product of a … b - 1 is Γ(b) / Γ(a)."""
    power = np.arange(1.0, 101.0) ** -2
    ranks, means = _bins(power, 10, 99)
    edges = np.unique(np.round(np.geomspace(10, 100, max(6, int(4 * np.log2(10.9))))).astype(int))
    a, b = edges[:-1], edges[1:]
    np.testing.assert_allclose(ranks, np.exp((gammaln(b) - gammaln(a)) / (b - a)), rtol=1e-10)
    np.testing.assert_allclose(means, [power[i - 1 : j - 1].mean() for i, j in zip(a, b)])


def test_a_dimension_that_is_known_is_taken_as_it_is():
    x = ps.data.sphere(120, 3, seed=0)
    grams = {"laplace": ps.models.laplace(1.0).kernel(x).ntk}
    known = replace(ps.probes.effective_dimension(x), overlay=7.5)
    assert ps.probes.expected_exponents(x, x[:, 0], grams, dimension=known).dimension.overlay == 7.5
    assert ps.probes.expected_exponents(x, x[:, 0], grams).dimension.overlay != 7.5


def test_local_exponents_stand_between_their_two_sizes() -> None:
    sizes, errors = np.array([10.0, 40.0, 80.0, 640.0]), np.array([8.0, 4.0, 3.0, 0.5])
    found = ps.probes.learning_curve_exponent(sizes, errors)
    at = [n for n, _ in found.local]
    np.testing.assert_allclose(at, [20.0, np.sqrt(3200), np.sqrt(51200)])
    slopes = np.diff(np.log(errors)) / np.diff(np.log(sizes))
    np.testing.assert_allclose([e.value for _, e in found.local], slopes)
    assert [n for n, _ in found.running] == [80.0, 640.0]

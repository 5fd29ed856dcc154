"""Gaussian expectations of every nonlinearity against numerical integration, Price's theorem and autograd."""

from __future__ import annotations

from itertools import pairwise
from math import pi

import numpy as np
import pytest
import torch

from priorscope.models import nonlinearities
from priorscope.models.nonlinearities import (
    NONLINEARITIES,
    RBF,
    ABReLU,
    Cosine,
    Exponential,
    Gaussian,
    Hermite,
    LeakyReLU,
    Monomial,
    Nonlinearity,
    Polynomial,
    Quadrature,
    ReLU,
    Sine,
    nonlinearity,
)

CASES: dict[str, Nonlinearity] = {name: nonlinearity(name) for name in NONLINEARITIES} | {
    "abrelu": ABReLU(-0.3, 2.0),
    "leaky 0.2": LeakyReLU(0.2),
    "rbf 0.4": RBF(0.4),
    "sine with phase": Sine(1.2, 0.8, 0.3),
    "cosine 1.3": Cosine(0.7, 1.3),
    "gaussian 0.6": Gaussian(1.2, 0.6),
    "exponential 0.5": Exponential(0.8, 0.5),
    "cubic": Monomial(3),
    "polynomial": Polynomial((0.3, 1.0, -0.5, 0.2)),
    "hermite 3": Hermite(3),
    "hermite 4": Hermite(4),
    "callable": Quadrature(lambda x: torch.atan(x) + 0.3 * torch.cos(x)),
}
VARIANCES = (1.3, 0.7)


def _integrate(fn, a: float, b: float, c: float) -> float:
    """E[fn(u) fn(v)] on a polar grid whose sectors end where u or v changes sign: exact to 1e-10 for functions with a kink
    or jump at zero."""
    across = [0.0, pi / 2, pi, 3 * pi / 2, 2 * pi]  # u = 0 at pi/2, 3 pi/2
    slope = np.arctan2(-c, np.sqrt(1 - c * c)) % pi  # v = 0: c cos t + s sin t = 0
    edges = sorted({*across, slope, slope + pi})
    nodes, weights = np.polynomial.legendre.leggauss(40)
    r_nodes, r_weights = np.polynomial.legendre.leggauss(80)
    r = 5.5 * (r_nodes + 1)  # radius to 11: the rest is below 1e-23
    radial = 5.5 * r_weights * r * np.exp(-r * r / 2) / (2 * pi)
    total = 0.0
    for low, high in pairwise(edges):
        t = (low + high) / 2 + (high - low) / 2 * nodes
        z1, z2 = np.outer(r, np.cos(t)), np.outer(r, np.sin(t))
        u = torch.as_tensor(a**0.5 * z1)
        v = torch.as_tensor(b**0.5 * (c * z1 + (1 - c * c) ** 0.5 * z2))
        total += (high - low) / 2 * float(radial @ (fn(u) * fn(v)).numpy() @ weights)
    return total


def _derivative(phi: Nonlinearity):
    return lambda x: torch.func.jvp(phi, (x,), (torch.ones_like(x),))[1]


@pytest.mark.parametrize("name", CASES)
def test_both_maps_match_integration(name: str) -> None:
    phi = CASES[name]
    a, b = VARIANCES
    for c in (-0.6, 0.0, 0.95):
        k = [torch.tensor(v, dtype=torch.float64) for v in (c * (a * b) ** 0.5, a, b)]
        for value, fn in ((phi.covariance(*k), phi), (phi.derivative_covariance(*k), _derivative(phi))):
            exact = _integrate(fn, a, b, c)
            assert abs(float(value) - exact) < 1e-6 * max(1.0, abs(exact)), (c, float(value), exact)


@pytest.mark.parametrize("name", [n for n in CASES if n != "sign"])
def test_derivative_map_is_the_derivative_of_the_covariance_map(name: str) -> None:
    """Price's theorem, through autograd; also at correlations ±1, where nothing may be NaN."""
    phi = CASES[name]
    a, b = (torch.tensor(v, dtype=torch.float64) for v in VARIANCES)
    for c in (-1.0, -0.4, 0.8, 1.0):
        k12 = ((a * b).sqrt() * c).requires_grad_()
        (slope,) = torch.autograd.grad(phi.covariance(k12, a, b), k12)
        torch.testing.assert_close(slope, phi.derivative_covariance(k12, a, b), rtol=1e-8, atol=1e-8)


def test_relu_by_hand() -> None:
    one = torch.ones((), dtype=torch.float64)
    relu = ReLU()
    assert float(relu.covariance(one, one, one)) == pytest.approx(0.5, abs=1e-15)
    assert float(relu.covariance(0 * one, one, one)) == pytest.approx(1 / (2 * pi), abs=1e-15)  # E[u+]² = 1/(2π)
    assert float(relu.derivative_covariance(0 * one, one, one)) == pytest.approx(0.25, abs=1e-15)
    assert float(relu.covariance(-one, one, one)) == pytest.approx(0, abs=1e-15)
    assert float(relu.covariance(0 * one, 0 * one, one)) == 0  # zero variance gives zero, not NaN


def test_hermite_at_unit_variance_is_a_power() -> None:
    k12 = torch.linspace(-1, 1, 7, dtype=torch.float64)
    one = torch.ones_like(k12)
    for degree in range(6):
        torch.testing.assert_close(Hermite(degree).covariance(k12, one, one), k12**degree)


def test_odd_functions_say_so() -> None:
    x = torch.linspace(0.1, 2, 5, dtype=torch.float64)
    for name, phi in CASES.items():
        assert phi.odd == bool(torch.allclose(phi(x), -phi(-x), atol=1e-12)), name


def test_quadrature_error_estimate_bounds_the_error() -> None:
    """Against closed forms: smooth erf is right to rounding; ReLU is not, and the estimate says so."""
    k12, var = torch.linspace(-2, 2, 41, dtype=torch.float64), torch.tensor(2.0, dtype=torch.float64)
    for fn, closed in ((torch.erf, nonlinearity("erf")), (torch.relu, nonlinearity("relu"))):
        phi = Quadrature(fn)
        error = (phi.covariance(k12, var, var) - closed.covariance(k12, var, var)).abs().max()
        assert error <= phi.error_estimate(var) + 1e-12
    elu, a, b = Quadrature(torch.nn.functional.elu), *(torch.tensor(v, dtype=torch.float64) for v in VARIANCES)
    for derivative, fn in ((False, elu), (True, _derivative(elu))):  # its derivative has a kink
        value = (elu.derivative_covariance if derivative else elu.covariance)(-0.6 * (a * b).sqrt(), a, b)
        error = abs(float(value) - _integrate(fn, *VARIANCES, -0.6))
        assert error <= float(torch.maximum(elu.error_estimate(a, derivative), elu.error_estimate(b, derivative))) < 0.1
    assert Quadrature(torch.erf).error_estimate(torch.tensor(0.5)) < 1e-10
    assert Quadrature(torch.relu).error_estimate(var) > 1e-6  # the control: a kink is seen
    with pytest.warns(UserWarning, match="beyond 1024 terms"):
        Quadrature(torch.nn.functional.hardtanh).derivative_covariance(k12, var, var)


def test_quadrature_at_large_variance() -> None:
    """tanh at variance 4 (steep): against integration with many nodes."""
    k = [torch.tensor(v, dtype=torch.float64) for v in (3.2, 4.0, 4.0)]
    assert float(nonlinearity("tanh").covariance(*k)) == pytest.approx(_integrate(torch.tanh, 4.0, 4.0, 0.8), abs=1e-8)


def test_float32_stays_float32() -> None:
    k = torch.tensor([0.3, 0.9])
    for name, phi in CASES.items():
        assert phi.covariance(k, torch.ones(2), torch.ones(2)).dtype == torch.float32, name


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="no nonlinearity is called 'mish'.*relu"):
        nonlinearity("mish")
    with pytest.raises(TypeError, match="got int"):
        nonlinearity(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one coefficient"):
        Polynomial(())
    with pytest.raises(ValueError, match="whole number degree"):
        Monomial(-1)


def test_every_public_nonlinearity_is_tested() -> None:
    tested = {type(phi) for phi in CASES.values()}
    for name in nonlinearities.__all__:
        kind = getattr(nonlinearities, name)
        if isinstance(kind, type) and kind is not Nonlinearity:
            assert kind in tested, name


def test_slope_of_the_arcsine_maps_by_hand() -> None:
    """Sheppard: E[sign sign] = 2/π arcsin c and E[ReLU' ReLU'] = 1/4 + arcsin(c)/2π grow along k12 like 1/√(k11 k22 − k12²)."""
    a, b = (torch.tensor(v, dtype=torch.float64) for v in VARIANCES)
    for c in (-0.9, -0.3, 0.0, 0.6, 0.99):
        k12 = ((a * b).sqrt() * c).requires_grad_()
        root = float((a * b) ** 0.5) * (1 - c * c) ** 0.5
        for value, share in (
            (nonlinearity("sign").covariance(k12, a, b), 2 / pi),
            (ReLU().derivative_covariance(k12, a, b), 1 / (2 * pi)),
            (nonlinearity("abs").derivative_covariance(k12, a, b), 2 / pi),
        ):
            (slope,) = torch.autograd.grad(value, k12)
            assert float(slope) == pytest.approx(share / root, rel=1e-12)


def test_slope_of_the_arcsine_maps_at_equal_inputs_is_zero() -> None:
    """Along x1 = x2 the cosine does not move, so the derivative there is zero and not infinite."""
    one = torch.ones((), dtype=torch.float64)
    k12 = one.clone().requires_grad_()
    (slope,) = torch.autograd.grad(ReLU().derivative_covariance(k12, one, one), k12)
    assert float(slope) == 0


@pytest.mark.parametrize("n_terms", [2, 5, 16])
def test_what_truncation_leaves_out_keeps_both_ends_exact(n_terms: int) -> None:
    """At c = 1 and c = −1 the expectations are one-dimensional: E[φ²] and E[φ(u)φ(−u)], whatever the number of terms."""
    k = torch.tensor(1.7, dtype=torch.float64)
    for fn, square, opposite in (
        (torch.relu, 0.85, 0.0),  # half the variance; one of the two is always zero
        (torch.abs, 1.7, 1.7),
        (lambda x: x + x.relu(), 1.7 * 2.5, -1.7 * 2.0),  # slopes 1 and 2
    ):
        phi = Quadrature(fn, n_terms, tolerance=1.0)
        assert float(phi.covariance(k, k, k)) == pytest.approx(square, abs=1e-12)
        assert float(phi.covariance(-k, k, k)) == pytest.approx(opposite, abs=1e-12)
    # of two variances: the rests meet as their geometric mean, exact for homogeneous functions
    other = torch.tensor(0.4, dtype=torch.float64)
    both = (k * other).sqrt()
    value = Quadrature(torch.relu, n_terms, tolerance=1.0).covariance(both, k, other)
    assert float(value) == pytest.approx(float(both) / 2, abs=1e-12)


def test_the_slope_of_a_constant_is_zero():
    one = torch.ones(3, dtype=torch.float64)
    cosines = torch.tensor([0.3, 0.0, -1.0], dtype=torch.float64)
    for constant in (Hermite(0), Polynomial((1.0,))):
        assert torch.equal(constant.derivative_covariance(cosines, one, one), 0 * one)
        assert torch.equal(constant.covariance(cosines, one, one), one)


def test_one_steep_input_of_many_is_enough() -> None:
    from priorscope.models.nonlinearities._nonlinearity import steep

    small, mixed = torch.ones(3, dtype=torch.float64), torch.tensor([1.0, 1e9, 2.0], dtype=torch.float64)
    assert not steep(small, small)
    assert steep(mixed, small)
    assert steep(small, mixed)
    assert not steep(mixed, small, unit=1e9)
    assert not steep(small[:0], small)

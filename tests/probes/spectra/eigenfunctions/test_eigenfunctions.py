"""Exact eigenfunctions: orthonormal, eigenfunctions of sampled operators, and the kernel's own Mercer series."""

import numpy as np
import pytest
import torch
from scipy.special import eval_gegenbauer, eval_legendre, sph_harm_y

import priorscope as ps
from priorscope.probes import circle_modes, hypercube_modes, product_modes, sphere_modes
from priorscope.probes.spectra.eigenfunctions._profile import legendre
from priorscope.probes.spectra.eigenfunctions._real_harmonics import harmonics


def relu_profile(t):
    angle = np.arccos(np.clip(t, -1, 1))
    return (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi


def corners(dim):
    return 1.0 - 2.0 * ((np.arange(2**dim)[:, None] >> np.arange(dim)) & 1)


@pytest.mark.parametrize("degree_max", [0, 1, 6])
def test_legendre_polynomials_are_those_of_scipy(degree_max):
    t = np.linspace(-1, 1, 9)
    degrees = np.arange(degree_max + 1)[:, None]
    np.testing.assert_allclose(legendre(t, 3, degree_max), eval_legendre(degrees, t), atol=1e-12)
    scaled = eval_gegenbauer(degrees, 1.5, t) / eval_gegenbauer(degrees, 1.5, 1.0)
    np.testing.assert_allclose(legendre(t, 5, degree_max), scaled, atol=1e-12)


def test_harmonics_in_three_dimensions_span_the_textbook_ones():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    for degree, block in enumerate(harmonics(x, 4)):
        polar, azimuth = np.arccos(x[:, 2]), np.arctan2(x[:, 1], x[:, 0])
        known = np.stack([sph_harm_y(degree, m, polar, azimuth) for m in range(-degree, degree + 1)], 1)
        ours = block @ block.T  # the projector does not depend on the basis
        np.testing.assert_allclose(ours, 4 * np.pi * (known @ known.conj().T).real, atol=1e-10)


@pytest.mark.parametrize("dim", [4, 7])
def test_harmonics_are_orthonormal_in_higher_dimensions(dim):
    x = ps.data.sphere(40_000, dim, seed=1, dtype=torch.float64).numpy()
    basis = np.concatenate(harmonics(x, 2), 1)
    gram, noise = basis.T @ basis / len(x), 6 * 3 / np.sqrt(len(x))  # products have a spread of at most about 3
    assert np.abs(gram - np.eye(len(gram))).max() < noise


def test_circle_modes_diagonalise_a_regular_grid():
    angle = 2 * np.pi * np.arange(400) / 400
    x = np.stack([np.cos(angle), np.sin(angle)], 1)
    modes = circle_modes(relu_profile, degree_max=6)
    phi = modes(3 * x)  # the radius of the points does not matter
    np.testing.assert_allclose(relu_profile(x @ x.T) @ phi / 400, phi * modes.eigenvalues, atol=1e-5)
    np.testing.assert_allclose(phi.T @ phi / 400, np.eye(13), atol=1e-10)
    wrong = phi * np.roll(modes.eigenvalues, 1)
    assert np.abs(relu_profile(x @ x.T) @ phi / 400 - wrong).max() > 1e-2


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_the_series_of_a_polynomial_kernel_is_the_kernel(dim):
    x = ps.data.sphere(6, dim, seed=2, dtype=torch.float64).numpy()
    modes = sphere_modes(lambda t: 0.3 + t + 2 * t**3, dim, degree_max=3)
    phi, t = modes(x), x @ x.T
    np.testing.assert_allclose((phi * modes.eigenvalues) @ phi.T, 0.3 + t + 2 * t**3, atol=1e-9)


def test_products_of_spheres_and_the_wrong_factor():
    x = ps.data.product_of_spheres(5, (2, 4), seed=0, dtype=torch.float64).numpy()
    s, t = x[:, :2] @ x[:, :2].T, x[:, 2:] @ x[:, 2:].T
    modes = product_modes(lambda s, t: (1 + s) * (0.5 + t + t**2), (2, 4), degree_max=3)
    phi = modes(x)
    np.testing.assert_allclose((phi * modes.eigenvalues) @ phi.T, (1 + s) * (0.5 + t + t**2), atol=1e-9)
    assert np.abs((phi * modes.eigenvalues) @ phi.T - (1 + t) * (0.5 + s + s**2)).max() > 0.1


def test_walsh_modes_diagonalise_the_whole_cube():
    x = corners(6)
    modes = hypercube_modes(relu_profile, 6, degree_max=6)
    gram, phi = relu_profile(x @ x.T / 6), modes(x)
    np.testing.assert_allclose(gram @ phi / 64, phi * modes.eigenvalues, atol=1e-12)
    np.testing.assert_allclose(modes.eigenvalues, np.linalg.eigvalsh(gram)[::-1].clip(0) / 64, atol=1e-12)


def test_an_architecture_is_a_profile():
    arch, x = ps.models.fcn(depth=2), ps.data.sphere(300, 3, dtype=torch.float64)
    modes = sphere_modes(arch, 3, degree_max=12)
    phi = modes(x.numpy())
    found = (phi * modes.eigenvalues) @ phi.T
    exact = arch.kernel(x).ntk.numpy()
    assert np.abs(found - exact).mean() < 0.02 * exact.mean()  # the tail beyond degree 12 is all that is missing
    cube = hypercube_modes(arch, 5, degree_max=5)
    whole = arch.kernel(torch.as_tensor(corners(5))).ntk.numpy()
    np.testing.assert_allclose(cube.eigenvalues, np.linalg.eigvalsh(whole)[::-1] / 32, rtol=1e-6, atol=1e-7)
    assert len(modes.table()) == len(modes)
    assert modes.chart().to_dict()["mark"]["type"] == "point"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sphere_modes(3.0, 3, 2), "kernel as a model with a kernel or a function; got 3"),
        (lambda: sphere_modes(relu_profile, 1, 2), "dimensions >= 2"),
        (lambda: sphere_modes(relu_profile, 3, -1), "whole number"),
        (lambda: sphere_modes(relu_profile, 30, 6), "take a lower degree"),
        (lambda: sphere_modes(lambda t: t * np.nan, 3, 2), "finite"),
        (lambda: hypercube_modes(relu_profile, 3, 4), "degree_max <= dim"),
        (lambda: hypercube_modes(relu_profile, 2, 1)(np.zeros((1, 2))), "corners"),
        (lambda: circle_modes(relu_profile, 1)(np.zeros(3)), "points of shape"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_products_of_three_circles_are_orthonormal_under_the_uniform_law():
    modes = product_modes(lambda r, s, t: (1 + r) * (1 + s) * (1 + t), (2, 2, 2), 2)
    angle = 2 * np.pi * (np.arange(5) + 0.5) / 5
    circle = np.stack([np.cos(angle), np.sin(angle)], 1)
    grid = np.stack(np.meshgrid(*[np.arange(5)] * 3, indexing="ij"), -1).reshape(-1, 3)
    points = np.concatenate([circle[grid[:, k]] for k in range(3)], 1)
    values = modes(points)
    np.testing.assert_allclose(values.T @ values / len(points), np.eye(values.shape[1]), atol=1e-12)
    assert values.shape[1] == 1 + 3 * 2 + 3 * 2 + 3 * 4  # degrees 0, 1, 2 of one circle, 1 of two

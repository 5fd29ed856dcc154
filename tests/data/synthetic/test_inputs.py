"""Synthetic inputs against their moments; tolerances are five standard errors."""

import pytest
import torch

from priorscope.data import (
    circles,
    cube,
    deformed_templates,
    digits,
    directional,
    from_function,
    gaussian,
    hypercube,
    linear_plus_circle,
    local_features,
    on_sphere,
    product_of_spheres,
    protein_folds,
    random_labels,
    random_patterns,
    shapes,
    sphere,
    stripe,
    tetris,
)

N = 20_000


def test_sphere_is_isotropic_on_its_radius():
    x = sphere(N, 4, radius=2.0, seed=1, dtype=torch.float64)
    torch.testing.assert_close(x.norm(dim=1), torch.full((N,), 2.0, dtype=torch.float64))
    second = x.mT @ x / N  # radius² / dim on the diagonal; E[x1⁴] = 3·16/(4·6) = 2, so the variance is 1
    assert (second - torch.eye(4)).abs().max() < 5 / N**0.5
    assert (x**4).mean(0).sub(2.0).abs().max() < 5 * (x**4).std() / N**0.5  # not the Gaussian's 3


def test_product_of_spheres_has_independent_blocks():
    x = product_of_spheres(N, (3, 2), radii=(1.0, 3.0), seed=2, dtype=torch.float64)
    torch.testing.assert_close(x[:, 3:].norm(dim=1), torch.full((N,), 3.0, dtype=torch.float64))
    cross = x[:, :3].mT @ x[:, 3:] / N
    assert cross.abs().max() < 5 * (1 / 3 * 9 / 2 / N) ** 0.5


def test_gaussian_has_its_covariance_even_when_singular():
    a = torch.tensor([[1.0, 0.5], [0.5, 2.0], [1.5, 2.5]], dtype=torch.float64)  # third row = sum of the first two
    cov = a @ a.mT
    x = gaussian(N, cov, mean=torch.tensor([1.0, 2.0, 3.0]), seed=3, dtype=torch.float64)
    centred = x - torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    noise = ((cov.diagonal()[:, None] * cov.diagonal() + cov**2) / N) ** 0.5
    assert ((centred.mT @ centred / N - cov).abs() < 5 * noise).all()
    assert (centred[:, 2] - centred[:, 0] - centred[:, 1]).abs().max() < 1e-6


def test_cubes_and_seeds():
    x = cube(N, 2, low=0, high=3, seed=4)
    assert abs(float(x.var()) - 0.75) < 0.02
    y = hypercube(N, 3, seed=4)
    assert y.mean(0).abs().max() < 5 / N**0.5
    assert torch.equal(y, hypercube(N, 3, seed=4))
    assert not torch.equal(y, hypercube(N, 3, seed=5))


def test_from_function_keeps_test_targets_clean():
    data = from_function(lambda n, s: sphere(n, 3, seed=s), lambda x: x[:, 0], 50, 60, seed=2, noise=0.5)
    assert torch.equal(data.test.targets[:, 0], data.test.inputs[:, 0])
    assert not torch.equal(data.targets[:, 0], data.inputs[:, 0])


def test_bad_input():
    with pytest.raises(ValueError, match="sphere needs a whole number n >= 1; got 0"):
        sphere(0, 3)
    with pytest.raises(ValueError, match="one radius a sphere"):
        product_of_spheres(3, (2, 2), radii=(1.0,))
    with pytest.raises(ValueError, match="symmetric"):
        gaussian(3, torch.tensor([[1.0, 2.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="positive semidefinite"):
        gaussian(3, torch.diag(torch.tensor([1.0, -1.0])))
    with pytest.raises(ValueError, match="low < high"):
        cube(3, 2, low=1, high=1)
    with pytest.raises(ValueError, match="inputs of 1000 numbers would take .* GB"):
        gaussian(10**12, 1000)
    with pytest.raises(ValueError, match="product_of_spheres needs .*radii"):
        product_of_spheres(3, (2, 2), radii=(1.0, -1.0))


def test_a_cube_reaches_from_its_lower_to_its_upper_end():
    x = cube(N, 1, low=1, high=4, seed=1)
    assert 1 <= float(x.min()) < 1.01
    assert 3.99 < float(x.max()) <= 4
    assert abs(float(x.mean()) - 2.5) < 5 * (9 / 12 / N) ** 0.5


def test_spheres_have_radius_one_unless_told_and_data_their_name():
    x = product_of_spheres(5, (2, 4), dtype=torch.float64)
    torch.testing.assert_close(x[:, :2].norm(dim=1), torch.ones(5, dtype=torch.float64))
    torch.testing.assert_close(x[:, 2:].norm(dim=1), torch.ones(5, dtype=torch.float64))
    with pytest.raises(ValueError, match="product_of_spheres needs"):
        product_of_spheres(3, ())
    with pytest.raises(ValueError, match="symmetric"):
        gaussian(3, torch.ones(2, 3))
    with pytest.raises(ValueError, match="positive semidefinite"):
        gaussian(3, torch.diag(torch.tensor([-1.0, -2.0])))
    made = from_function(lambda n, s: sphere(n, 3, seed=s), lambda x: x[:, 0], 5, 6, name="first coordinate")
    assert made.name == "first coordinate"


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: sphere(4, 3, seed=seed),
        lambda seed: product_of_spheres(4, (2, 2), seed=seed),
        lambda seed: gaussian(4, 3, seed=seed),
        lambda seed: cube(4, 3, seed=seed),
        lambda seed: hypercube(30, 3, seed=seed),
        lambda seed: stripe(4, 3, seed=seed).inputs,
        lambda seed: random_patterns(4, 3, seed=seed).inputs,
        lambda seed: random_labels(torch.eye(3), 8, seed=seed).inputs,
        lambda seed: circles(torch.eye(3)[:2], 8, 4, seed=seed).inputs,
        lambda seed: directional(torch.eye(3)[0], "linear", 8, 4, seed=seed).inputs,
        lambda seed: linear_plus_circle(torch.eye(4)[0], torch.eye(4)[1:3], 8, 4, seed=seed).inputs,
        lambda seed: local_features(8, 4, seed=seed).inputs,
        lambda seed: deformed_templates(8, 4, size=6, n_classes=2, seed=seed).inputs,
        lambda seed: digits(seed=seed).inputs,
        lambda seed: tetris(n_test=1, seed=seed).test.inputs,
        lambda seed: shapes(8, 8, bandwidth=2, seed=seed).inputs,
        lambda seed: shapes(8, 8, bandwidth=2, stretch=0.0, seed=seed).test.inputs,
        lambda seed: on_sphere(digits().subset(8, n_test=4), 4, rotate=("train",), seed=seed).inputs,
        lambda seed: protein_folds(6, 6, size=4, voxel=8.0, seed=seed).inputs,
        lambda seed: from_function(lambda n, s: sphere(n, 2, seed=s), lambda x: x[:, 0], 4, 4, seed=seed).inputs,
    ],
)
def test_a_draw_follows_from_its_seed(make):
    one, same, other = make(1), make(1), make(2)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert not torch.equal(one, make(0))


def test_a_covariance_symmetric_up_to_roundings_is_taken() -> None:
    cov = torch.tensor([[1.0, 0.0], [1e-9, 1.0]], dtype=torch.float64)
    assert gaussian(3, cov).shape == (3, 2)
    with pytest.raises(ValueError, match="symmetric"):
        gaussian(3, cov + 1e-4 * torch.tensor([[0.0, 1.0], [0.0, 0.0]]))

"""Directional data: the signal is where it was put, and nowhere else."""

import pytest
import torch

from priorscope.data import circles, directional, flip_spectrum, linear_plus_circle, random_labels


def basis(dim: int = 12) -> torch.Tensor:
    return torch.linalg.qr(torch.randn(dim, dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)).Q.mT


def test_circles_lie_in_their_plane_and_noise_elsewhere():
    u = basis()
    data = circles(u[:2], 4000, 100, radii=(1.0, 2.0), noise=0.5, input_shape=(1, 3, 4))
    assert data.input_shape == (1, 3, 4)
    coords = data.inputs.flatten(1).double() @ u.mT
    radius = coords[:, :2].norm(dim=1)
    torch.testing.assert_close(radius, torch.where(data.targets[:, 0] > 0, 2.0, 1.0).double(), atol=1e-5, rtol=0)
    assert (coords[:, 2:].std(0) - 0.5).abs().max() < 5 * 0.5 / (2 * 4000) ** 0.5
    assert data.train_labels.float().mean() == 0.5


@pytest.mark.parametrize("kind", ["linear", "quadratic", "sinusoidal"])
def test_directional_labels_follow_the_formula(kind):
    u = basis()
    data = directional(u[4], kind, 4000, 10, seed=1)
    s = data.inputs.double() @ u[4]
    strength = {"linear": 0.9, "quadratic": 2.0, "sinusoidal": 2.1}[kind]
    assert abs(float(s.std()) - strength) < 5 * strength / (2 * 4000) ** 0.5
    value = {"linear": s, "quadratic": s**2 - 0.4549364 * strength**2, "sinusoidal": s.sin()}[kind]
    clear = value.abs() > 1e-4
    assert torch.equal((value > 0)[clear], (data.targets[:, 0] > 0)[clear])
    assert abs(float(data.train_labels.float().mean()) - 0.5) < 5 * 0.5 / 4000**0.5


def test_frequency_of_the_sine():
    u = basis()
    data = directional(u[0], "sinusoidal", 500, strength=5.0, frequency=0.5)
    s = data.inputs.double() @ u[0]
    clear = (0.5 * s).sin().abs() > 1e-4
    assert torch.equal(((0.5 * s).sin() > 0)[clear], (data.targets[:, 0] > 0)[clear])
    assert not torch.equal((s.sin() > 0)[clear], (data.targets[:, 0] > 0)[clear])


def test_linear_plus_circle_breaks_one_feature_in_the_test_split():
    u = basis()
    for keep in ("linear", "circle"):
        data = linear_plus_circle(u[0], u[1:3], 500, 2000, keep=keep)
        coords = data.test.inputs.double() @ u.mT
        y = data.test.targets[:, 0]
        along = float((coords[:, 0].sign() == y).float().mean())
        around = float(((coords[:, 1:3].norm(dim=1) > 1.5) == (y > 0)).float().mean())
        kept, broken = (along, around) if keep == "linear" else (around, along)
        assert kept == 1.0
        assert abs(broken - 0.5) < 0.06
        train = data.inputs.double() @ u.mT
        assert torch.equal(train[:, 0] > 0, data.targets[:, 0] > 0)


def test_flip_spectrum_and_random_labels():
    a = torch.randn(5, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    g = a @ a.mT
    flipped = flip_spectrum(g)
    torch.testing.assert_close(flip_spectrum(flipped), g)
    torch.testing.assert_close(torch.linalg.eigvalsh(flipped), torch.linalg.eigvalsh(g))
    lam, v = torch.linalg.eigh(g)
    torch.testing.assert_close(v[:, 0] @ flipped @ v[:, 0], lam[-1])
    data = random_labels(100 * g, 20_000)
    top = data.inputs.double() @ v[:, -1]
    assert abs(float(top.var()) - 1) < 5 * (2 / 20_000) ** 0.5  # largest eigenvalue scaled to one


def test_bad_directions():
    u = basis().float()
    with pytest.raises(ValueError, match="orthonormal directions"):
        circles(2 * u[:2])
    with pytest.raises(ValueError, match=r"needs 2 direction\(s\)"):
        circles(u[:1])
    with pytest.raises(ValueError, match="two different radii"):
        circles(u[:2], radii=(1.0, 1.0))
    with pytest.raises(ValueError, match="knows the kinds"):
        directional(u[0], "cubic")
    with pytest.raises(ValueError, match="keep must be"):
        linear_plus_circle(u[0], u[1:3], keep="none")
    with pytest.raises(ValueError, match="square matrix"):
        flip_spectrum(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="positive eigenvalue"):
        random_labels(torch.zeros(2, 2))


def test_strengths_offsets_and_noise_are_those_asked_for():
    u = basis(6)
    data = directional(u[0], "linear", 3000, 50, strength=3.0, noise=0.0, offset=1.5, input_shape=(2, 3))
    assert data.input_shape == (2, 3)
    flat = data.inputs.flatten(1).double()
    s = flat @ u[0]
    assert abs(float(s.std()) - 3) < 5 * 3 / 6000**0.5
    torch.testing.assert_close(flat, s[:, None] * u[0], atol=1e-5, rtol=0)  # nothing at right angles
    clear = (s + 1.5).abs() > 1e-4
    assert torch.equal((s + 1.5 > 0)[clear], (data.targets[:, 0] > 0)[clear])
    assert abs(float((directional(u[0], noise=2.0).inputs.double() @ u[3]).std()) - 2) < 0.3

    both = linear_plus_circle(u[0], u[1:3], 400, 300, strength=2.5, radii=(0.5, 3.0), noise=0.0, input_shape=(1, 2, 3))
    for split in (both.train, both.test):
        coords = split.inputs.flatten(1).double() @ u.mT
        y = split.targets[:, 0].double()
        torch.testing.assert_close(coords[:, 0], 2.5 * y, atol=1e-5, rtol=0)
        torch.testing.assert_close(coords[:, 1:3].norm(dim=1), torch.where(y > 0, 3.0, 0.5).double(), atol=1e-5, rtol=0)
        assert coords[:, 3:].abs().max() < 1e-5
    assert both.input_shape == (1, 2, 3)
    noisy = linear_plus_circle(u[0], u[1:3], 4000, 10, noise=0.7).inputs.double() @ u[4]
    assert abs(float(noisy.std()) - 0.7) < 5 * 0.7 / 8000**0.5


def test_random_labels_are_split_and_shaped_as_asked():
    data = random_labels(torch.eye(6), 30, 20, seed=4, input_shape=(2, 3))
    assert (len(data.train), len(data.test), data.input_shape) == (30, 20, (2, 3))
    whole = random_labels(torch.eye(6), 50, seed=4)
    assert torch.equal(torch.cat([data.inputs, data.test.inputs]).flatten(1), whole.inputs)
    assert torch.equal(torch.cat([data.targets, data.test.targets]), whole.targets)
    assert torch.equal(torch.cat([data.train_labels, data.test_labels]), whole.train_labels)
    assert torch.equal(whole.targets[:, 0] > 0, whole.train_labels == 1)
    assert whole.train_labels[:2].tolist() == [0, 1]
    with pytest.raises(ValueError, match="square matrix"):
        flip_spectrum(torch.zeros(2, 2, 2))
    with pytest.raises(ValueError, match=r"needs 2 direction\(s\) of at least 2"):
        circles(torch.ones(2, 1))

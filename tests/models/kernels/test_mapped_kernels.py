"""Gradients of kernel expansions against differences, kernels behind maps against mapped inputs."""

import pytest
import torch

import priorscope as ps
from priorscope.contracts import kernel_matrix
from priorscope.models import Activation, Architecture, Dense, LayerNorm

m = ps.models
STEP = 1e-5


def by_differences(model, x, z, c, kind):
    """Central differences of K(x, z) c: error of order STEP² times third derivatives, and rounding over STEP."""
    out = torch.zeros(len(x), c.shape[1], x[0].numel(), dtype=torch.float64)
    for k in range(x[0].numel()):
        e = torch.zeros(x[0].numel(), dtype=torch.float64)
        e[k] = STEP
        e = e.reshape(x.shape[1:])
        out[:, :, k] = (kernel_matrix(model, x + e, z, kind) - kernel_matrix(model, x - e, z, kind)) @ c / (2 * STEP)
    return out.reshape(len(x), c.shape[1], *x.shape[1:])


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


FLAT = {
    "laplace": m.laplace(1.3),
    "gaussian": m.gaussian(1.1),
    "matern-1.5": m.matern(1.5, 1.2),
    "matern-2.5": m.matern(2.5, 0.9),
    "rough": m.matern(0.7, 1.0),
    "smooth": m.matern(3.2, 1.0),
    "fcn": m.fcn(2),
    "erf with biases": m.fcn(3, activation="erf", bias_variance=0.1),
    "gelu": m.fcn(1, activation="gelu"),
    "normed": Architecture("normed", (Dense(2.0), LayerNorm(), Activation("relu"), Dense())),
    "mapped laplace": m.laplace(1.0).mapped(draw(4, 4, seed=5)),
    "mapped fcn": m.fcn(2).mapped(draw(4, seed=6)),
}


@pytest.mark.parametrize("kind", ["ntk", "nngp"])
@pytest.mark.parametrize("name", FLAT)
def test_gradients_are_those_of_differences(name, kind):
    x, z, c = draw(5, 4), draw(7, 4, seed=1), draw(7, 2, seed=2)
    found = FLAT[name].expansion_gradients(x, z, c, kind=kind)
    wanted = by_differences(FLAT[name], x, z, c, kind)
    assert found.shape == (5, 2, 4)
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-7 * float(wanted.abs().max()) + 1e-8)


IMAGES = {
    "vec": m.vec(2),
    "gap": m.gap(1),
    "fcn": m.fcn(2),
    "laplace": m.laplace(3.0),
    "mapped vec": m.vec(1).mapped(draw(18, 18, seed=7)),
    "mapped gap with zeros": m.gap(1, padding="zeros").mapped(draw(18, seed=8)),
}


@pytest.mark.parametrize("name", IMAGES)
def test_gradients_of_images_are_those_of_differences(name):
    x, z, c = draw(3, 2, 4, 4), draw(4, 2, 4, 4, seed=1), draw(4, 2, seed=2)
    wanted = by_differences(IMAGES[name], x, z, c, "ntk")
    found = IMAGES[name].expansion_gradients(x, z, c)
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6 * float(wanted.abs().max()))


def test_an_anchor_with_a_kink_counts_as_flat():
    x = draw(4, 3)
    for model in (m.laplace(1.0), m.fcn(1)):
        alone = model.expansion_gradients(x[:1], x[:1], torch.ones(1, 1, dtype=torch.float64))
        assert bool(torch.isfinite(alone).all())
    assert not bool(m.laplace(1.0).expansion_gradients(x[:1], x[:1], torch.ones(1, 1)).any())


def test_a_map_is_that_of_the_inputs():
    x, z, A = draw(5, 4), draw(6, 4, seed=1), draw(4, 4, seed=2)
    for model in (m.laplace(1.0), m.fcn(2)):
        wanted = kernel_matrix(model, x @ A.T, z @ A.T)
        torch.testing.assert_close(kernel_matrix(model.mapped(A), x, z), wanted)
        torch.testing.assert_close(
            kernel_matrix(model.mapped(A).mapped(torch.eye(4)), x, z), kernel_matrix(model, x, z)
        )
        assert not torch.allclose(kernel_matrix(model.mapped(A.T), x, z), wanted)


def test_a_median_bandwidth_is_that_of_the_mapped_inputs():
    x = draw(30, 3)
    mapped = m.laplace().mapped(torch.tensor([2.0, 0.0, 0.0])).settled(x)
    assert mapped.model.bandwidth == m.laplace().settled(2 * x[:, :1]).bandwidth


@pytest.mark.parametrize(
    "arch",
    [m.vec(2), m.gap(2, padding="zeros"), m.vec(1, padding="valid"), m.lap(1, window=2), m.vec(1, kernel_size=2)],
)
def test_the_identity_on_patches_changes_nothing(arch):
    x, z = draw(3, 2, 4, 4), draw(2, 2, 4, 4, seed=1)
    size = 2 * arch.layers[0].kernel_size ** 2
    for kind in ("ntk", "nngp"):
        plain = kernel_matrix(arch, x, z, kind)
        torch.testing.assert_close(
            kernel_matrix(arch.mapped(torch.eye(size)), x, z, kind), plain, rtol=1e-9, atol=1e-12
        )
        turned = kernel_matrix(arch.mapped(torch.linspace(0.1, 2, size)), x, z, kind)
        assert not torch.allclose(turned, plain, rtol=1e-3)


def test_a_rotation_of_patches_changes_nothing_but_a_stretch_does():
    x = draw(3, 1, 4, 4)
    Q = torch.linalg.qr(draw(9, 9, seed=3)).Q
    arch = m.gap(2)
    torch.testing.assert_close(kernel_matrix(arch.mapped(Q), x), kernel_matrix(arch, x))


def test_the_moment_of_patches_is_the_mean_over_positions():
    """A linear network of one filter without overlap: f(x) = sum of w·p over patches, whose gradient is w at each."""
    x, z, c = draw(3, 1, 4), draw(5, 1, 4, seed=1), draw(5, 1, seed=2)
    arch = Architecture("filter", (m.Conv(2, stride=2, padding="valid"), m.GlobalAvgPool(), Dense()))
    found = arch.feature_moment(x, z, c, kind="nngp")
    # K(x, z) = mean over pixel pairs of p·q / 2, so the gradient at each of 2 positions is the mean of q c over positions,
    # over 2·2
    w = (z.reshape(5, 2, 2).mean(1) * c).sum(0) / 2 / 2
    torch.testing.assert_close(found, torch.outer(w, w))
    assert not torch.allclose(found, 4 * torch.outer(w, w))


def test_what_cannot_be_mapped_is_refused():
    with pytest.raises(ValueError, match="no linear map of its patches"):
        m.lcn(1).mapped(torch.eye(9))
    with pytest.raises(ValueError, match="finite matrix"):
        m.laplace().mapped(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="takes inputs of 3 numbers; got 2"):
        m.laplace(1.0).mapped(torch.eye(3)).kernel(torch.eye(2))
    with pytest.raises(ValueError, match="one shape"):
        m.laplace(1.0).expansion_gradients(torch.eye(2), torch.eye(3), torch.ones(3, 1))
    with pytest.raises(ValueError, match="coefficients"):
        m.laplace(1.0).expansion_gradients(torch.eye(2), torch.eye(2), torch.ones(3, 1))


def test_moments_of_patches_hold_every_channel():
    x = draw(3, 2, 5, 5)
    M = m.vec(1).feature_moment(x, x, draw(3, 1, seed=1))
    assert M.shape == (18, 18)
    assert float(M[:9, :9].trace()) > 0 < float(M[9:, 9:].trace())


def test_rows_that_are_there_twice_add_no_slope_to_each_other():
    """Equal rows may differ by rounding behind a map, and the kink of the Laplace kernel must not see that: pair by pair."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(40, 7, generator=g, dtype=torch.float64)
    x = torch.cat([x, x[::3], x[::2]])
    c = torch.randn(len(x), 2, generator=g, dtype=torch.float64)
    B = torch.randn(7, 7, generator=g, dtype=torch.float64)
    model = ps.models.laplace(2.0).mapped(B @ B.mT)
    wanted = torch.zeros(7, 7, dtype=torch.float64)
    for a in x:
        apart = (a - x) @ model.matrix.mT
        r = apart.norm(dim=1) / 2.0
        slope = torch.where((a == x).all(1), 0.0, -torch.exp(-r) / r.clamp(min=1e-300))
        gradient = torch.einsum("j,jo,jd->od", slope, c, apart) / 4.0 @ model.matrix
        wanted += gradient.mT @ gradient / (2 * len(x))
    torch.testing.assert_close(model.feature_moment(x, x, c), wanted, rtol=1e-6, atol=1e-9)

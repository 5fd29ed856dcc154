"""Correlation layers against integrals by hand; equivariance to rounding; published counts of weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.models import planar_cnn, spherical_cnn, spherical_resnet
from priorscope.models.equivariant.spheres import (
    S2Correlation,
    SO3Correlation,
    SO3Integral,
    SO3Max,
    SphericalResidual,
    identity_filter,
    local_filter,
    ring_filter,
    rotate_s2,
    rotate_so3,
    rotation_matrix,
    s2_fft,
    s2_ifft,
    so3_fft,
    so3_ifft,
    soft_angles,
    soft_weights,
    wigner_D,
    zonal_convolution,
)

R = rotation_matrix(*torch.tensor([0.3, 0.7, -1.2], dtype=torch.float64))


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def at_rotation(spectrum: list[torch.Tensor], rotation: torch.Tensor) -> torch.Tensor:
    """The value of an SO(3) signal at one rotation, by the sum of its series."""
    D = [wigner_D(l, *ps.models.spheres.euler_angles(rotation)) for l in range(len(spectrum))]
    return sum((2 * l + 1) * (block * D[l]).sum((-1, -2)) for l, block in enumerate(spectrum)).real


def weights_of(layer: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for p in layer.parameters():
        nn.init.normal_(p)
    return layer


def test_sphere_correlation_is_its_integral():
    b = 4
    layer = weights_of(S2Correlation(2, 3, b, b, points=local_filter(turns=1, max_beta=1.0)).double())
    f = s2_ifft(s2_fft(noise(1, 2, 2 * b, 2 * b)), real=True)
    psi = s2_ifft(layer.filter_spectrum(), real=True)  # (inputs, outputs, 2b, 2b)
    weights = (soft_weights(b) / (2 * b))[:, None]
    direct = torch.stack([(rotate_s2(psi[:, o], R) * f[0] * weights).sum() for o in range(3)])
    found = at_rotation(so3_fft(layer(f) - layer.bias[:, None, None, None]), R)[0]
    torch.testing.assert_close(found, direct, atol=1e-12, rtol=0)


def test_rotation_correlation_is_its_integral():
    b = 4
    layer = weights_of(SO3Correlation(2, 3, b, b, points=ring_filter(8)).double())
    f = so3_ifft(so3_fft(noise(1, 2, 2 * b, 2 * b, 2 * b)), real=True)
    psi = so3_ifft(layer.filter_spectrum(), real=True)
    weights = (soft_weights(b) / (2 * b) ** 2)[:, None, None]
    direct = torch.stack([(rotate_so3(psi[:, o], R) * f[0] * weights).sum() for o in range(3)])
    found = at_rotation(so3_fft(layer(f) - layer.bias[:, None, None, None]), R)[0]
    torch.testing.assert_close(found, direct, atol=1e-12, rtol=0)


def relative_error(net: nn.Module, b: int, dtype: torch.dtype) -> float:
    """Δ of Cohen et al. (2018), section 5.1, on white noise and one rotation per draw."""
    found = []
    for seed in range(3):
        f = noise(1, 4, 2 * b, 2 * b, 2 * b, seed=seed).to(dtype)
        with torch.no_grad():
            out, moved = net(f), net(rotate_so3(f, R))
        found.append(float((rotate_so3(out, R) - moved).std() / out.std()))
    return sum(found) / 3


def stack(depth: int, b: int, relu: bool) -> nn.Module:
    torch.manual_seed(0)
    layers = [SO3Correlation(4, 4, b, b, points=ring_filter(2 * b)) for _ in range(depth)]
    return nn.Sequential(*[part for layer in layers for part in ([layer, nn.ReLU()] if relu else [layer])])


def test_errors_of_equivariance_are_rounding_without_relu_and_flat_with_it():
    single = [relative_error(stack(depth, 4, False), 4, torch.float32) for depth in (1, 4)]
    double = [relative_error(stack(depth, 4, False).double(), 4, torch.float64) for depth in (1, 4)]
    assert single[0] < single[1] < 1e-5
    assert double[0] < double[1] < 1e-12
    rectified = [relative_error(stack(1, b, True), b, torch.float32) for b in (4, 8)]
    assert min(rectified) > 1e-2
    assert max(rectified) / min(rectified) < 1.5


def test_sphere_layers_turn_with_their_input_and_pools_do_not():
    layer = weights_of(S2Correlation(3, 4, 6, 4).double())
    f = noise(2, 3, 12, 12)
    out, moved = layer(f), layer(rotate_s2(f, R))
    assert (rotate_so3(out, R) - moved).abs().max() < 1e-12
    assert (out - moved).abs().max() > 0.01
    assert (SO3Integral()(out) - SO3Integral()(moved)).abs().max() < 1e-12
    assert (out.mean((-1, -2, -3)) - moved.mean((-1, -2, -3))).abs().max() > 1e-4  # without weights it would not be one
    assert SO3Max()(out).shape == (2, 4)
    fine = [so3_ifft(so3_fft(z), 16, real=True) for z in (out, moved)]
    assert (SO3Max()(fine[0]) / SO3Max()(fine[1]) - 1).abs().max() < 0.02


def test_the_convolution_of_driscoll_and_healy_is_blind_to_directions():
    b = 5
    f, psi = (s2_ifft(s2_fft(noise(2 * b, 2 * b, seed=s)), real=True) for s in (0, 1))
    zonal = psi.mean(1, keepdim=True).expand_as(psi)
    out = zonal_convolution(f, psi)
    torch.testing.assert_close(out, zonal_convolution(f, zonal), atol=1e-12, rtol=0)
    alpha, beta = soft_angles(b)
    i, j = 3, 6
    x = rotation_matrix(alpha[i], beta[j], torch.zeros(()).double())
    # its definition, integrated over SO(3) on a grid: f(Rn) psi(R⁻¹ x)
    A, B, C = alpha[:, None, None], beta[None, :, None], alpha[None, None, :]
    rotations = rotation_matrix(*(t.expand(2 * b, 2 * b, 2 * b) for t in (A, B, C)))  # (alpha, beta, gamma)
    back = rotations.mT @ x[:, 2]
    angles = torch.atan2(back[..., 1], back[..., 0]), back[..., 2].clamp(-1, 1).acos()
    values = sum(
        (2 * l + 1) * (block * wigner_D(l, angles[0], angles[1], 0 * angles[0])[..., l]).sum(-1)
        for l, block in enumerate(s2_fft(psi))
    ).real
    weights = (soft_weights(b) / (2 * b) ** 2)[None, :, None]
    direct = (f.T[:, :, None] * values * weights).sum()
    assert abs(float(out[j, i] - direct)) < 1e-12
    # correlation with the zonal filter is the same function for every third angle, and another one for another filter
    outer = lambda p: so3_ifft([torch.einsum("m,n->mn", u, v.conj()) for u, v in zip(s2_fft(f), s2_fft(p))], real=True)  # noqa: E731
    assert (outer(zonal) - out[..., None]).abs().max() < 1e-12
    assert (outer(psi) - out[..., None]).abs().max() > 0.1


def count(net: nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


def test_published_counts_of_weights():
    assert count(spherical_cnn().network((1, 60, 60), outputs=10)) == 58_550
    assert count(planar_cnn().network((1, 60, 60), outputs=10)) == 68_106
    shrec = spherical_cnn((32, 22, 7), (50, 70, 350), filters="ring", pool="max", normalise=True)
    assert count(shrec.network((6, 256, 256), outputs=55)) == 1_399_515


def test_residual_blocks_add_their_input():
    torch.manual_seed(0)
    block = SphericalResidual(4, 4, 3, 3)
    assert isinstance(block.shortcut, nn.Identity)
    f = noise(2, 4, 6, 6, 6).float().relu()
    for p in block.body.parameters():
        nn.init.zeros_(p)
    torch.testing.assert_close(block.eval()(f), f)
    changed = SphericalResidual(4, 6, 3, 2).double().eval()
    assert not isinstance(changed.shortcut, nn.Identity)
    net = spherical_resnet((4, 2), (4, 8)).network((5, 12, 12), outputs=3)
    assert net(noise(2, 5, 12, 12).float()).shape == (2, 3)
    linear = changed.shortcut
    assert (rotate_so3(linear(f.double()), R) - linear(rotate_so3(f.double(), R))).abs().max() < 1e-12


def test_a_filter_of_the_identity_cuts_the_bandwidth():
    layer = SO3Correlation(1, 1, 5, 3, points=identity_filter(), bias=False).double()
    nn.init.constant_(layer.weight, 1 / layer.scale)
    f = noise(1, 1, 10, 10, 10)
    torch.testing.assert_close(layer(f), so3_ifft(so3_fft(f, degrees=3), real=True))


def test_a_system_learns_which_way_up_does_not_matter():
    """Caps of two sizes, trained upright and tested turned: the spherical network knows them, the planar one guesses."""
    generator = torch.Generator().manual_seed(0)
    alpha, beta = soft_angles(6)
    B, A = torch.meshgrid(beta, alpha, indexing="ij")
    x = torch.stack([B.sin() * A.cos(), B.sin() * A.sin(), B.cos()], -1)

    def caps(n: int, turned: bool) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.arange(n) % 2
        q = (
            torch.randn(n, 3, generator=generator).double()
            if turned
            else torch.tensor([[0.0, 0.0, 1.0]]).double().expand(n, 3)
        )
        height = x @ torch.nn.functional.normalize(q, dim=1).T  # (beta, alpha, n)
        sharp = 3.0 + 9.0 * y + torch.rand(n, generator=generator)
        return (sharp * (height - 1)).exp().permute(2, 0, 1)[:, None].float(), y.float()[:, None] * 2 - 1

    data = ps.data.Dataset(ps.data.Split(*caps(40, False)), ps.data.Split(*caps(60, True)))
    train = ps.inference.GradientDescent(learning_rate=0.01, steps=60, optimiser="adam")
    spherical = ps.System(data, spherical_cnn((4, 3), (6, 8)), train, width=6).run()
    planar = ps.System(data, planar_cnn(3, 2), train, width=6).run()
    assert spherical.test_accuracy > 0.95
    assert planar.test_accuracy < 0.85


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: S2Correlation(1, 1, 4, 6), "keeps or cuts the bandwidth; got 4 in and 6 out"),
        (lambda: SO3Correlation(1, 1, 4, 4, points=torch.zeros(0, 3)), "angles"),
        (lambda: S2Correlation(1, 1, 4, 4)(torch.zeros(1, 2, 8, 8)), r"wanted signals \(n, 1, 8, 8\); got"),
        (lambda: S2Correlation(1, 1, 4, 4)(torch.zeros(1, 1, 9, 9)), "odd"),
        (lambda: spherical_cnn((4,), (2, 3)), "one bandwidth and one number of channels"),
        (lambda: spherical_cnn(filters="square"), "filters is one of local, ring"),
        (lambda: spherical_cnn().network((3, 7, 7)), "odd"),
        (lambda: spherical_cnn().network((64,)), "on_sphere"),
        (lambda: planar_cnn().network((1, 8, 8)), "two convolutions of 5"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()

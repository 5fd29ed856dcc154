"""Wigner matrices, quadrature and Fourier transforms against their definitions, integrated by hand."""

from __future__ import annotations

import pytest
import torch

from priorscope.models import spheres
from priorscope.models.equivariant.spheres import (
    S2Correlation,
    SO3Correlation,
    euler_angles,
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
    wigner_d,
)
from priorscope.models.equivariant.spheres._fourier import analyse, synthesise

ANGLES = torch.tensor([[0.3, 0.7, -1.2], [2.1, 1.9, 0.4]], dtype=torch.float64)


def noise(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def haar(b: int) -> torch.Tensor:
    """Weights (2b, 2b, 2b) of the grid points of SO(3), which sum to 1."""
    return (soft_weights(b) / (2 * b) ** 2)[:, None, None].expand(2 * b, 2 * b, 2 * b)


def grid_of(b: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    alpha, beta = soft_angles(b)
    B, A, C = torch.meshgrid(beta, alpha, alpha, indexing="ij")
    return A, B, C


@pytest.mark.parametrize("degree", range(5))
def test_wigner_matrices_multiply_like_rotations(degree):
    R, Q = (rotation_matrix(*angles) for angles in ANGLES)
    product = wigner_D(degree, *ANGLES[0]) @ wigner_D(degree, *ANGLES[1])
    assert (product - wigner_D(degree, *euler_angles(R @ Q))).abs().max() < 1e-12
    D = wigner_D(degree, *ANGLES[0])
    assert (D @ D.mH - torch.eye(2 * degree + 1)).abs().max() < 1e-12
    assert (D.mH - wigner_D(degree, *euler_angles(R.T))).abs().max() < 1e-12
    if degree:  # the other order of the product is another rotation
        assert (product - wigner_D(degree, *euler_angles(Q @ R))).abs().max() > 0.1


def test_wigner_matrices_of_degree_one_by_hand():
    beta = torch.tensor(0.7, dtype=torch.float64)
    c, s, root = beta.cos(), beta.sin(), 2**0.5
    rows = [[(1 + c) / 2, s / root, (1 - c) / 2], [-s / root, c, s / root], [(1 - c) / 2, -s / root, (1 + c) / 2]]
    by_hand = torch.tensor(rows, dtype=torch.float64)  # Sakurai, eq. 3.5.57, rows and columns m = -1, 0, 1
    torch.testing.assert_close(wigner_d(1, beta), by_hand, atol=1e-14, rtol=0)
    assert (
        abs(float(wigner_d(1, beta)[2, 2] - wigner_d(1, beta)[2, 1])) > 1
    )  # erratum: no product of a harmonic and a phase


def test_wigner_entries_are_orthogonal_by_quadrature():
    b = 6
    flat = torch.cat([wigner_D(l, *grid_of(b)).flatten(-2).reshape((2 * b) ** 3, -1) for l in range(b)], 1)
    gram = flat.mH @ (flat * haar(b).reshape(-1, 1))
    wanted = torch.cat([torch.full(((2 * l + 1) ** 2,), 1 / (2 * l + 1), dtype=torch.float64) for l in range(b)])
    assert (gram - torch.diag(wanted)).abs().max() < 1e-12


@pytest.mark.parametrize("b", [1, 3, 8])
def test_quadrature_is_exact_below_degree_2b_and_not_at_it(b):
    _, beta = soft_angles(b)
    mean = [
        float((soft_weights(b) * torch.special.legendre_polynomial_p(beta.cos(), l)).sum()) for l in range(2 * b + 1)
    ]
    assert abs(mean[0] - 1) < 1e-12
    assert max(map(abs, mean[1 : 2 * b]), default=0) < 1e-12
    assert abs(mean[2 * b]) > 1e-3


@pytest.mark.parametrize("complex_", [False, True])
def test_coefficients_are_the_integrals_of_their_definition(complex_):
    b = 4
    f = noise(2 * b, 2 * b, 2 * b) + (1j * noise(2 * b, 2 * b, 2 * b, seed=1) if complex_ else 0)
    for l, block in enumerate(so3_fft(f)):
        direct = (f * haar(b))[..., None, None] * wigner_D(l, *grid_of(b)).conj()
        assert (block - direct.sum((0, 1, 2))).abs().max() < 1e-12
    g = f[..., 0]
    alpha, beta = soft_angles(b)
    B, A = torch.meshgrid(beta, alpha, indexing="ij")
    weights = (soft_weights(b) / (2 * b))[:, None]
    for l, block in enumerate(s2_fft(g)):
        direct = (g * weights)[..., None] * wigner_D(l, A, B, 0 * A)[..., l].conj()
        assert (block - direct.sum((0, 1))).abs().max() < 1e-12


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize("b", [1, 2, 5])
def test_transforms_there_and_back(b, dtype, tolerance):
    f = so3_ifft(so3_fft(noise(2, 3, 2 * b, 2 * b, 2 * b, dtype=dtype)), real=True)
    assert f.dtype == dtype
    assert (so3_ifft(so3_fft(f), real=True) - f).abs().max() < tolerance
    assert (so3_ifft(so3_fft(f)) - f).abs().max() < tolerance  # the complex path, with both halves of the orders
    g = s2_ifft(s2_fft(noise(4, 2 * b, 2 * b, dtype=dtype)), real=True)
    assert (s2_ifft(s2_fft(g), real=True) - g).abs().max() < tolerance
    lifted = g[..., None].expand(4, 2 * b, 2 * b, 2 * b)
    for l, (vector, matrix) in enumerate(zip(s2_fft(g), so3_fft(lifted))):
        assert (matrix[..., l] - vector).abs().max() < tolerance  # the sphere is the column n = 0
        assert matrix.abs().sum() - vector.abs().sum() < 100 * tolerance


def test_truncation_and_finer_grids_keep_the_coefficients():
    spectrum = so3_fft(noise(12, 12, 12), degrees=3)
    assert len(spectrum) == 3
    for finer in (3, 4, 7):
        again = so3_fft(so3_ifft(spectrum, finer, real=True), degrees=3)
        assert max(float((a - s).abs().max()) for a, s in zip(again, spectrum)) < 1e-12


def test_real_signals_have_mirrored_coefficients():
    for block in so3_fft(noise(8, 8, 8)):
        l = block.shape[0] // 2
        m = torch.arange(-l, l + 1)
        signs = (-1.0) ** (m[:, None] - m)
        assert (block.flip(0, 1) - signs * block.conj()).abs().max() < 1e-12


def test_rotations_of_signals_move_points():
    b, (R, Q) = 5, (rotation_matrix(*angles) for angles in ANGLES)
    alpha, beta = soft_angles(b)
    B, A = torch.meshgrid(beta, alpha, indexing="ij")
    x = torch.stack([B.sin() * A.cos(), B.sin() * A.sin(), B.cos()], -1)
    polynomial = lambda p: p[..., 0] + 2 * p[..., 1] * p[..., 2] - p[..., 0] ** 3  # noqa: E731
    turned = rotate_s2(polynomial(x), R)
    assert (turned - polynomial(x @ R)).abs().max() < 1e-12  # f(R⁻¹ x)
    assert (turned - polynomial(x @ R.T)).abs().max() > 0.1
    both = rotate_so3(rotate_so3(noise(2 * b, 2 * b, 2 * b), Q), R)
    assert (both - rotate_so3(noise(2 * b, 2 * b, 2 * b), R @ Q)).abs().max() < 1e-12
    inner = lambda u, v: (u * v * haar(b)).sum()  # noqa: E731
    f, g = (so3_ifft(so3_fft(noise(2 * b, 2 * b, 2 * b, seed=s)), real=True) for s in (1, 2))
    assert abs(inner(rotate_so3(f, R), g) - inner(f, rotate_so3(g, R.T))) < 1e-12  # unitary


def test_angles_at_the_poles_give_the_rotation_back():
    for angles in ([0.4, 0.0, 0.9], [0.4, torch.pi, 0.9], [0.0, 0.0, 0.0]):
        R = rotation_matrix(*torch.tensor(angles, dtype=torch.float64))
        assert (rotation_matrix(*euler_angles(R)) - R).abs().max() < 1e-12


def test_gradients_flow_through_the_transforms():
    f = noise(4, 4, 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: so3_ifft(so3_fft(s), 3, real=True), (f,))
    assert torch.autograd.gradcheck(lambda s: s2_ifft(s2_fft(s), 3), (f[0],))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: so3_fft(torch.zeros(5, 5, 5)), r"2b samples .*got shape \(5, 5, 5\).*odd"),
        (lambda: so3_fft(torch.zeros(4, 6, 6)), "unequal"),
        (lambda: s2_fft(torch.zeros(4)), "2b samples"),
        (lambda: so3_fft(torch.zeros(4, 4, 4, dtype=torch.int64)), "float32, float64"),
        (lambda: so3_fft(torch.zeros(4, 4, 4), degrees=3), "holds the degrees 0 … 1; got degrees=3"),
        (lambda: so3_ifft([]), "empty list"),
        (lambda: so3_ifft([torch.zeros(1, 1)]), "complex block"),
        (lambda: so3_ifft(so3_fft(torch.zeros(6, 6, 6)), 2), "need a grid of bandwidth 3 or more; got 2"),
        (lambda: s2_ifft(so3_fft(torch.zeros(6, 6, 6))), r"shape \(…, 3\) at l = 1"),
        (lambda: rotate_s2(torch.zeros(4, 4), -torch.eye(3)), "determinant -1"),
        (lambda: rotate_s2(torch.zeros(4, 4), torch.ones(3, 3)), "orthogonal"),
        (lambda: euler_angles(torch.eye(2)), "matrix"),
        (lambda: spheres.zonal_convolution(torch.zeros(4, 4), torch.zeros(6, 6)), "grid of the signal"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("sphere", [True, False])
@pytest.mark.parametrize(
    ("b", "degrees", "half"), [(4, 4, False), (4, 4, True), (5, 3, False), (5, 3, True), (3, 1, True)]
)
def test_compiled_loops_agree_with_products_of_matrices(sphere, b, degrees, half):
    x = torch.randn(3, 35, *(2 * b,) * (2 if sphere else 3), generator=torch.Generator().manual_seed(0)).double()
    fast = analyse(x, degrees, sphere=sphere, half=half)
    slow = analyse(x, degrees, sphere=sphere, half=half, compiled=False)
    for one, two in zip(fast, slow, strict=True):
        assert torch.allclose(one, two, atol=1e-14)
        assert one.abs().max() > 1e-3  # not both zero
    rows = analyse(x, degrees, sphere=sphere, half=True)
    back = [synthesise(rows, b, sphere=sphere, half=True, compiled=compiled) for compiled in (True, False)]
    assert torch.allclose(*back, atol=1e-13)


@pytest.mark.parametrize("sphere", [True, False])
@pytest.mark.parametrize("degrees", [2, 3])
def test_compiled_transforms_have_gradients_of_both_kinds_and_orders(sphere, degrees):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2, *(6,) * (2 if sphere else 3), generator=generator, dtype=torch.float64, requires_grad=True)
    parts = [block.detach().requires_grad_() for block in analyse(x, degrees, sphere=sphere, half=True)]

    def there(signal):
        return torch.cat([torch.view_as_real(block).flatten(1) for block in analyse(signal, degrees, sphere=sphere)], 1)

    def back(*blocks):
        return synthesise(list(blocks), 3, sphere=sphere, half=True)

    for map_, inputs in ((there, (x,)), (back, tuple(parts))):
        assert torch.autograd.gradcheck(map_, inputs, check_forward_ad=True, check_undefined_grad=False, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda signal: there(signal).square(), (x,), fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda *blocks: back(*blocks).square(), tuple(parts), fast_mode=True)


def test_compiled_transforms_map_over_networks_and_samples():
    x = torch.randn(4, 3, 6, 6, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    layer = SO3Correlation(3, 2, bandwidth_in=3, bandwidth_out=2).double()
    params = {name: value.detach() for name, value in layer.named_parameters()}

    def loss(weights, sample):
        return torch.func.functional_call(layer, weights, (sample[None],)).square().sum()

    rows = torch.func.vmap(torch.func.grad(loss), (None, 0))(params, x)
    for i in range(4):
        alone = torch.func.grad(loss)(params, x[i])
        assert all(torch.allclose(rows[name][i], alone[name]) for name in params)
    assert not torch.allclose(rows["weight"][0], rows["weight"][1])


def test_tables_made_without_gradients_serve_training():
    x = torch.randn(1, 14, 14, generator=torch.Generator().manual_seed(3))
    layer = S2Correlation(1, 2, bandwidth_in=7, bandwidth_out=3)
    with torch.inference_mode():
        layer(x[None])
        so3_fft(torch.randn(2, 14, 14, 14, dtype=torch.complex64))
    layer(x[None]).square().sum().backward()
    z = torch.randn(2, 14, 14, 14, dtype=torch.complex64, requires_grad=True)
    so3_fft(z)[2].abs().sum().backward()
    assert layer.weight.grad.abs().sum() > 0
    assert z.grad.abs().sum() > 0


def test_a_missing_sample_is_seen_in_every_coefficient_it_enters():
    x = torch.randn(2, 6, 6, 6, generator=torch.Generator().manual_seed(4))
    x[1, 2, 3, 4] = torch.nan
    blocks = so3_fft(x)
    assert all(block[0].isfinite().all() and block[1].isnan().all() for block in blocks)


def test_no_signal_at_all_is_refused():
    with pytest.raises(ValueError, match="at least one signal; got none"):
        so3_fft(torch.zeros(0, 4, 4, 4))
    with pytest.raises(ValueError, match="at least one signal; got none"):
        so3_ifft([torch.zeros(0, 1, 1, dtype=torch.complex64)], real=True)

"""Steerable kernels, layers and networks against the equations they solve, rotations of the cube and plain modules."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy.ndimage import affine_transform
from torch import nn

import priorscope as ps
from priorscope.models import steerable_cnn, voxel_cnn
from priorscope.models.equivariant._irreps import e3nn_o3, real_harmonics, real_wigner
from priorscope.models.equivariant.steerable import (
    FieldBatchNorm,
    Gate,
    LowPass,
    NormReLU,
    SteerableConv3d,
    TensorProduct,
    channels_of,
    field_matrix,
    fold,
    kernel_basis,
    rotate_fields,
)
from priorscope.models.equivariant.steerable._basis import intertwiner


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def random_rotation(seed: int = 0) -> torch.Tensor:
    Q, _ = torch.linalg.qr(noise(3, 3, seed=seed))
    return Q * torch.linalg.det(Q)


def cube_rotations() -> list[torch.Tensor]:
    """The 24 matrices of 0, 1 and -1 with determinant 1."""
    found = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            matrix = torch.zeros(3, 3, dtype=torch.float64)
            matrix[range(3), list(order)] = torch.tensor(signs, dtype=torch.float64)
            found += [matrix] if torch.linalg.det(matrix) > 0 else []
    return found


CUBE = cube_rotations()


def test_matrices_of_rotations_multiply_and_degree_one_is_the_rotation():
    R, Q = random_rotation(0), random_rotation(1)
    assert len(CUBE) == 24
    for l in range(5):
        D = real_wigner(l, R)
        assert (D @ D.T - torch.eye(2 * l + 1)).abs().max() < 1e-12
        assert (D @ real_wigner(l, Q) - real_wigner(l, R @ Q)).abs().max() < 1e-12
        mean = real_harmonics(l, noise(20_000, 3, seed=l)).square().mean()
        assert abs(float(mean) - 1) < 0.03
    assert (real_wigner(1, R) - R).abs().max() < 1e-12
    torch.testing.assert_close(
        real_wigner(2, R).float(), e3nn_o3().Irrep(2, 1).D_from_matrix(R).float(), atol=1e-4, rtol=0
    )


def test_nine_components_of_a_matrix_are_trace_rotation_and_shear():
    R = random_rotation()
    Q = torch.cat([intertwiner(1, 1, J) / (2 * J + 1) ** 0.5 * (2 * J + 1) ** 0.5 for J in range(3)], 1)
    Q = Q / Q.norm(dim=0)
    found = Q.T @ torch.kron(R, R) @ Q
    assert (found - torch.block_diag(*(real_wigner(J, R) for J in range(3)))).abs().max() < 1e-12


@pytest.mark.parametrize(("j", "l"), [(0, 0), (0, 2), (1, 1), (2, 1), (2, 2)])
def test_solutions_exist_where_the_triangle_allows_and_are_clebsch_gordan(j, l):
    R = random_rotation(7)
    for J in range(j + l + 2):
        Q = intertwiner(j, l, J)
        if not abs(j - l) <= J <= j + l:
            assert Q is None
            continue
        left = torch.kron(real_wigner(j, R), real_wigner(l, R)) @ Q
        assert (left - Q @ real_wigner(J, R)).abs().max() < 1e-12
        theirs = e3nn_o3().wigner_3j(j, l, J, dtype=torch.float64).reshape(-1, 2 * J + 1)
        cosine = (Q * theirs).sum() / Q.norm() / theirs.norm()
        assert abs(abs(float(cosine)) - 1) < 1e-6  # e3nn keeps its table in single precision


def test_kernels_between_vectors_are_identity_curl_and_shear():
    x = noise(3)
    K = [(intertwiner(1, 1, J) @ real_harmonics(J, x)).reshape(3, 3) for J in range(3)]
    assert (K[0] / K[0][0, 0] - torch.eye(3)).abs().max() < 1e-12
    assert (K[1] + K[1].T).abs().max() < 1e-12
    assert (K[1] @ x).abs().max() < 1e-12
    shear = torch.outer(x, x) - x.square().sum() / 3 * torch.eye(3)
    assert abs(abs(float((K[2] * shear).sum() / K[2].norm() / shear.norm())) - 1) < 1e-12


@pytest.mark.parametrize(("j", "l"), [(0, 0), (1, 0), (1, 1), (2, 1), (3, 2)])
def test_sampled_kernels_obey_the_constraint_at_rotations_of_the_cube(j, l):
    basis = kernel_basis(j, l, 5)
    assert (basis.flatten(1).norm(dim=1) - 1).abs().max() < 1e-12
    fields = [0] * (j + 1)
    fields[j] = 1
    for R in CUBE[::5]:
        for kernel in basis:  # kernel(R x) D^l(R) = D^j(R) kernel(x): each column is a field of order j, mixed by D^l
            turned = torch.stack([rotate_fields(kernel[:, c], fields, R) for c in range(2 * l + 1)], 1)
            mixed = torch.einsum("acxyz,bc->abxyz", turned, real_wigner(l, R))
            assert (mixed - kernel).abs().max() < 1e-12


def test_numbers_of_kernels():
    for j, l in itertools.product(range(4), repeat=2):
        assert len(kernel_basis(j, l, 5, cutoff=None)) == 3 * (2 * min(j, l) + 1)
        highest = (0, 3, 5)
        wanted = sum(abs(j - l) <= J <= top for top in highest for J in range(j + l + 1))
        assert len(kernel_basis(j, l, 5)) == wanted
    shells = kernel_basis(0, 0, 5)[:, 0, 0]  # with scalars alone, kernels are shells
    side = torch.arange(5.0).double() - 2
    radius = sum(c.square() for c in torch.meshgrid(side, side, side, indexing="ij")).sqrt()
    for m, kernel in enumerate(shells):
        shell = (-(radius - m).square() / 0.72).exp()
        assert (kernel - shell / shell.norm()).abs().max() < 1e-12


def test_high_frequencies_on_small_shells_do_not_survive_a_rotation():
    """The mean overlap of a kernel with itself turned, by cubic interpolation: falls with J, later on the larger shell."""
    R = [random_rotation(seed) for seed in range(4)]

    def overlap(J: int, shell: int) -> float:
        fields = [0] * J + [1]
        kernel = kernel_basis(J, 0, 7, cutoff=None)[shell, :, 0]
        total = 0.0
        for rotation in R:
            back, centre = rotation.T.numpy(), np.full(3, 3.0)
            moved = np.stack([affine_transform(c.numpy(), back, centre - back @ centre, order=3) for c in kernel])
            turned = torch.einsum("ij,jxyz->ixyz", field_matrix(fields, rotation), torch.tensor(moved))
            total += float((turned * kernel).sum()) / len(R)
        return total

    first, second = ([overlap(J, m) for J in (0, 2, 4, 6)] for m in (1, 2))
    assert first[0] > 0.9
    assert sorted(first, reverse=True) == first
    assert second[2] > 0.8 > 0.7 > first[2]  # order 4 lives on the second shell and not on the first


@pytest.mark.parametrize("low_pass", [False, True])
def test_layers_commute_with_all_rotations_of_the_cube(low_pass):
    net = steerable_cnn(((2, 2, 1), (3, 2, 1), (4,)), (1, 2, 1), padding=2, low_pass=low_pass)
    net = net.network((1, 9, 9, 9), width=2, outputs=3).double()
    x = noise(2, 1, 9, 9, 9)
    for R in CUBE[::4]:
        assert (net(rotate_fields(x, (1,), R)) - net(x)).abs().max() < 1e-10
    mirrored = net(x.flip(2))
    assert (mirrored - net(x)).abs().max() > 1e-6  # rotations, not mirrors: fields have no parity here
    plain = voxel_cnn((4, 4), (1, 2), padding=2).network((1, 9, 9, 9), outputs=3).double()
    assert (plain(rotate_fields(x, (1,), CUBE[5])) - plain(x)).abs().max() > 1e-4


FIELDS = (3, 2, 1)


@pytest.mark.parametrize(
    ("layer", "fields_in", "fields_out"),
    [
        (Gate(FIELDS), (6, 2, 1), FIELDS),
        (NormReLU(FIELDS), FIELDS, FIELDS),
        (TensorProduct(FIELDS, max_order=2), FIELDS, None),
        (FieldBatchNorm(FIELDS), FIELDS, FIELDS),
        (LowPass(2.0), FIELDS, FIELDS),
    ],
    ids=["gate", "norm", "product", "batch", "low-pass"],
)
def test_what_stands_between_convolutions_commutes_too(layer, fields_in, fields_out):
    layer, fields_out = layer.double(), fields_out or layer.fields
    x = noise(2, channels_of(fields_in), 5, 5, 5)
    for R in CUBE[::6]:
        found = layer(rotate_fields(x, fields_in, R))
        assert (found - rotate_fields(layer(x), fields_out, R)).abs().max() < 1e-10
    if not isinstance(layer, LowPass | FieldBatchNorm):  # pointwise: at any rotation of one voxel
        R, one = random_rotation(3), x[..., :1, :1, :1]
        turned = torch.einsum("ij,zj...->zi...", field_matrix(fields_in, R), one)
        wanted = torch.einsum("ij,zj...->zi...", field_matrix(fields_out, R), layer(one))
        assert (layer(turned) - wanted).abs().max() < 1e-10
        assert (
            torch.relu(turned) - torch.einsum("ij,zj...->zi...", field_matrix(fields_in, R), one.relu())
        ).abs().max() > 0.1


def test_products_of_vectors_by_hand():
    f = noise(1, 3, 1, 1, 1)
    out = TensorProduct((0, 1), max_order=0)(f)
    assert torch.allclose(out[0, 0].abs().flatten(), f.square().sum() / 3**0.5)  # the scalar product


def test_batch_norm_measures_norms_and_folds_in_either_order():
    torch.manual_seed(0)
    norm = FieldBatchNorm(FIELDS, momentum=0.9).double()
    x = 3 * noise(8, channels_of(FIELDS), 4, 4, 4) + 1
    y = norm(x)
    assert y[:, :3].mean((0, 2, 3, 4)).abs().max() < 1e-12
    assert (y[:, :3].var((0, 2, 3, 4), correction=0) - 1).abs().max() < 1e-5
    norms = [y[:, 3:6], y[:, 6:9], y[:, 9:14]]
    assert max(abs(float(v.square().sum(1).mean()) - 1) for v in norms) < 1e-5
    torch.testing.assert_close(y[:, :3], nn.BatchNorm3d(3).double()(x[:, :3]))
    norm.eval()
    after = SteerableConv3d(FIELDS, (2, 1), 3).double()
    torch.testing.assert_close(fold(norm, after)(x), after(norm(x)))
    before = SteerableConv3d((1, 1), FIELDS, 3, padding=1).double()
    nn.init.normal_(before.bias)
    z = noise(2, 4, 5, 5, 5)
    folded = fold(before, norm)
    assert type(folded) is nn.Conv3d
    torch.testing.assert_close(folded(z), norm(before(z)))
    assert (folded(z) - before(z)).abs().max() > 0.1
    with pytest.raises(ValueError, match="padded zeros"):
        fold(norm, SteerableConv3d(FIELDS, (2, 1), 3, padding=1).double())
    with pytest.raises(ValueError, match="fields"):
        fold(norm, SteerableConv3d((1,), (2, 1), 3))
    with pytest.raises(TypeError, match="in the order in which they act"):
        fold(norm, norm)


def test_export_is_a_plain_convolution():
    torch.manual_seed(0)
    layer = SteerableConv3d((1, 1), (2, 1), 5, stride=2, padding=3).double()
    nn.init.normal_(layer.bias)
    plain = layer.plain()
    assert type(plain) is nn.Conv3d
    x = noise(2, 4, 7, 7, 7)
    torch.testing.assert_close(plain(x), layer(x), rtol=0, atol=1e-12)


def test_low_pass_keeps_constants_and_lets_less_through_than_a_stride():
    filter_ = LowPass(2.0)
    assert len(filter_.window) == 5
    inside = filter_(torch.ones(1, 1, 13, 13, 13))[0, 0, 2:5, 2:5, 2:5]
    assert (inside - 1).abs().max() < 1e-6
    checker = (torch.arange(13) % 2 * 2.0 - 1).view(1, 1, 13, 1, 1).expand(1, 1, 13, 13, 13)
    near, far = np.exp(-1 / 1.5), np.exp(-4 / 1.5)  # deviation² = 3/4
    left = (1 - 2 * near + 2 * far) / (1 + 2 * near + 2 * far)
    passed = filter_(checker)[0, 0, 2:5, 2:5, 2:5]
    assert (passed + left).abs().max() < 1e-6  # a stride alone gives a constant -1


def test_pooled_features_drift_less_with_the_low_pass_filter():
    """Blobs turned analytically: a random network's pooled features move less where strides are smoothed."""
    side = torch.arange(21.0).double() - 10
    grid = torch.stack(torch.meshgrid(side, side, side, indexing="ij"), -1)
    centres, widths = 2.5 * noise(8, 3, seed=1), 0.7 + 0.8 * torch.rand(8, generator=torch.Generator().manual_seed(2))

    def blobs(R: torch.Tensor) -> torch.Tensor:
        r2 = (grid[..., None, :] - centres @ R.T).square().sum(-1)
        return (-r2 / (2 * widths**2)).exp().sum(-1)[None, None]

    def drift(low_pass: bool) -> float:
        layout = ((2, 2, 1), (4, 2, 1), (8,))
        found = []
        for seed in range(3):
            net = steerable_cnn(layout, (2, 2, 1), padding=2, low_pass=low_pass).network(
                (1, 21, 21, 21), outputs=2, seed=seed
            )
            pooled = net.double()[:-2]
            with torch.no_grad():
                still = pooled(blobs(torch.eye(3).double()))
                moved = [pooled(blobs(random_rotation(10 + s))) for s in range(4)]
            found.append(sum(float((m - still).norm() / still.norm()) for m in moved) / 4)
        return sum(found) / 3

    smoothed, strided = drift(True), drift(False)
    assert smoothed < strided < 0.2


def count(net: nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


def test_published_counts_of_weights():
    assert count(steerable_cnn().network((1, 36, 36, 36), outputs=8)) == 41_198
    assert count(voxel_cnn().network((1, 36, 36, 36), outputs=8)) == 6_220_882
    layout = ((8, 4, 2),) * 2 + ((16, 8, 4),) * 2 + ((32, 16, 8),) * 3 + ((512,),)
    shrec = steerable_cnn(layout, (2, 1, 2, 1, 2, 1, 2, 1), normalise=True, low_pass=False)
    assert count(shrec.network((1, 64, 64, 64), outputs=55)) == 142_617


@pytest.mark.parametrize(("low_pass", "sizes"), [(False, [40, 22, 13, 17]), (True, [40, 22, 13, 17])])
def test_published_sizes_of_the_volumes(low_pass, sizes):
    net = steerable_cnn(low_pass=low_pass).network((1, 36, 36, 36), outputs=8)
    side, found = 36, []
    for part in net:
        if isinstance(part, SteerableConv3d):
            side = (side + 2 * part.padding - part.kernel_size) // part.stride + 1
            found.append(side)
        elif isinstance(part, LowPass):
            side = (side + 2 * (len(part.window) // 2) - len(part.window)) // part.stride + 1
            found[-1] = side
    assert found == sizes


def test_a_system_trains_a_steerable_network():
    generator = torch.Generator().manual_seed(0)
    x, y = torch.rand(8, 1, 9, 9, 9, generator=generator), torch.arange(8) % 2 * 2.0 - 1
    x[y > 0, :, 3:6, 3:6, 3:6] += 0.5
    data = ps.data.Dataset(ps.data.Split(x, y), ps.data.Split(rotate_fields(x, (1,), CUBE[5]), y))
    model = steerable_cnn(((2, 1), (4,)), (2, 1), kernel_size=3, padding=1)
    train = ps.inference.GradientDescent(learning_rate=0.02, steps=30, optimiser="adam")
    outcome = ps.System(data, model, train, width=2).run()
    assert outcome.trajectory.loss[-1] < outcome.trajectory.loss[0]
    torch.testing.assert_close(outcome.predict(data.test.inputs), outcome.predict(data.inputs), atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: kernel_basis(0, 0, 4), "odd size; got 4"),
        (lambda: kernel_basis(0, 0, 5, cutoff="none"), "cutoff is one of"),
        (lambda: SteerableConv3d((1,), (0, 0)), "counts the fields"),
        (lambda: SteerableConv3d((1,), (0, 0, 0, 0, 0, 0, 1), 5), "leads from orders 0 to order 6"),
        (lambda: SteerableConv3d((1,), (1,), 3)(torch.zeros(1, 2, 5, 5, 5)), r"wanted fields \(1,\)"),
        (lambda: Gate((1, 1))(torch.zeros(1, 4, 3, 3, 3)), "wanted fields"),
        (lambda: rotate_fields(torch.zeros(1, 3, 3, 3), (1,), random_rotation()), "24 rotations"),
        (lambda: rotate_fields(torch.zeros(1, 3, 4, 3), (1,), torch.eye(3)), "cube"),
        (lambda: steerable_cnn(((2, 1), (2, 1)), (1, 1)), "scalars alone in the last"),
        (lambda: steerable_cnn(nonlinearity="tanh"), "nonlinearity is one of"),
        (lambda: steerable_cnn().network((1, 9, 9)), "cubes of voxels"),
        (lambda: voxel_cnn((4,), (1, 1)), "one stride per layer"),
        (lambda: LowPass(1.0), "scale"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_volumes_smaller_than_the_kernel_are_refused():
    with pytest.raises(ValueError, match="does not fit .3, 3, 3. with padding 0"):
        SteerableConv3d((1,), (2,), 5)(torch.randn(2, 1, 3, 3, 3))


def test_the_order_of_numbers_in_memory_changes_nothing():
    torch.manual_seed(0)
    layer = SteerableConv3d((1, 1), (2, 1), 3, padding=1).double()
    x = torch.randn(2, 4, 5, 5, 5, dtype=torch.float64)
    with torch.no_grad():
        plain = layer(x)
    assert torch.allclose(layer(x), plain, atol=1e-12)  # with gradients the channels stand next to each other
    params = {name: p.detach() for name, p in layer.named_parameters()}
    loss = torch.func.grad(lambda w, z: torch.func.functional_call(layer, w, (z[None],)).square().sum())
    rows = torch.func.vmap(loss, (None, 0))(params, x)
    layer(x[:1]).square().sum().backward()
    assert all(torch.allclose(rows[name][0], p.grad) for name, p in layer.named_parameters())

"""Settings of steerable networks, one away from its default at a time: layers looked up, counts by hand, refusals."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from priorscope.models import steerable_cnn, voxel_cnn
from priorscope.models.equivariant.steerable import (
    FieldBatchNorm,
    LowPass,
    SteerableConv3d,
    fold,
    kernel_basis,
    rotate_fields,
)
from priorscope.models.equivariant.steerable._fields import check_fields
from priorscope.models.equivariant.steerable._nonlinearities import split_fields

SHAPE, FIELDS, STRIDES = (1, 9, 9, 9), ((2, 1), (4, 0, 1), (6,)), (1, 2, 1)


def of(network, kind):
    return [m for m in network.modules() if isinstance(m, kind)]


def test_settings_of_a_steerable_network_reach_its_layers():
    make = {"kernel_size": 3, "padding": 1}
    net = steerable_cnn(FIELDS, STRIDES, cutoff=None, dropout=0.25, normalise=True, **make).network(SHAPE, width=2)
    assert [c.cutoff for c in of(net, SteerableConv3d)] == [None] * 3
    assert [d.p for d in of(net, nn.Dropout)] == [0.25]
    assert len(of(net, FieldBatchNorm)) == 3
    assert [p.stride for p in of(net, LowPass)] == [2]
    assert [c.stride for c in of(net, SteerableConv3d)] == [1, 1, 1]
    plain = steerable_cnn(FIELDS, STRIDES, low_pass=False, **make).network(SHAPE, width=2)
    assert [c.stride for c in of(plain, SteerableConv3d)] == [1, 2, 1]
    assert not of(plain, LowPass)
    assert of(plain, nn.Dropout)[0].p == 0
    wide = steerable_cnn(FIELDS, STRIDES, nonlinearity="norm", **make).network(SHAPE, width=4, outputs=3)
    assert [c.fields_out for c in of(wide, SteerableConv3d)] == [(4, 2), (8, 0, 2), (12,)]
    assert wide[-1].weight.shape == (3, 12)
    narrow = steerable_cnn(((4, 1), (2,)), (1, 1), nonlinearity="norm", **make).network(SHAPE, width=1)
    assert [c.fields_out for c in of(narrow, SteerableConv3d)] == [(1, 1), (1,)]  # none is lost by rounding
    assert wide(torch.zeros(2, *SHAPE)).shape == (2, 3)
    for fields, strides in ((FIELDS, (1, 2)), (((2, 1), (4, 1)), (1, 1))):
        with pytest.raises(ValueError, match="one stride per layer and scalars alone in the last"):
            steerable_cnn(fields, strides)
    for shape in ((1, 9, 9, 8), (9, 9, 9)):
        with pytest.raises(ValueError, match="needs cubes of voxels"):
            steerable_cnn(FIELDS, STRIDES).network(shape)
        with pytest.raises(ValueError, match="needs cubes of voxels"):
            voxel_cnn().network(shape)


def test_settings_of_the_plain_network():
    make = {"kernel_size": 3, "padding": 1}
    net = voxel_cnn((2, 6, 4), STRIDES, low_pass=True, normalise=True, dropout=0.5, **make).network(SHAPE, width=4)
    convs = of(net, nn.Conv3d)
    assert [tuple(c.weight.shape) for c in convs] == [(4, 1, 3, 3, 3), (12, 4, 3, 3, 3), (8, 12, 3, 3, 3)]
    assert [c.stride for c in convs] == [(1, 1, 1)] * 3
    assert [p.stride for p in of(net, LowPass)] == [2]
    assert [b.num_features for b in of(net, nn.BatchNorm3d)] == [4, 12, 8]
    assert of(net, nn.Dropout)[0].p == 0.5
    plain = voxel_cnn((2, 6, 4), STRIDES, **make).network(SHAPE)
    assert [c.stride for c in of(plain, nn.Conv3d)] == [(1, 1, 1), (2, 2, 2), (1, 1, 1)]
    assert not of(plain, LowPass) + of(plain, nn.BatchNorm3d)
    with pytest.raises(ValueError, match="one stride per layer; got 3 layers and 2 strides"):
        voxel_cnn((2, 6, 4), (1, 2))


@pytest.mark.parametrize(("scale", "stride", "size"), [(2.0, None, 5), (3.0, None, 9), (2.0, 1, 5), (1.5, 3, 3)])
def test_smoothing_is_by_a_gaussian_of_the_published_width(scale, stride, size):
    layer = LowPass(scale, stride=stride)
    step = round(scale) if stride is None else stride
    deviation = 0.5 * (scale**2 - 1) ** 0.5
    assert (len(layer.window), layer.stride) == (size, step)
    x = torch.zeros(1, 2, 13, 13, 13, dtype=torch.float64)
    x[0, 1, 6, 6, 6] = 1.0
    side = torch.arange(13, dtype=torch.float64) - 6
    bump = (-(side**2) / (2 * deviation**2)).exp() * (side.abs() <= size // 2)
    bump = bump / bump.sum()
    want = torch.einsum("i,j,k->ijk", bump, bump, bump)[::step, ::step, ::step]
    torch.testing.assert_close(layer(x)[0, 1], want)
    assert not layer(x)[0, 0].any()


def test_convolutions_without_bias_and_with_empty_orders():
    torch.manual_seed(0)
    x = torch.randn(2, 5, 5, 5, 5)
    bare = SteerableConv3d((2, 1), (3, 0, 1), 3, bias=False)
    assert bare.bias is None
    assert bare.plain().bias is None
    torch.testing.assert_close(bare.plain()(x), bare(x), atol=1e-5, rtol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(bare.plain()(x), bare(x), atol=1e-5, rtol=1e-4)
    biased = SteerableConv3d((2, 1), (3, 0, 1), 3)
    with torch.no_grad():
        biased.bias.copy_(torch.tensor([1.0, 2.0, 3.0]))
        for name, weight in biased.weights.items():
            weight.copy_(bare.weights[name])
    moved = biased(x) - bare(x)
    torch.testing.assert_close(moved.mean((0, 2, 3, 4)), torch.tensor([1.0, 2, 3, 0, 0, 0, 0, 0]), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(biased.plain()(x), biased(x), atol=1e-5, rtol=1e-4)
    vectors = SteerableConv3d((2, 1), (0, 2), 3)
    assert vectors.bias is None  # vectors have none, though one was asked for
    scalar = SteerableConv3d((1,), (0, 1), 3)  # from scalars to vectors
    assert scalar.filters().shape == (3, 1, 3, 3, 3)
    assert SteerableConv3d((0, 1), (1, 1), 3).filters().shape == (4, 3, 3, 3, 3)
    all_of = SteerableConv3d((1, 1), (1, 1), 5, cutoff=None)
    assert [all_of.weights[f"from_1_to_{j}"].shape[2] for j in (0, 1)] == [
        len(kernel_basis(j, 1, 5, cutoff=None)) for j in (0, 1)
    ]
    assert len(kernel_basis(1, 1, 5, cutoff=None)) > len(kernel_basis(1, 1, 5))
    none = SteerableConv3d((1, 1), (1, 1), 5, cutoff=None)
    assert none.filters().shape == (4, 4, 5, 5, 5)


def test_what_does_not_fit_a_convolution_is_refused():
    layer = SteerableConv3d((2, 1), (1,), 3)
    for shape in ((1, 4, 5, 5, 5), (1, 5, 5, 5)):
        with pytest.raises(ValueError, match=r"wanted fields \(2, 1\) as \(n, 5, d, h, w\)"):
            layer(torch.zeros(shape))
    for shape in ((1, 5, 2, 5, 5), (1, 5, 5, 5, 2)):
        with pytest.raises(ValueError, match="does not fit"):
            layer(torch.zeros(shape))
    assert layer(torch.zeros(1, 5, 3, 5, 5)).shape == (1, 1, 1, 3, 3)
    for fields in ((), (0, 0), (1, -1)):
        with pytest.raises(ValueError, match="counts the fields of order"):
            check_fields(fields)
    assert check_fields((2, 0, 1, 0, 0)) == (2, 0, 1)


def test_shells_are_as_wide_as_told():
    """From scalars to scalars kernels are Gaussian shells of the radius, of norm one."""
    for spread in (0.6, 1.1):
        found = kernel_basis(0, 0, 5, spread=spread)
        side = torch.arange(5, dtype=torch.float64) - 2
        radius = torch.stack(torch.meshgrid(side, side, side, indexing="ij")).norm(dim=0)
        for m, kernel in enumerate(found):
            shell = (-((radius - m) ** 2) / (2 * spread**2)).exp()
            torch.testing.assert_close(kernel[0, 0].abs(), shell / shell.norm())
    assert kernel_basis(1, 0, 1, cutoff=None).shape == (0, 3, 1, 1, 1, 1)  # one voxel has no direction


def test_norms_with_and_without_scalars():
    torch.manual_seed(1)
    x = torch.randn(6, 8, 3, 3, 3) * 3 + 1
    norm = FieldBatchNorm((2, 2), eps=0.5)
    got, scalars, vectors = norm(x), x[:, :2], x[:, 2:].unflatten(1, (2, 3))
    axes = (0, 2, 3, 4)
    want = (scalars - scalars.mean(axes, keepdim=True)) / (scalars.var(axes, correction=0, keepdim=True) + 0.5).sqrt()
    torch.testing.assert_close(got[:, :2], want)
    power = vectors.square().sum(2).mean((0, 2, 3, 4))
    torch.testing.assert_close(
        got[:, 2:].unflatten(1, (2, 3)), vectors / (power + 0.5).sqrt()[:, None, None, None, None]
    )
    only = FieldBatchNorm((0, 2))
    power = x[:, :6].unflatten(1, (2, 3)).square().sum(2).mean((0, 2, 3, 4))
    torch.testing.assert_close(only(x[:, :6])[:, 3:], x[:, 3:6] / (power[1] + 1e-5).sqrt())
    assert [tuple(part.shape) for part in split_fields(x[:, :6], (0, 2))] == [(6, 0, 1, 3, 3, 3), (6, 2, 3, 3, 3, 3)]


@pytest.mark.parametrize("bias", [True, False])
def test_folding_in_either_order(bias):
    torch.manual_seed(2)
    x = torch.randn(2, 5, 5, 5, 5)
    conv, norm = SteerableConv3d((2, 1), (2, 1), 3, bias=bias), FieldBatchNorm((2, 1))
    norm(torch.randn(8, 5, 4, 4, 4) * 2 + 1)
    norm.eval()
    if bias:
        with torch.no_grad():
            conv.bias.copy_(torch.tensor([0.7, -1.3]))
    torch.testing.assert_close(fold(conv, norm)(x), norm(conv(x)), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(fold(norm, conv)(x), conv(norm(x)), atol=1e-5, rtol=1e-4)
    padded = SteerableConv3d((2, 1), (2, 1), 3, padding=1)
    with pytest.raises(ValueError, match="cannot be folded"):
        fold(norm, padded)
    centred = FieldBatchNorm((2, 1)).eval()  # nothing is shifted: padding does no harm
    torch.testing.assert_close(fold(centred, padded)(x), padded(centred(x)), atol=1e-5, rtol=1e-4)


def test_only_turns_of_the_cube_turn_fields():
    x = torch.randn(3, 3, 3, 3, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(rotate_fields(x, (0, 1), torch.eye(3)), x)
    swap = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    torch.testing.assert_close(rotate_fields(x, (3,), swap), x.transpose(1, 2))
    up, down = torch.eye(3) + 1e-3 * torch.eye(3), torch.eye(3) - 1e-3 * torch.eye(3)
    one = torch.eye(3)
    one[0, 1] = 0.01
    for bad in (up, down, one, -one, torch.eye(2), torch.ones(3, 3)):
        with pytest.raises(ValueError, match="one of the 24 rotations"):
            rotate_fields(x, (3,), bad)

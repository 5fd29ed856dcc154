"""Settings of networks on points: sizes of the radial network by hand, the factor of the neighbours, broken symmetry."""

from __future__ import annotations

import pytest
import torch

from priorscope.models import point_network
from priorscope.models.equivariant.points import PointConvolution, PointNetwork, breaking_gradients

CLOUD = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0)) * 0.5


def made(kind, *args, **settings):
    torch.manual_seed(3)
    return kind(*args, **settings)


def test_sizes_of_the_radial_network():
    for radial, hidden, order in ((6, 24, 2), (4, 10, 1), (3, 5, 0)):
        layer = PointConvolution("1x0e", "2x0e+3x1o", radial=radial, hidden=hidden, max_order=order)
        assert layer.weights[0].weight.shape == (hidden, radial)
        assert layer.orders == list(range(order + 1))
        assert layer.weights[2].weight.shape == (2 + (3 if order else 0), hidden)  # one weight per path and channel
    default = PointConvolution("1x0e", "2x0e+3x1o")
    assert (default.weights[0].weight.shape, default.orders, default.neighbours) == ((24, 6), [0, 1, 2], 3.0)


def test_what_is_gathered_is_divided_by_the_root_of_the_neighbours():
    ones = torch.ones(2, 5, 1)
    few, many = (made(PointConvolution, "1x0e", "2x0e+1x1o", neighbours=z) for z in (3.0, 12.0))
    own = few.own(ones)
    torch.testing.assert_close(few(ones, CLOUD) - own, 2 * (many(ones, CLOUD) - own))
    assert (few(ones, CLOUD) - own).abs().max() > 0.01


def test_settings_reach_the_layers():
    for model in (
        PointNetwork(width=2, layers=1, max_order=1, neighbours=7.0),
        point_network(layers=1, max_order=1, neighbours=7.0).network((5, 3), width=2),
    ):
        assert len(model.convolutions) == 1
        for layer in (*model.convolutions, model.readout):
            assert (layer.orders, layer.neighbours) == ([0, 1], 7.0)
    plain = PointNetwork(width=2)
    assert (len(plain.convolutions), plain.readout.orders, plain.readout.neighbours) == (2, [0, 1, 2], 3.0)
    scalars = PointNetwork(width=2, max_order=0)  # distances alone: mirrors cannot matter
    assert scalars(CLOUD).shape == (2, 1)
    torch.testing.assert_close(scalars(CLOUD * torch.tensor([1.0, 1.0, -1.0])), scalars(CLOUD))
    assert (scalars(CLOUD) - scalars(1.3 * CLOUD)).abs().max() > 1e-4
    for shape in ((5, 4), (3,), (2, 5, 3)):
        with pytest.raises(ValueError, match="needs clouds"):
            point_network().network(shape)


def test_what_could_break_the_symmetry_is_zero_unless_given():
    net = made(PointNetwork, output="1x1o", width=2, pool="none", breaking="1x1o")
    torch.testing.assert_close(net(CLOUD), net(CLOUD, torch.zeros(3)))
    assert (net(CLOUD, torch.tensor([0.0, 1.0, 0.0])) - net(CLOUD)).abs().max() > 1e-3
    with pytest.raises(ValueError, match="targets shaped like the outputs"):
        breaking_gradients(net, CLOUD, torch.zeros(2, 1, 3))
    with pytest.raises(ValueError, match="no features that could break"):
        breaking_gradients(PointNetwork(width=2), CLOUD, torch.zeros(2, 1))

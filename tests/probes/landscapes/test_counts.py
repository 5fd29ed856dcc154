"""What a landscape counts, and the levels of its exponents, by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

import priorscope as ps
from priorscope.papers.jamming._jamming import _reduced
from priorscope.probes.landscapes import effective_parameters, hessian_split, landscape, small_argument_exponent


@pytest.fixture(scope="module")
def found():
    return landscape(ps.models.plain_network(3, 4, 1), ps.data.random_patterns(8, 3))


def test_dead_patterns_do_not_count_as_overlaps(found):
    slack = np.array([1.0, 2.0, 3.0, -1.0, -2.0])
    dead = np.array([True, False, False, True, False])
    counted = replace(found, slack=slack, dead=dead, n_weights=4)
    assert (counted.n_unsatisfied, counted.n_dead) == (3, 1)  # a dead pattern that is satisfied is no overlap
    assert counted.overlap_ratio == 2 / 4


def test_the_edge_of_the_second_part_is_its_upper_end(found):
    second = np.linspace(-10.0, 10.0, 21)
    edge = _reduced(replace(found, second=second))["edge"]
    assert edge == pytest.approx(np.quantile(np.abs(second[second != 0]), 0.9))
    assert edge > 8


def test_the_level_of_an_exponent_is_that_of_its_interval():
    z = np.random.default_rng(0).random(500)
    wide, narrow = (small_argument_exponent(z, level=level) for level in (0.99, 0.5))
    k = 100
    rate = 1 + wide.value
    for found, level in ((wide, 0.99), (narrow, 0.5)):
        low, high = stats.chi2.ppf([(1 - level) / 2, (1 + level) / 2], 2 * k) / (2 * k)
        assert (found.low, found.high) == pytest.approx((rate * low - 1, rate * high - 1))


def test_the_rank_does_not_change_with_the_scale_of_the_outputs():
    """Singular values count as zero relative to the largest: a network 1e12 times larger has as many parameters."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 1)).double()
    x = torch.randn(20, 2, dtype=torch.float64)
    count = effective_parameters(network, x)
    with torch.no_grad():
        network[1].weight *= 1e9
        network[0].weight *= 1e9
        network[0].bias *= 1e9
    assert effective_parameters(network, x) == count == 3


def test_the_tolerance_of_the_rank_is_the_one_given():
    """One direction a thousand times weaker than the others counts or not, as is asked."""
    torch.manual_seed(0)
    network = nn.Linear(3, 1, bias=False).double()
    x = torch.randn(30, 3, dtype=torch.float64) * torch.tensor([1.0, 1.0, 1e-4], dtype=torch.float64)

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.line = network

        def forward(self, x):
            return self.line(x * torch.tensor([1.0, 1.0, 1e-5], dtype=x.dtype))

    assert [effective_parameters(Scaled(), x, tolerance=t) for t in (1e-8, 1e-3)] == [3, 2]


class Given:
    """A loss by its values alone; the slope by autograd."""

    def __init__(self, pointwise):
        self.pointwise = pointwise

    def slope(self, f, y):
        f = f.detach().requires_grad_()
        return torch.autograd.grad(self.pointwise(f, y).sum(), f)[0]


@pytest.mark.parametrize(
    "pointwise",
    [
        lambda f, y: -0.5 * (f - y).square().sum(1),  # at its top: no slope, and it bends downwards
        lambda f, y: f[:, 0] - f[:, 1] + 0 * y.sum(1),  # no bend, and slopes that cancel
        lambda f, y: f[:, 0] * f[:, 1] + 0 * y.sum(1),  # curvatures that cancel
    ],
)
def test_samples_count_that_slope_or_bend_either_way(pointwise):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2)).double()
    x = torch.randn(4, 2, dtype=torch.float64)
    y = network(x).detach()
    split = hessian_split(network, x, y, Given(pointwise))
    names, shapes = zip(*((n, p.shape) for n, p in network.named_parameters()))

    def total(flat):
        parts = flat.split([s.numel() for s in shapes])
        weights = {n: p.reshape(s) for n, p, s in zip(names, parts, shapes)}
        return pointwise(torch.func.functional_call(network, weights, (x,)), y).mean()

    flat = torch.cat([p.detach().flatten() for p in network.parameters()])
    dense = torch.autograd.functional.hessian(total, flat)
    found = torch.as_tensor(split.first) + torch.as_tensor(split.second)
    torch.testing.assert_close(found, dense, atol=1e-10, rtol=1e-8)
    assert dense.abs().max() > 1e-3

"""Laws of fresh weights by parametrisation, constants and single numbers; circular and register networks by hand."""

from __future__ import annotations

import pytest
import torch

from priorscope.models import CircularNetwork, RegisterNetwork, fcn
from priorscope.models.networks._initial_law import InitialLaw
from priorscope.models.networks._redrawing import _constant


@pytest.mark.parametrize("parametrisation", ["ntk", "standard", "mean-field"])
def test_sizes_of_weights_and_their_scales(parametrisation):
    """Weights N(0, 1) with σ/√fan in front, or N(0, σ²/fan) with one; the mean field's readout has 1/fan in front."""
    net = fcn(2, weight_variance=3.0, bias_variance=0.4).network(
        (50,), width=80, outputs=60, parametrisation=parametrisation, dtype=torch.float64, seed=1
    )
    layers = [m for m in net if hasattr(m, "weight")]
    for i, (layer, fan) in enumerate(zip(layers, (50, 80, 80))):
        last = i == 2
        front = {"ntk": (3 / fan) ** 0.5, "standard": 1.0, "mean-field": 3**0.5 / fan if last else (3 / fan) ** 0.5}
        deviation = (3 / fan) ** 0.5 if parametrisation == "standard" else 1.0
        assert layer.scale == pytest.approx(front[parametrisation])
        assert float(layer.weight.detach().std()) == pytest.approx(deviation, rel=0.05)
        assert layer.bias_scale == pytest.approx(1.0 if parametrisation == "standard" else 0.4**0.5)
        small = 0.4**0.5 if parametrisation == "standard" else 1.0
        assert float(layer.bias.detach().std()) == pytest.approx(small, rel=0.35)
        assert layer.laws["weight"].mean_square == pytest.approx(deviation**2)
        assert layer.laws["bias"].mean_square == pytest.approx(small**2)
        assert layer.weight.dtype == torch.float64
    assert next(fcn(1).network((3,)).parameters()).dtype == torch.get_default_dtype()


def test_draws_of_a_law():
    g = torch.Generator().manual_seed(0)
    fixed = InitialLaw("constant", 0.3)
    assert fixed.mean_square == pytest.approx(0.09)
    one = fixed.draw((2, 3), g, torch.float64)
    assert (one.dtype, one.shape) == (torch.float64, (2, 3))
    assert (one == 0.3).all()
    assert fixed.draw((2, 3), g, torch.float64, 4).shape == (4, 2, 3)


@pytest.mark.parametrize(
    ("values", "size"), [(0.0, 0.0), (1.0, 1.0), (0.7, None), ([0.7, 0.7], 0.7), ([0.7, 0.8], None), ([0.0, 1.0], None)]
)
def test_a_single_number_is_fixed_where_it_is_zero_or_one(values, size):
    law = _constant(torch.tensor(values))
    assert (law is None) == (size is None)
    if law is not None:
        assert (law.kind, law.size) == ("constant", pytest.approx(size))


def test_circular_networks_by_hand():
    for depth, seed in ((2, 0), (3, 5)):
        net = CircularNetwork(6, 0.7, depth=depth, seed=seed)
        assert net.filters.shape == (depth, 6)
        g = torch.Generator().manual_seed(seed)
        torch.testing.assert_close(
            net.filters.detach(), 0.7 / 6**0.5 * torch.randn(depth, 6, generator=g, dtype=torch.float64)
        )
        beta = net.filters[0]
        for w in net.filters[1:]:  # circular convolution, unitary transforms: a factor 1/√dim each
            beta = torch.stack([sum(beta[j] * w[(i - j) % 6] for j in range(6)) for i in range(6)]) / 6**0.5
        torch.testing.assert_close(net.coefficients, beta)


def test_registers_are_full_above_their_threshold():
    x = torch.tensor([[1.0, -1.0, 1.0]])
    for threshold, first in ((0.4, 1), (0.1, 2)):
        net = RegisterNetwork(3, registers=3, threshold=threshold).train()
        with torch.no_grad():
            net.weight.copy_(torch.tensor([[0.5, 0.5, 0.5, 0.5], [0.2, 1.0, 2.0, 3.0], [0.0, 4.0, 5.0, 6.0]]))
        row = net.weight[first].detach()
        assert float(net(x).detach()) == pytest.approx(float(row @ torch.tensor([1.0, 1.0, -1.0, 1.0])))

"""One hidden layer of the theorems: its formula, its fixed signs, and the law of its Jacobian at great width."""

from __future__ import annotations

from math import log, pi

import pytest
import torch

from priorscope.models import OneHiddenLayer
from priorscope.probes import empirical_ntk


def test_the_formula_and_the_size_of_the_fixed_signs():
    net = OneHiddenLayer(4, 30, 3, seed=1)
    x = torch.randn(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = (1 + (x @ net.inner.T).exp()).log() @ net.outer.T
    torch.testing.assert_close(net(x), expected)
    torch.testing.assert_close(net.outer.abs(), torch.full_like(net.outer, (30 * 3 * log(3)) ** -0.5))
    assert not net.outer.requires_grad
    assert OneHiddenLayer(4, 30, seed=1).outer.abs().unique().tolist() == pytest.approx([30**-0.5])


def test_the_kernel_at_great_width_is_that_of_the_arc_cosine():
    """Only W moves: E[φ'φ'] x·x' with φ' of ReLU, half of it at equal points: (π − θ)/2π (Cho & Saul 2009)."""
    x = torch.eye(2, 6, dtype=torch.float64)
    gram = empirical_ntk(OneHiddenLayer(6, 40_000, 1, activation="relu", seed=0), torch.stack([x[0], x[0] + x[1]]))
    off = (pi - pi / 4) / (2 * pi) * 1.0
    assert float(gram[0, 0].detach()) == pytest.approx(0.5, abs=5 * 0.5 / 200)
    assert float(gram[0, 1].detach()) == pytest.approx(off, abs=5 * 0.5 / 200)
    assert abs(float(gram[0, 1].detach()) - 0.5) > 5 * 0.5 / 200  # control: another angle


def test_a_trained_readout_is_a_parameter_of_the_size_asked_for():
    net = OneHiddenLayer(3, 4000, 1, readout=10.0)
    assert {name for name, _ in net.named_parameters()} == {"inner", "outer"}
    assert float(net.outer.detach().std()) == pytest.approx(10, rel=5 / 8000**0.5)
    with pytest.raises(ValueError, match="softplus, relu, tanh"):
        OneHiddenLayer(3, 4, activation="gelu")

"""Networks whose outputs, weights or inputs are of a type without a tangent kernel are told; those of several types have one."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from priorscope.probes import empirical_ntk

METHODS = ["auto", "jacobian", "ntk-vector", "layerwise"]
X = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))


class Chosen(nn.Module):
    """Gives the class, or rounded outputs, in place of scores."""

    def __init__(self, rounded: bool):
        super().__init__()
        self.scores, self.rounded = nn.Linear(3, 2), rounded

    def forward(self, x):
        scores = self.scores(x)
        return scores.long() if self.rounded else scores.argmax(1, keepdim=True)


class TwoTypes(nn.Module):
    """A layer of float32 and one of float64."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 1).double()

    def forward(self, x):
        return self.last(self.first(x).relu().double())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rounded", [True, False])
def test_whole_numbers_have_no_gradient(method, rounded):
    with pytest.raises(ValueError, match=r"outputs of floating point.*Chosen gives torch\.int64"):
        empirical_ntk(Chosen(rounded), X, method=method)


@pytest.mark.parametrize("method", METHODS)
def test_weights_without_values_are_told(method):
    with pytest.raises(ValueError, match="weights with values.*meta device"):
        empirical_ntk(nn.Linear(3, 1, device="meta"), X, method=method)


@pytest.mark.parametrize("method", METHODS)
def test_inputs_of_another_type_are_told(method):
    with pytest.raises(ValueError, match=r"type of the weights, torch\.float32; got torch\.float64"):
        empirical_ntk(nn.Linear(3, 1), X.double(), method=method)


@pytest.mark.parametrize("method", ["auto", "jacobian", "ntk-vector"])
def test_a_network_of_two_types_has_the_kernel_of_its_gradients(method):
    network = TwoTypes()
    gradients = []
    for x in X:
        grads = torch.autograd.grad(network(x[None]).sum(), list(network.parameters()))
        gradients.append(torch.cat([g.flatten().double() for g in grads]))
    wanted = torch.stack(gradients) @ torch.stack(gradients).mT
    found = empirical_ntk(network, X, method=method).double()
    assert (found - wanted).abs().max() < 1e-5 * wanted.diagonal().max()  # the rounding of float32 layers
    assert (2 * found - wanted).abs().max() > 1e-2 * wanted.diagonal().max()

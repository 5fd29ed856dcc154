"""A weight that one layer shares with a module whose calls cannot be followed."""

import pytest
import torch
from torch import nn

from priorscope.probes import empirical_ntk


class Gate(nn.Module):
    """A leaf of two inputs, which is not followed."""

    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, x, y):
        return torch.tanh(x @ self.weight.T) * y


class Shared(nn.Module):
    """The weight acts in a layer that is followed and, once more, in the gate."""

    def __init__(self, tied=True):
        super().__init__()
        self.layer, self.readout = nn.Linear(4, 4), nn.Linear(4, 2)
        self.gate = Gate(self.layer.weight if tied else nn.Parameter(self.layer.weight.detach().clone()))

    def forward(self, x):
        return self.readout(self.gate(x, self.layer(x).tanh()))


@pytest.mark.parametrize("tied", [True, False])
def test_every_use_of_a_shared_weight_counts(tied):
    torch.manual_seed(0)
    network, x = Shared(tied).double(), torch.randn(5, 4, dtype=torch.float64)
    params = {name: p.detach() for name, p in network.named_parameters()}
    assert len(params) == (4 if tied else 5)

    def one(p, row):
        return torch.func.functional_call(network, p, (row[None],))[0]

    jacobian = torch.func.vmap(torch.func.jacrev(one), (None, 0))(params, x)
    exact = sum(torch.einsum("ncq,mdq->nmcd", j.flatten(2), j.flatten(2)) for j in jacobian.values())
    torch.testing.assert_close(
        empirical_ntk(network, x, outputs="full", method="layerwise"), exact, rtol=1e-10, atol=1e-10
    )
    torch.testing.assert_close(empirical_ntk(network, x, outputs="full"), exact, rtol=1e-10, atol=1e-10)

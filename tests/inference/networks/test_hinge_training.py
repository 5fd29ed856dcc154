"""Adam on the quadratic hinge by hand against the library's own, and what it refuses."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from priorscope.data import random_patterns
from priorscope.inference import GradientDescent, QuadraticHinge, train_hinge
from priorscope.models import plain_network

MARGIN = 0.5


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_training_by_hand_is_adam_on_the_quadratic_hinge(activation):
    data = random_patterns(40, 4, seed=1)
    by_hand = plain_network(4, 5, 2, activation=activation, seed=1, gain=MARGIN)
    method = GradientDescent(optimiser="adam", learning_rate=1e-2, steps=60, loss=QuadraticHinge(MARGIN), stop="fitted")
    fitted = method.fit(by_hand, data)
    assert train_hinge(by_hand, data.inputs, data.targets, 60, stages=[(1e-2, 1.0)]) == 60
    flat = torch.cat([p.detach().flatten() for p in by_hand.parameters()])
    torch.testing.assert_close(flat, fitted.params[0], atol=1e-9, rtol=1e-7)


def test_training_stops_when_every_margin_is_met():
    data = random_patterns(8, 4, seed=0)
    net = plain_network(4, 8, 1, seed=0, gain=MARGIN)
    used = train_hinge(net, data.inputs, data.targets, 5000, stages=[(1e-2, 1.0)])
    assert 0 < used < 5000
    assert float((MARGIN - data.targets * net(data.inputs)).max().detach()) <= 0


@pytest.mark.parametrize(
    "network",
    [
        nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)),  # float32
        nn.Sequential(nn.Linear(2, 3), nn.GELU(), nn.Linear(3, 1)).double(),
        nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1)).double(),
        nn.Sequential(nn.Linear(2, 3, bias=False), nn.ReLU(), nn.Linear(3, 1)).double(),
        nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).double(),
        nn.Sequential(nn.Linear(2, 1)).double(),
    ],
)
def test_networks_it_would_train_wrongly_are_refused(network):
    x = torch.zeros(2, 2, dtype=torch.float64)
    with pytest.raises(ValueError, match="train_hinge needs nn.Linear layers with biases in float64"):
        train_hinge(network, x, x[:, :1], 1)

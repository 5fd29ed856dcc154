"""Flows to their end: linear models in closed form, diagonal networks against convex programming, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from priorscope.data import Split
from priorscope.inference import GradientFlow, StiffFlow
from priorscope.models import DiagonalNetwork
from priorscope.probes import diagonal_solution


def line(d):
    net = nn.Linear(d, 1, bias=False, dtype=torch.float64)
    nn.init.zeros_(net.weight)
    return net


def test_a_linear_model_follows_its_exponentials_over_six_decades():
    x = torch.diag(torch.tensor([1.0, 0.03, 0.001], dtype=torch.float64))
    data = Split(x, torch.tensor([[1.0], [-1.0], [2.0]], dtype=torch.float64))
    for time in (3.0, 3e6):
        found = StiffFlow(time=time).fit(line(3), data).predict(x)[:, 0]
        wanted = data.targets[:, 0] * -torch.expm1(-x.diagonal().square() * time / 3)
        torch.testing.assert_close(found, wanted, atol=1e-9, rtol=0)
    assert abs(float(found[2]) - 2 * -math.expm1(-2.0)) > 1e-3  # a clock twice as fast would be seen


@pytest.mark.parametrize(("depth", "scale"), [(2, 0.01), (2, 1.0), (3, 0.3)])
def test_diagonal_networks_end_at_the_least_penalty_to_one_part_in_a_hundred_million(depth, scale):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 10))
    y = x[:, 0]
    fitted = StiffFlow(stop=1e-22).fit(
        DiagonalNetwork(10, scale, depth), Split(torch.from_numpy(x), torch.from_numpy(y)[:, None])
    )
    assert bool(fitted.finished.all())
    w = fitted.params[0].numpy().reshape(2, 10) ** depth
    np.testing.assert_allclose(w[0] - w[1], diagonal_solution(x, y, scale, depth), atol=1e-8)
    assert np.abs(w[0] - w[1] - diagonal_solution(x, y, 0.8 * scale, depth)).max() > 1e-5
    if depth == 2:
        np.testing.assert_allclose(fitted.params[0][:10] * fitted.params[0][10:], scale**2, rtol=1e-7)  # conserved


def test_it_agrees_with_explicit_steps_and_keeps_members_apart():
    torch.manual_seed(0)
    nets = [nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)).double() for _ in range(2)]
    x = torch.randn(5, 2, dtype=torch.float64)
    data = Split(x, x.prod(1, keepdim=True))
    ends = [StiffFlow(time=2.0).fit(net, data) for net in nets]
    slow = GradientFlow(time=2.0, centre=False, max_turn=1e-7, max_steps=100_000).fit(nets[0], data)
    torch.testing.assert_close(
        ends[0].predict(x), slow.predict(x), atol=2e-3, rtol=0
    )  # Euler: of the order of its turn
    assert float((ends[0].predict(x) - ends[1].predict(x)).abs().max()) > 1e-2
    losses = ends[0].trajectory.loss
    assert bool((losses[1:] <= losses[:-1] + 1e-12).all())


def test_what_is_too_large_or_does_not_match_is_refused():
    data = Split(torch.eye(2).double(), torch.tensor([[1.0], [-1.0]]).double())
    with pytest.raises(ValueError, match="at most 2000 weights; got 2002"):
        StiffFlow().fit(nn.Linear(2, 1001, bias=False).double(), data)
    with pytest.raises(ValueError, match="must match targets"):
        StiffFlow().fit(nn.Linear(2, 3).double(), data)
    with pytest.raises(ValueError, match="accuracy"):
        StiffFlow(accuracy=1.0)

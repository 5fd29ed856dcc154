"""The identity behind spectral bias, as an error: does the residual move as the empirical kernel says?"""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.inference import FourthOrderFlow
from priorscope.probes.tangent import empirical_ntk

__all__ = ["identity_error"]


def identity_error(flow: FourthOrderFlow, points: Tensor, fraction: float = 0.01) -> float:
    r"""How far :math:`\partial_t r_t(x) = -\frac1n\sum_i K_t(x, x_i) r_t(x_i)` is from true at ``points``, relative.

    The left side is the central difference of the integrated flow over ``fraction`` of its longest step, the right side
    comes from the empirical kernel at time t. The flow is returned to where it was.

    Example:
        >>> nn = torch.nn
        >>> net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        >>> flow = FourthOrderFlow(net, torch.eye(2), torch.ones(2), largest=5.0)
        >>> identity_error(flow, torch.ones(1, 2)) < 1e-4
        True
    """
    h = fraction * flow.longest
    with torch.no_grad():
        residual = flow.network(flow.x).reshape(-1) - flow.y.reshape(-1)
    right = -empirical_ntk(flow.network, points.double(), flow.x) @ residual / len(flow.x)
    before = [p.detach().clone() for p in flow.params]
    ends = []
    for sign in (-1, 1):
        flow.advance(sign * h)
        with torch.no_grad():
            ends.append(flow.network(points.double()).reshape(-1))
            torch._foreach_copy_(flow.params, before)
        flow.time -= sign * h
    left = (ends[1] - ends[0]) / (2 * h)
    return float((left - right).norm() / right.norm())

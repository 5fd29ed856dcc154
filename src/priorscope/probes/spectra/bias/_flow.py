"""Gradient flow of one network on the mean squared error, accurate enough to test a theory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

__all__ = ["Flow", "identity_error"]


class Flow:
    r"""Integrates :math:`\dot\theta = -\nabla\frac{1}{2n}\|f_\theta(X) - y\|^2` by the classical fourth-order rule.

    The network is copied, in double precision. A step is ``step`` / (largest eigenvalue of the training kernel), so the
    fastest mode is resolved to about step⁵/120 per step.

    Example:
        >>> line = nn.Linear(1, 1, bias=False)
        >>> _ = nn.init.zeros_(line.weight)
        >>> flow = Flow(line, torch.ones(1, 1), torch.ones(1), largest=1.0)
        >>> flow.advance(1.0)  # f = 1 - exp(-t)
        >>> round(flow.network.weight.item(), 4)
        0.6321
    """

    def __init__(self, network: nn.Module, x: Tensor, y: Tensor, largest: float, step: float = 0.2) -> None:
        self.network = deepcopy(network).double()
        self.params: list[Tensor] = [p for p in self.network.parameters() if p.requires_grad]
        self.x, self.y = x.double(), y.double().reshape(len(x), -1)
        self.longest = step / largest
        self.time = 0.0

    def gradient(self) -> list[Tensor]:
        """Downhill direction of every parameter."""
        out = self.network(self.x).reshape(len(self.x), -1)
        loss = -(out - self.y).square().sum() / (2 * len(self.x))
        return list(torch.autograd.grad(loss, self.params))

    def advance(self, duration: float) -> None:
        """Move on by ``duration`` (backwards if negative) in equal steps no longer than the longest."""
        count = max(1, int(abs(duration) / self.longest + 0.999999))
        for _ in range(count):
            self._step(duration / count)
        self.time += duration

    def to(self, times: Sequence[float]) -> Iterator[nn.Module]:
        """The network at each of the increasing ``times`` (the same object, moved on)."""
        for time in times:
            if time > self.time:
                self.advance(time - self.time)
            yield self.network

    def _step(self, h: float) -> None:
        start = [p.detach().clone() for p in self.params]
        total = [torch.zeros_like(p) for p in start]
        for weight, ahead in ((1 / 6, 0.5), (1 / 3, 0.5), (1 / 3, 1.0), (1 / 6, 0.0)):
            slope = self.gradient()
            torch._foreach_add_(total, slope, alpha=weight * h)
            self._set(start, slope, ahead * h)
        self._set(start, total, 1.0)

    @torch.no_grad()
    def _set(self, start: list[Tensor], direction: list[Tensor], size: float) -> None:
        torch._foreach_copy_(self.params, torch._foreach_add(start, direction, alpha=size))


def identity_error(flow: Flow, points: Tensor, fraction: float = 0.01) -> float:
    r"""How far :math:`\partial_t r_t(x) = -\frac1n\sum_i K_t(x, x_i) r_t(x_i)` is from true at ``points``, relative.

    The left side is the central difference of the integrated flow over ``fraction`` of its longest step, the right side
    comes from the empirical kernel at time t. The flow is returned to where it was.

    Example:
        >>> net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        >>> flow = Flow(net, torch.eye(2), torch.ones(2), largest=5.0)
        >>> identity_error(flow, torch.ones(1, 2)) < 1e-4
        True
    """
    from priorscope.probes.tangent import empirical_ntk

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

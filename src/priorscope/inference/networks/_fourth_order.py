"""Gradient flow of one network on the mean squared error, accurate enough to test a theory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

from priorscope.checks import POSITIVE, checked

__all__ = ["FourthOrderFlow"]


@checked(largest=POSITIVE, step=POSITIVE)
class FourthOrderFlow:
    r"""Integrates :math:`\dot\theta = -\nabla\frac{1}{2n}\|f_\theta(X) - y\|^2` by the classical fourth-order rule.

    The network is copied, in double precision. A step is ``step`` / (largest eigenvalue of the training kernel), so the
    fastest mode is resolved to about step⁵/120 per step.

    Example:
        >>> line = nn.Linear(1, 1, bias=False)
        >>> _ = nn.init.zeros_(line.weight)
        >>> flow = FourthOrderFlow(line, torch.ones(1, 1), torch.ones(1), largest=1.0)
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

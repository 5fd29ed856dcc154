"""Update rules on flat parameters (K, P): every member's update at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["Adam", "Momentum", "OPTIMISERS", "schedule_factor"]


class Momentum:
    r"""Heavy ball: :math:`v \leftarrow \mu v + g,\ \Delta w = -\eta v` (torch.optim.SGD); plain descent at :math:`\mu = 0`."""

    def __init__(self, params: Tensor, momentum: float, betas: tuple[float, float]) -> None:
        self.momentum = momentum
        self.velocity = torch.zeros_like(params) if momentum else None

    def change(self, gradient: Tensor, rate: float) -> Tensor:
        """The step to add to the parameters."""
        if self.velocity is None:
            return -rate * gradient
        self.velocity.mul_(self.momentum).add_(gradient)
        return -rate * self.velocity


class Adam:
    """Adam of Kingma & Ba (2015) with bias correction, epsilon 1e-8 (torch.optim.Adam)."""

    def __init__(self, params: Tensor, momentum: float, betas: tuple[float, float]) -> None:
        self.betas, self.count = betas, 0
        self.first, self.second = torch.zeros_like(params), torch.zeros_like(params)

    def change(self, gradient: Tensor, rate: float) -> Tensor:
        """The step to add to the parameters."""
        b1, b2 = self.betas
        self.count += 1
        self.first.mul_(b1).add_(gradient, alpha=1 - b1)
        self.second.mul_(b2).addcmul_(gradient, gradient, value=1 - b2)
        scale = (self.second / (1 - b2**self.count)).sqrt_().add_(1e-8)
        return (self.first / scale).mul_(-rate / (1 - b1**self.count))


OPTIMISERS: dict[str, type[Momentum] | type[Adam]] = {"sgd": Momentum, "adam": Adam}


def schedule_factor(schedule: str | Callable[[int], float], step: int, steps: int) -> float:
    """Factor on the learning rate at ``step`` of ``steps``."""
    if callable(schedule):
        return float(schedule(step))
    if schedule == "constant":
        return 1.0
    if schedule == "linear":
        return 1 - step / steps
    if schedule == "cosine":
        return (1 + math.cos(math.pi * step / steps)) / 2
    raise ValueError(f"schedule must be 'constant', 'linear', 'cosine' or a function of the step; got {schedule!r}.")

"""A network less what it gave at its start: the function that tangent kernels speak of."""

from __future__ import annotations

import copy

from torch import Tensor, nn

__all__ = ["Centred"]


class Centred(nn.Module):
    r"""Gives :math:`f(x) - f_0(x)`, zero before training; :math:`f_0` is a frozen copy (Chizat, Oyallon & Bach 2019, Sec. 1.1).

    Example:
        >>> import torch
        >>> net = Centred(nn.Linear(2, 1))
        >>> net(torch.ones(1, 2)).item(), sum(p.numel() for p in net.parameters() if p.requires_grad)
        (0.0, 3)
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.start = copy.deepcopy(network).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.network(x) - self.start(x)
        return found

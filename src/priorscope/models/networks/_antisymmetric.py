"""Antisymmetric initialisation: two equal halves whose outputs cancel."""

from __future__ import annotations

import copy
from math import sqrt

from torch import Tensor, nn

__all__ = ["Antisymmetric"]


class Antisymmetric(nn.Module):
    r"""Two copies of a network, :math:`f = (g_{\theta_1} - g_{\theta_2})/\sqrt 2` with :math:`\theta_1 = \theta_2` at the start.

    The output is exactly zero at initialisation and the tangent kernel is that of g: each half contributes half of it
    (Zhang et al. 2020, "A type of generalization error induced by initialization in deep neural networks").

    Example:
        >>> import torch
        >>> float(Antisymmetric(torch.nn.Linear(2, 1))(torch.ones(1, 2)).detach())
        0.0
    """

    def __init__(self, half: nn.Module) -> None:
        super().__init__()
        self.plus = half
        self.minus = copy.deepcopy(half)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = (self.plus(x) - self.minus(x)) / sqrt(2)
        return found

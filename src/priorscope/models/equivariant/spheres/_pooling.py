"""Invariants of signals on SO(3): the integral with the Haar measure, and the largest sample."""

from __future__ import annotations

from torch import Tensor, nn

from priorscope.models.equivariant.spheres._grid import bandwidth_of, soft_weights

__all__ = ["SO3Integral", "SO3Max"]


class SO3Integral(nn.Module):
    r"""Signals (…, 2b, 2b, 2b) to their means :math:`\int f(R)\,dR` over SO(3).

    Holds: exact for signals of bandwidth 2b, and then invariant to rotations.

    Example:
        >>> import torch
        >>> SO3Integral()(torch.ones(2, 5, 6, 6, 6)).shape
        torch.Size([2, 5])
    """

    def forward(self, signal: Tensor) -> Tensor:
        weights = soft_weights(bandwidth_of(signal, 3)).to(signal)
        return signal.mean((-1, -2)) @ weights


class SO3Max(nn.Module):
    """Signals (…, 2b, 2b, 2b) to their largest sample: invariant in the continuum, nearly so on the grid.

    Example:
        >>> import torch
        >>> SO3Max()(torch.arange(64.0).reshape(1, 4, 4, 4))
        tensor([63.])
    """

    def forward(self, signal: Tensor) -> Tensor:
        bandwidth_of(signal, 3)
        return signal.flatten(-3).amax(-1)

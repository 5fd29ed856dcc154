"""The interface of a nonlinearity: the function and its two Gaussian expectations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Nonlinearity", "cosine", "safe_sqrt"]

SNAP = 7.2e-15  # a cosine within 32 roundings of one is one


@dataclass(frozen=True)
class Nonlinearity(ABC):
    r"""A function φ with :math:`E[\phi(u)\phi(v)]` and :math:`E[\phi'(u)\phi'(v)]` for centred Gaussian (u, v).

    Both maps take the covariance ``k12`` and the variances ``k11``, ``k22``, which broadcast against it.

    Example:
        >>> import torch
        >>> from priorscope.models import ReLU
        >>> one = torch.ones(())
        >>> ReLU().covariance(one, one, one)
        tensor(0.5000)
    """

    @property
    def odd(self) -> bool:
        """Whether φ(−x) = −φ(x), so that outputs of symmetric inputs have zero mean."""
        return False

    @abstractmethod
    def __call__(self, x: Tensor) -> Tensor:
        """φ(x), elementwise."""

    @abstractmethod
    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        """E[φ(u) φ(v)]."""

    @abstractmethod
    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        """E[φ'(u) φ'(v)], φ' as automatic differentiation has it (zero where φ jumps)."""


def safe_sqrt(x: Tensor) -> Tensor:
    """Square root whose derivative at zero (and below, from rounding) is zero instead of infinite."""
    positive = x > 0
    return torch.where(positive, torch.where(positive, x, 1.0).sqrt(), 0.0)


def cosine(k12: Tensor, k11: Tensor, k22: Tensor) -> tuple[Tensor, Tensor]:
    """Correlation of the two Gaussians, clamped to [-1, 1] (0 at zero variance), and the product of their deviations."""
    scale = safe_sqrt(k11 * k22)
    positive = scale > 0
    ratio = torch.where(positive, k12 / torch.where(positive, scale, 1.0), 0.0)
    value = ratio.detach()
    snapped = value.clamp(-1, 1)
    if value.dtype == torch.float64:  # acos would turn a rounding of 1e-16 into an angle of 1e-8
        snapped = torch.where(1 - snapped.abs() < SNAP, snapped.sign(), snapped)
    return ratio + (snapped - value), scale  # derivatives are those of the ratio, at the ends too

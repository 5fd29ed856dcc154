"""The interface of a nonlinearity: the function and its two Gaussian expectations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Nonlinearity", "cosine", "determinant", "refuse_unresolved", "safe_sqrt", "steep"]

SNAP = 7.2e-15  # a cosine within 32 roundings of one is one
UNSURE = 9e-16  # what is not known of a cosine computed in float64
UNRESOLVED = 1e-9  # relative error of an expectation from which it is refused


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

    def fused(self) -> tuple[int, tuple[float, ...]]:
        """Kind and parameters of the compiled step. Not inherited: a subclass that does not say goes by the reference."""
        raise NotImplementedError(f"{type(self).__name__} has no compiled step")


def safe_sqrt(x: Tensor) -> Tensor:
    """Square root whose derivative at zero (and below, from rounding) is zero instead of infinite."""
    positive = x > 0
    return torch.where(positive, torch.where(positive, x, 1.0).sqrt(), 0.0)


def cosine(k12: Tensor, k11: Tensor, k22: Tensor) -> tuple[Tensor, Tensor]:
    """Correlation of the two Gaussians, clamped to [-1, 1] (0 at zero variance), and the product of their deviations."""
    scale = safe_sqrt(k11) * safe_sqrt(k22)  # the product of the variances might underflow
    positive = scale > 0
    ratio = torch.where(positive, k12 / torch.where(positive, scale, 1.0), 0.0)
    value = ratio.detach()
    snapped = value.clamp(-1, 1)
    if value.dtype == torch.float64:  # acos would turn a rounding of 1e-16 into an angle of 1e-8
        snapped = torch.where(1 - snapped.abs() < SNAP, snapped.sign(), snapped)
    return ratio + (snapped - value), scale  # derivatives are those of the ratio, at the ends too


def determinant(k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
    """k11 k22 − k12² without cancellation: zero for equal Gaussians, never negative."""
    c, scale = cosine(k12, k11, k22)
    return scale * scale * ((1 - c) * (1 + c))


def steep(k11: Tensor, k22: Tensor, unit: float = 1.0) -> bool:
    """Whether the variances, in units of the nonlinearity's own scale, are so large that their roundings may count."""
    return any(k.numel() > 0 and float(k.detach().max()) * UNSURE > UNRESOLVED * unit for k in (k11, k22))


def refuse_unresolved(who: str, error: Tensor, k12: Tensor, k11: Tensor, k22: Tensor) -> None:
    """Refuse two nearly equal Gaussians whose difference matters but is smaller than the rounding of their variances.

    ``error`` is the relative error that this rounding makes. Equal Gaussians (all three numbers alike) have no such error.
    """
    with torch.no_grad():
        bad = error > UNRESOLVED
        if not bool(bad.any()):
            return
        equal = (k12.abs() == k11) & ((k11 - k22).abs() <= 4 * torch.finfo(k11.dtype).eps * k11)
        bad = bad & ~equal
        if not bool(bad.any()):
            return
        at = torch.where(bad, torch.maximum(k11, k22).expand(bad.shape), 0.0).max()
        raise ValueError(
            f"{who} meets two nearly equal inputs at variance {float(at):.3g}: their difference decides its kernel and is lost "
            f"in the rounding of float64 (relative error about {float(error[bad].max()):.1e}). Standardise the inputs, lower "
            "weight_variance, or put LayerNorm before it."
        )

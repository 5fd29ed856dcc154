"""Piecewise linear nonlinearities: ReLU and its relatives."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import torch
from torch import Tensor

from priorscope.checks import ANY_NUMBER, checked
from priorscope.contracts import GradientContext
from priorscope.models.kernels._instructions import RECTIFIER
from priorscope.models.nonlinearities._nonlinearity import Nonlinearity, cosine

__all__ = ["ABReLU", "Abs", "LeakyReLU", "ReLU", "arcsine"]


class _ArcSine(torch.autograd.Function):
    """asin on [-1, 1] whose derivative at the ends is zero: along x1 = x2 the cosine does not move."""

    generate_vmap_rule = True

    @staticmethod
    def forward(c: Tensor) -> Tensor:
        return torch.asin(c)

    @staticmethod
    def setup_context(ctx: GradientContext, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: GradientContext, grad: Tensor) -> Tensor:
        (c,) = ctx.saved_tensors
        inside = c.abs() < 1
        return torch.where(inside, grad / torch.where(inside, 1 - c * c, 1.0).sqrt(), 0.0)


class _Arc(torch.autograd.Function):
    """sqrt(1 - c²) + c asin(c), whose derivative is asin(c): finite although both summands' are not."""

    generate_vmap_rule = True

    @staticmethod
    def forward(c: Tensor) -> Tensor:
        return ((1 - c) * (1 + c)).sqrt() + c * torch.asin(c)

    @staticmethod
    def setup_context(ctx: GradientContext, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: GradientContext, grad: Tensor) -> Tensor:
        (c,) = ctx.saved_tensors
        return grad * arcsine(c)


def arcsine(c: Tensor) -> Tensor:
    """asin on [-1, 1] with zero derivative at the ends."""
    found: Tensor = _ArcSine.apply(c)  # type: ignore[no-untyped-call]
    return found


def _rectifier_covariance(left: float, right: float, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
    c, scale = cosine(k12, k11, k22)
    line, fold = (left + right) / 2, (right - left) / 2
    arc: Tensor = _Arc.apply(c)  # type: ignore[no-untyped-call]
    return line**2 * k12 + fold**2 * (2 / pi) * scale * arc


def _rectifier_derivative(left: float, right: float, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
    c, _ = cosine(k12, k11, k22)
    line, fold = (left + right) / 2, (right - left) / 2
    return line**2 + fold**2 * (2 / pi) * arcsine(c)


@checked(left=ANY_NUMBER, right=ANY_NUMBER)
@dataclass(frozen=True)
class ABReLU(Nonlinearity):
    r"""Slope ``left`` below zero and ``right`` above: :math:`\phi(x) = \frac{l+r}{2}x + \frac{r-l}{2}|x|`.

    .. math:: E[\phi\phi] = \left(\tfrac{l+r}{2}\right)^2 k_{12}
        + \left(\tfrac{r-l}{2}\right)^2 \tfrac{2}{\pi}\sqrt{k_{11}k_{22}}\,(\sqrt{1-c^2} + c\arcsin c), \quad
        E[\phi'\phi'] = \left(\tfrac{l+r}{2}\right)^2 + \left(\tfrac{r-l}{2}\right)^2\tfrac{2}{\pi}\arcsin c

    with c the correlation. Cho & Saul (2009), degrees 1 and 0, as a sum of the odd and the even part.

    Holds: differentiable on the diagonal c = 1; zero at zero variance.

    Example:
        >>> import torch
        >>> ABReLU(-1.0, 1.0)(torch.tensor([-2.0, 3.0]))
        tensor([2., 3.])
    """

    left: float = 0.0
    right: float = 1.0

    def __call__(self, x: Tensor) -> Tensor:
        return self.right * x.relu() - self.left * (-x).relu()

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return _rectifier_covariance(self.left, self.right, k12, k11, k22)

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return _rectifier_derivative(self.left, self.right, k12, k11, k22)

    def fused(self) -> tuple[int, tuple[float, ...]]:
        return RECTIFIER, (self.left, self.right)


@dataclass(frozen=True)
class ReLU(Nonlinearity):
    r"""max(x, 0).

    .. math:: E[\phi\phi] = \frac{\sqrt{k_{11}k_{22}}}{2\pi}(\sin\theta + (\pi-\theta)\cos\theta), \qquad
        E[\phi'\phi'] = \frac{\pi-\theta}{2\pi}, \qquad \cos\theta = k_{12}/\sqrt{k_{11}k_{22}}

    Half the arc-cosine kernels of degree 1 and 0: Cho & Saul (2009), eqs. 3, 5 and 6.

    Example:
        >>> import torch
        >>> ReLU()(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def __call__(self, x: Tensor) -> Tensor:
        return x.relu()

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return _rectifier_covariance(0.0, 1.0, k12, k11, k22)

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return _rectifier_derivative(0.0, 1.0, k12, k11, k22)

    def fused(self) -> tuple[int, tuple[float, ...]]:
        return RECTIFIER, (0.0, 1.0)


@checked(slope=ANY_NUMBER)
@dataclass(frozen=True)
class LeakyReLU(Nonlinearity):
    """x above zero, ``slope`` x below. Default slope 0.01, torch's.

    Example:
        >>> import torch
        >>> LeakyReLU(0.5)(torch.tensor([-2.0, 3.0]))
        tensor([-1.,  3.])
    """

    slope: float = 0.01

    def __call__(self, x: Tensor) -> Tensor:
        return torch.nn.functional.leaky_relu(x, self.slope)

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return _rectifier_covariance(self.slope, 1.0, k12, k11, k22)

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return _rectifier_derivative(self.slope, 1.0, k12, k11, k22)

    def fused(self) -> tuple[int, tuple[float, ...]]:
        return RECTIFIER, (self.slope, 1.0)


@dataclass(frozen=True)
class Abs(Nonlinearity):
    """Absolute value.

    Example:
        >>> import torch
        >>> Abs()(torch.tensor([-2.0, 3.0]))
        tensor([2., 3.])
    """

    def __call__(self, x: Tensor) -> Tensor:
        return x.abs()

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return _rectifier_covariance(-1.0, 1.0, k12, k11, k22)

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return _rectifier_derivative(-1.0, 1.0, k12, k11, k22)

    def fused(self) -> tuple[int, tuple[float, ...]]:
        return RECTIFIER, (-1.0, 1.0)

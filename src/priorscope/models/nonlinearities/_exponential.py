"""Exponential."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from priorscope.checks import ANY_NUMBER, checked
from priorscope.models.kernels._instructions import EXPONENTIAL
from priorscope.models.nonlinearities._nonlinearity import Nonlinearity

__all__ = ["Exponential"]


@checked(amplitude=ANY_NUMBER, rate=ANY_NUMBER)
@dataclass(frozen=True)
class Exponential(Nonlinearity):
    r""":math:`A\,e^{bx}`.

    .. math:: E[\phi\phi] = A^2 e^{b^2(k_{11}+k_{22}+2k_{12})/2}, \qquad E[\phi'\phi'] = b^2E[\phi\phi]

    Derived here: the moment-generating function of a Gaussian.

    Example:
        >>> import torch
        >>> Exponential()(torch.zeros(1))
        tensor([1.])
    """

    amplitude: float = 1.0
    rate: float = 1.0

    def __call__(self, x: Tensor) -> Tensor:
        return self.amplitude * torch.exp(self.rate * x)

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return self.amplitude**2 * torch.exp(self.rate**2 / 2 * (k11 + k22 + 2 * k12))

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return self.rate**2 * self.covariance(k12, k11, k22)

    def fused(self) -> tuple[int, tuple[float, ...]]:
        return EXPONENTIAL, (self.amplitude, self.rate)

"""Gaussian bump."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from priorscope.checks import ANY_NUMBER, POSITIVE, checked
from priorscope.models.kernels._instructions import GAUSSIAN
from priorscope.models.nonlinearities._nonlinearity import UNSURE, Nonlinearity, determinant, refuse_unresolved, steep

__all__ = ["Gaussian"]


@checked(amplitude=ANY_NUMBER, precision=POSITIVE)
@dataclass(frozen=True)
class Gaussian(Nonlinearity):
    r""":math:`A\,e^{-b x^2}`.

    .. math:: E[\phi\phi] = A^2\big((1+2bk_{11})(1+2bk_{22}) - 4b^2k_{12}^2\big)^{-1/2}

    derived here (a Gaussian integral); the derivative map is its derivative in :math:`k_{12}`.

    Example:
        >>> import torch
        >>> Gaussian()(torch.zeros(1))
        tensor([1.])
    """

    amplitude: float = 1.0
    precision: float = 1.0

    def __call__(self, x: Tensor) -> Tensor:
        return self.amplitude * torch.exp(-self.precision * x * x)

    def _determinant(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        b = self.precision
        d = 1 + 2 * b * (k11 + k22) + 4 * b * b * determinant(k12, k11, k22)
        if steep(k11, k22, 1 / b):  # the error below is at most b times the larger variance times UNSURE
            refuse_unresolved("Gaussian", 4 * b * b * k11 * k22 * UNSURE / d, k12, k11, k22)
        return d

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return self.amplitude**2 * self._determinant(k12, k11, k22) ** -0.5

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        factor = 4 * (self.amplitude * self.precision) ** 2
        return factor * k12 * self._determinant(k12, k11, k22) ** -1.5

    def fused(self) -> tuple[int, tuple[float, ...]]:
        return GAUSSIAN, (self.amplitude, self.precision)

"""Sine, cosine, and the features of the Gaussian (RBF) kernel."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sqrt

import torch
from torch import Tensor

from priorscope.models.nonlinearities._nonlinearity import Nonlinearity

__all__ = ["Cosine", "RBF", "Sine"]


def _waves(frequency: float, k12: Tensor, k11: Tensor, k22: Tensor) -> tuple[Tensor, Tensor]:
    """E cos(ω(u − v)) and E cos(ω(u + v))."""
    half = frequency**2 / 2
    return torch.exp(-half * (k11 + k22 - 2 * k12)), torch.exp(-half * (k11 + k22 + 2 * k12))


@dataclass(frozen=True)
class Sine(Nonlinearity):
    r"""A sin(ωx + p).

    .. math:: E[\phi\phi] = \tfrac{A^2}{2}\left(e^{-\omega^2(k_{11}+k_{22}-2k_{12})/2}
        - \cos(2p)\,e^{-\omega^2(k_{11}+k_{22}+2k_{12})/2}\right)

    and the derivative map has a plus sign and the factor ω².

    Example:
        >>> import torch
        >>> Sine()(torch.zeros(1))
        tensor([0.])
    """

    amplitude: float = 1.0
    frequency: float = 1.0
    phase: float = 0.0

    @property
    def odd(self) -> bool:
        return self.phase == 0

    def __call__(self, x: Tensor) -> Tensor:
        return self.amplitude * torch.sin(self.frequency * x + self.phase)

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        minus, plus = _waves(self.frequency, k12, k11, k22)
        return self.amplitude**2 / 2 * (minus - cos(2 * self.phase) * plus)

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        minus, plus = _waves(self.frequency, k12, k11, k22)
        return (self.amplitude * self.frequency) ** 2 / 2 * (minus + cos(2 * self.phase) * plus)


@dataclass(frozen=True)
class Cosine(Nonlinearity):
    """A cos(ωx): :class:`Sine` with phase π/2.

    Example:
        >>> import torch
        >>> Cosine()(torch.zeros(1))
        tensor([1.])
    """

    amplitude: float = 1.0
    frequency: float = 1.0

    def __call__(self, x: Tensor) -> Tensor:
        return self.amplitude * torch.cos(self.frequency * x)

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        minus, plus = _waves(self.frequency, k12, k11, k22)
        return self.amplitude**2 / 2 * (minus + plus)

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        minus, plus = _waves(self.frequency, k12, k11, k22)
        return (self.amplitude * self.frequency) ** 2 / 2 * (minus - plus)


@dataclass(frozen=True)
class RBF(Nonlinearity):
    r""":math:`\sqrt 2\sin(\sqrt{2\gamma}\,x + \pi/4)`, whose covariance map is the Gaussian kernel.

    .. math:: E[\phi\phi] = e^{-\gamma(k_{11}+k_{22}-2k_{12})}, \qquad E[\phi'\phi'] = 2\gamma\,E[\phi\phi]

    Rahimi & Recht (2007).

    Example:
        >>> import torch
        >>> one = torch.ones(())
        >>> RBF(gamma=0.5).covariance(one, one, one)
        tensor(1.)
    """

    gamma: float = 1.0

    def __call__(self, x: Tensor) -> Tensor:
        return sqrt(2) * torch.sin(sqrt(2 * self.gamma) * x + pi / 4)

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return torch.exp(-self.gamma * (k11 + k22 - 2 * k12))

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return 2 * self.gamma * self.covariance(k12, k11, k22)

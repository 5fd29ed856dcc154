"""Sine, cosine, and the features of the Gaussian (RBF) kernel."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin, sqrt

import torch
from torch import Tensor

from priorscope.checks import ANY_NUMBER, POSITIVE, checked
from priorscope.models.kernels._instructions import SINE
from priorscope.models.nonlinearities._nonlinearity import UNSURE, Nonlinearity, refuse_unresolved, steep

__all__ = ["Cosine", "RBF", "Sine"]


def _waves(who: str, frequency: float, k12: Tensor, k11: Tensor, k22: Tensor) -> tuple[Tensor, Tensor]:
    """E cos(ωu) cos(ωv) and E sin(ωu) sin(ωv), the latter with all its digits at small covariances."""
    minus, plus = _near(who, frequency, k12, k11, k22), _near(who, frequency, -k12, k11, k22)
    turn = frequency**2 * k12
    small = turn.detach().abs() < 1
    both = torch.exp(-(frequency**2) / 2 * (k11 + k22)) * torch.sinh(torch.where(small, turn, 0.0))
    return (minus + plus) / 2, torch.where(small, both, (minus - plus) / 2)


def _near(who: str, frequency: float, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
    """E cos(ω(u − v)); exactly one for equal Gaussians."""
    apart = k11 + k22 - 2 * k12
    if frequency == 0 or not steep(k11, k22, 1 / frequency**2):
        return torch.exp(-(frequency**2) / 2 * apart)
    with torch.no_grad():
        equal = (k12 == k11) & ((k11 - k22).abs() <= 4 * torch.finfo(k11.dtype).eps * k11)
        correction = torch.where(equal, -apart, 0.0)
    value = torch.exp(-(frequency**2) / 2 * (apart + correction))
    refuse_unresolved(who, value * frequency**2 * torch.maximum(k11, k22) * UNSURE, k12, k11, k22)
    return value


@checked(amplitude=ANY_NUMBER, frequency=ANY_NUMBER, phase=ANY_NUMBER)
@dataclass(frozen=True)
class Sine(Nonlinearity):
    r"""A sin(ωx + p).

    .. math:: E[\phi\phi] = \tfrac{A^2}{2}\left(e^{-\omega^2(k_{11}+k_{22}-2k_{12})/2}
        - \cos(2p)\,e^{-\omega^2(k_{11}+k_{22}+2k_{12})/2}\right)

    derived here from the characteristic function of a Gaussian; the derivative map has a plus sign and the factor ω².

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
        cosines, sines = _waves("Sine", self.frequency, k12, k11, k22)
        return self.amplitude**2 * (sin(self.phase) ** 2 * cosines + cos(self.phase) ** 2 * sines)

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        cosines, sines = _waves("Sine", self.frequency, k12, k11, k22)
        return (self.amplitude * self.frequency) ** 2 * (cos(self.phase) ** 2 * cosines + sin(self.phase) ** 2 * sines)

    def fused(self) -> tuple[int, tuple[float, ...]]:
        return SINE, (self.amplitude, self.frequency, sin(self.phase) ** 2, cos(self.phase) ** 2)


@checked(amplitude=ANY_NUMBER, frequency=ANY_NUMBER)
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
        return self.amplitude**2 * _waves("Cosine", self.frequency, k12, k11, k22)[0]

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return (self.amplitude * self.frequency) ** 2 * _waves("Cosine", self.frequency, k12, k11, k22)[1]

    def fused(self) -> tuple[int, tuple[float, ...]]:
        return SINE, (self.amplitude, self.frequency, 1.0, 0.0)


@checked(gamma=POSITIVE)
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
        return _near("RBF", sqrt(2 * self.gamma), k12, k11, k22)

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return 2 * self.gamma * self.covariance(k12, k11, k22)

    def fused(self) -> tuple[int, tuple[float, ...]]:
        return SINE, (sqrt(2.0), sqrt(2 * self.gamma), 0.5, 0.5)

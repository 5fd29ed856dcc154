"""Polynomials: general, monomials, Hermite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial, sqrt

import numpy as np
import torch
from torch import Tensor

from priorscope.checks import ANY_NUMBER, check, checked, each, whole
from priorscope.models.kernels._instructions import RECTIFIER
from priorscope.models.nonlinearities._nonlinearity import Nonlinearity

__all__ = ["Hermite", "Linear", "Monomial", "Polynomial"]


DEGREE = whole(0, most=100)  # E[x^200] = 199!! has 187 digits


def _evaluate(coefficients: Sequence[float], x: Tensor) -> Tensor:
    value = torch.zeros_like(x)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def _mean(coefficients: Sequence[float], variance: Tensor) -> Tensor:
    """E[P(u)] for u of this variance: even moments are (2m − 1)!! varianceᵐ."""
    total, moment = torch.zeros_like(variance), torch.ones_like(variance)
    for m, c in enumerate(coefficients[::2]):
        if m:
            moment = moment * (2 * m - 1) * variance
        total = total + c * moment
    return total


def _derivative(coefficients: Sequence[float]) -> tuple[float, ...]:
    return tuple(j * c for j, c in enumerate(coefficients))[1:]


def _expectation(coefficients: Sequence[float], k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
    """E[P(u)P(v)] = Σ_j k12ʲ/j! E[P⁽ʲ⁾(u)] E[P⁽ʲ⁾(v)]."""
    total, power = torch.zeros_like(k12), torch.ones_like(k12)
    p: Sequence[float] = tuple(coefficients)
    j = 0
    while p:
        total = total + power / factorial(j) * (_mean(p, k11) * _mean(p, k22))
        p, power, j = _derivative(p), power * k12, j + 1
    return total


def _hermite(degree: int, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
    """E[he(u) he(v)] of the normalised Hermite polynomial."""
    excess = (k11 - 1) * (k22 - 1)
    total = torch.zeros_like(k12)
    for i in range(degree // 2 + 1):
        share = factorial(degree) / (4**i * factorial(i) ** 2 * factorial(degree - 2 * i))
        total = total + share * k12 ** (degree - 2 * i) * excess**i
    return total


@checked(coefficients=each(ANY_NUMBER, empty=True))
@dataclass(frozen=True)
class Polynomial(Nonlinearity):
    r""":math:`\sum_j c_j x^j`, coefficients from the constant upwards.

    .. math:: E[P(u)P(v)] = \sum_j \frac{k_{12}^j}{j!}\,E[P^{(j)}(u)]\,E[P^{(j)}(v)]

    derived here by Hermite expansion, and the same with P' for the derivative map.

    Example:
        >>> import torch
        >>> Polynomial((1.0, 0.0, 2.0))(torch.tensor([3.0]))
        tensor([19.])
    """

    coefficients: tuple[float, ...] = (0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", tuple(float(c) for c in self.coefficients))
        if not self.coefficients:
            raise ValueError("Polynomial needs at least one coefficient (the constant); got none.")
        check("Polynomial", "degree", len(self.coefficients) - 1, DEGREE)

    @property
    def odd(self) -> bool:
        return not any(self.coefficients[::2])

    def __call__(self, x: Tensor) -> Tensor:
        return _evaluate(self.coefficients, x)

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return _expectation(self.coefficients, k12, k11, k22)

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return _expectation(_derivative(self.coefficients), k12, k11, k22)


@checked(degree=DEGREE)
@dataclass(frozen=True)
class Monomial(Nonlinearity):
    """x to a whole power.

    Example:
        >>> import torch
        >>> Monomial(3)(torch.tensor([2.0]))
        tensor([8.])
    """

    degree: int = 2

    @property
    def coefficients(self) -> tuple[float, ...]:
        """From the constant upwards."""
        return (0.0,) * self.degree + (1.0,)

    @property
    def odd(self) -> bool:
        return self.degree % 2 == 1

    def __call__(self, x: Tensor) -> Tensor:
        return _evaluate(self.coefficients, x)

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return _expectation(self.coefficients, k12, k11, k22)

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return _expectation(_derivative(self.coefficients), k12, k11, k22)


@checked(degree=DEGREE)
@dataclass(frozen=True)
class Hermite(Nonlinearity):
    r"""Probabilists' Hermite polynomial over :math:`\sqrt{n!}`: at unit variances :math:`E[\phi\phi] = k_{12}^n`.

    .. math:: E[\phi\phi] = \sum_i \frac{n!}{4^i\, i!^2\, (n-2i)!}\, k_{12}^{n-2i}\,\big((k_{11}-1)(k_{22}-1)\big)^i

    derived here by the multiplication theorem :math:`\mathrm{He}_n(\gamma x) = \sum_i \gamma^{n-2i}(\gamma^2-1)^i
    \frac{n!}{2^i i!(n-2i)!}\mathrm{He}_{n-2i}(x)`; and :math:`\mathrm{He}_n' = n\mathrm{He}_{n-1}` for the derivative map.

    Example:
        >>> import torch
        >>> k = torch.tensor(0.5, dtype=torch.float64)
        >>> round(float(Hermite(3).covariance(k, torch.ones_like(k), torch.ones_like(k))), 12)
        0.125
    """

    degree: int = 2

    @property
    def coefficients(self) -> tuple[float, ...]:
        """From the constant upwards."""
        series = np.polynomial.hermite_e.herme2poly([0.0] * self.degree + [1.0])
        return tuple(float(c) / sqrt(factorial(self.degree)) for c in series)

    @property
    def odd(self) -> bool:
        return self.degree % 2 == 1

    def __call__(self, x: Tensor) -> Tensor:
        return _evaluate(self.coefficients, x)

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return _hermite(self.degree, k12, k11, k22)

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return self.degree * _hermite(self.degree - 1, k12, k11, k22)  # an empty sum below degree zero


@dataclass(frozen=True)
class Linear(Nonlinearity):
    """x itself: deep linear networks.

    Example:
        >>> import torch
        >>> Linear()(torch.tensor([2.0]))
        tensor([2.])
    """

    @property
    def odd(self) -> bool:
        return True

    def __call__(self, x: Tensor) -> Tensor:
        return x

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return k12

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return torch.ones_like(k12)

    def fused(self) -> tuple[int, tuple[float, ...]]:
        return RECTIFIER, (1.0, 1.0)

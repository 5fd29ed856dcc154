"""Potentials of mirror descent: convex functions of the weights, one term per weight, with their gradients both ways."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from priorscope.checks import POSITIVE, checked, number

__all__ = ["DeepEntropy", "Entropy", "HyperbolicEntropy", "Potential", "Power", "Quadratic"]


class Potential(ABC):
    r"""A strictly convex :math:`\Psi(w) = \sum_j\psi(w_j)`; every method acts on each weight by itself.

    Example:
        >>> w = torch.tensor([0.5, 2.0])
        >>> bool((HyperbolicEntropy(0.1).primal(HyperbolicEntropy(0.1).dual(w)) - w).abs().max() < 1e-6)
        True
    """

    @abstractmethod
    def value(self, weights: Tensor) -> Tensor:
        r""":math:`\psi(w_j)` of each weight."""

    @abstractmethod
    def dual(self, weights: Tensor) -> Tensor:
        r""":math:`z = \psi'(w)`."""

    @abstractmethod
    def primal(self, dual: Tensor) -> Tensor:
        r"""The weights :math:`w = (\psi')^{-1}(z)`."""

    @abstractmethod
    def bend(self, dual: Tensor) -> Tensor:
        r""":math:`dw/dz = 1/\psi''(w)`."""

    def conjugate(self, dual: Tensor) -> Tensor:
        r"""Legendre's :math:`\psi^*(z) = wz - \psi(w)` at the weights w of these dual ones."""
        w = self.primal(dual)
        return w * dual - self.value(w)

    def check(self, weights: Tensor) -> None:
        """Refuse weights outside the domain."""
        if not bool(torch.isfinite(self.dual(weights)).all()):
            raise ValueError(
                f"mirror descent by {self} cannot start here: the gradient of the potential is not finite at these weights."
            )

    def divergence(self, weights: Tensor, start: Tensor) -> Tensor:
        r"""Bregman's :math:`\Psi(w) - \Psi(w_0) - \langle\nabla\Psi(w_0), w - w_0\rangle`, summed over weights (definition).

        Example:
            >>> float(Quadratic().divergence(torch.tensor([3.0, 4.0]), torch.zeros(2)))
            12.5
        """
        terms = self.value(weights) - self.value(start) - self.dual(start) * (weights - start)
        return terms.sum(-1)


@dataclass(frozen=True)
class Quadratic(Potential):
    r""":math:`\psi = w^2/2`: mirror descent is gradient descent.

    Example:
        >>> Quadratic().dual(torch.tensor([2.0])).tolist()
        [2.0]
    """

    def value(self, weights: Tensor) -> Tensor:
        return weights.square() / 2

    def dual(self, weights: Tensor) -> Tensor:
        return weights

    def primal(self, dual: Tensor) -> Tensor:
        return dual

    def bend(self, dual: Tensor) -> Tensor:
        return torch.ones_like(dual)


@dataclass(frozen=True)
class Entropy(Potential):
    r""":math:`\psi = w\log w - w` of positive weights: exponentiated gradient (Kivinen & Warmuth 1997).

    Example:
        >>> Entropy().primal(torch.zeros(2)).tolist()
        [1.0, 1.0]
    """

    def value(self, weights: Tensor) -> Tensor:
        found: Tensor = torch.special.xlogy(weights, weights) - weights
        return found

    def dual(self, weights: Tensor) -> Tensor:
        return weights.log()

    def primal(self, dual: Tensor) -> Tensor:
        return dual.exp()

    def bend(self, dual: Tensor) -> Tensor:
        return dual.exp()


@checked(width=POSITIVE)
@dataclass(frozen=True)
class HyperbolicEntropy(Potential):
    r""":math:`\psi = w\,\mathrm{asinh}(w/b) - \sqrt{w^2+b^2} + b` with ``width`` b (Ghai, Hazan & Singer 2020).

    At :math:`b = 2\alpha^2` it is the :math:`Q_\alpha` of diagonal networks (Woodworth et al. 2020): like
    :math:`w^2/2b` for weights below b, like :math:`|w|\log(2|w|/b)` above.

    Example:
        >>> round(float(HyperbolicEntropy(1.0).value(torch.tensor(1e-3))) * 2e6, 3)
        1.0
    """

    width: float = 1.0

    def value(self, weights: Tensor) -> Tensor:
        b = self.width
        # b - sqrt(w² + b²) without the difference of two close numbers
        return weights * (weights / b).asinh() - weights.square() / (b + (weights.square() + b * b).sqrt())

    def dual(self, weights: Tensor) -> Tensor:
        return (weights / self.width).asinh()

    def primal(self, dual: Tensor) -> Tensor:
        return self.width * dual.sinh()

    def bend(self, dual: Tensor) -> Tensor:
        return self.width * dual.cosh()


@checked(power=number(above=1))
@dataclass(frozen=True)
class Power(Potential):
    r""":math:`\psi = |w|^p/p` with ``power`` p above 1; towards 1 it prefers sparse weights.

    Example:
        >>> Power(3.0).dual(torch.tensor([-2.0])).tolist()
        [-4.0]
    """

    power: float = 1.5

    def value(self, weights: Tensor) -> Tensor:
        return weights.abs() ** self.power / self.power

    def dual(self, weights: Tensor) -> Tensor:
        return weights.sign() * weights.abs() ** (self.power - 1)

    def primal(self, dual: Tensor) -> Tensor:
        return dual.sign() * dual.abs() ** (1 / (self.power - 1))

    def bend(self, dual: Tensor) -> Tensor:
        return dual.abs() ** (1 / (self.power - 1) - 1) / (self.power - 1)


@checked(width=POSITIVE, power=number(above=1))
@dataclass(frozen=True)
class DeepEntropy(Potential):
    r"""The convex ψ with :math:`(\psi')^{-1}(z) = b\,\big((1-z)^{-p} - (1+z)^{-p}\big)`, ``width`` b and ``power`` p above 1.

    Flat near zero and like :math:`|w|` for large weights. At :math:`b = \alpha^D, p = D/(D-2)` it is what gradient flow of
    diagonal networks of depth D > 2 minimises (Woodworth et al. 2020, Theorem 3), at :math:`b = \alpha^2, p = 2` the squared
    distance to the start of one of depth 2. Dual weights lie between −1 and 1.

    Example:
        >>> psi = DeepEntropy(0.1, 3.0)
        >>> bool((psi.primal(psi.dual(torch.tensor([0.5, -2.0]))) - torch.tensor([0.5, -2.0])).abs().max() < 1e-5)
        True
    """

    width: float = 1.0
    power: float = 2.0

    def value(self, weights: Tensor) -> Tensor:
        z = self.dual(weights)
        return weights * z - self.conjugate(z)

    def conjugate(self, dual: Tensor) -> Tensor:
        # b/(p-1) ((1-z)^(1-p) + (1+z)^(1-p) - 2), in terms that do not cancel near zero
        inside = dual.abs() < 1
        u, p = torch.where(inside, dual, 0.0).atanh(), self.power
        even = (p - 1) * _log_cosh(u)
        found = 2 * (2 * even.exp() * ((p - 1) * u / 2).sinh().square() + even.expm1())
        return torch.where(inside, self.width / (p - 1) * found, torch.inf)

    def dual(self, weights: Tensor) -> Tensor:
        return weights.sign() * self._angle(weights.abs() / self.width).tanh()

    def primal(self, dual: Tensor) -> Tensor:
        inside = dual.abs() < 1
        u, p = torch.where(inside, dual, 0.0).atanh(), self.power
        return torch.where(
            inside, 2 * self.width * torch.exp(p * _log_cosh(u)) * (p * u).sinh(), dual.sign() * torch.inf
        )

    def bend(self, dual: Tensor) -> Tensor:
        p = self.power
        return self.width * p * ((1 - dual) ** (-p - 1) + (1 + dual) ** (-p - 1))

    def _angle(self, sizes: Tensor) -> Tensor:
        """The u = artanh z at which 2 cosh(u)^p sinh(pu) has these sizes, by Newton iteration in log u.

        The logarithm of the left side is convex and rising in log u, and asinh(size/2)/p lies above the root: steps only fall.
        """
        p = self.power
        seen = (sizes > 0) & torch.isfinite(sizes)
        w = torch.where(seen, sizes, 1.0)
        u = (w / 2).asinh() / p
        for _ in range(40):
            left = p * _log_cosh(u) + p * u + torch.log(-torch.expm1(-2 * p * u))
            rise = u * (p * u.tanh() + p / (p * u).tanh())
            u = u * torch.exp(-(left - w.log()) / rise)
        return torch.where(seen, u, torch.where(sizes > 0, torch.inf, 0.0))


def _log_cosh(u: Tensor) -> Tensor:
    """The logarithm of cosh u, exact near zero and without overflow."""
    near = torch.log1p(2 * (u.clamp(-1, 1) / 2).sinh().square())
    return torch.where(u.abs() < 1, near, u.abs() + torch.log1p(torch.exp(-2 * u.abs())) - math.log(2))

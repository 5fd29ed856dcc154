"""Potentials of mirror descent: convex functions of the weights, one term per weight, with their gradients both ways."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from priorscope.checks import POSITIVE, checked, number

__all__ = ["Entropy", "HyperbolicEntropy", "Potential", "Power", "Quadratic"]


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

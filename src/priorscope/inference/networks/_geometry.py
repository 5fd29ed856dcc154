"""Geometries of descent: in which norm a step is steepest, and by which potential weights are mirrored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from priorscope.inference.networks._potential import Potential, Quadratic

__all__ = ["Geometry", "Mirror", "Steepest", "UpdateRule"]


class UpdateRule(Protocol):
    """What turns a gradient (K, P) into a step (K, P); it may remember the steps before."""

    def change(self, gradient: Tensor, rate: float) -> Tensor:
        """The step to add to the parameters."""
        ...


class Geometry(ABC):
    """What ``GradientDescent(optimiser=…)`` takes beside a name: it makes the rule of one run from the first weights (K, P).

    Example:
        >>> Steepest("l1").rule(torch.zeros(1, 2)).change(torch.tensor([[1.0, -3.0]]), 0.1).tolist()
        [[-0.0, 0.30000001192092896]]
    """

    @abstractmethod
    def rule(self, start: Tensor) -> UpdateRule:
        """A fresh rule for weights that start here."""


@dataclass(frozen=True)
class Steepest(Geometry):
    r"""Steepest descent in a norm: :math:`\Delta w = -\eta\,\|g\|_*\,\arg\max_{\|v\|\le1}\langle g, v\rangle`.

    ``norm`` "l2" is gradient descent, "l1" (greedy) coordinate descent, "linf" descent by signs. On separable data with a loss of
    exponential tail the direction tends to the largest margin in that norm (Telgarsky 2013 for l1, Soudry et al.
    2018 for l2, Gunasekar, Lee, Soudry & Srebro 2018 for any). ``normalised`` leaves the factor :math:`\|g\|_*` out, so that
    late steps, where gradients vanish, are as long as the first: the margin then converges like a power of time, not of its
    logarithm, until losses underflow (margins above 745 in float64) and no step is left.

    Example:
        >>> Steepest("linf", normalised=True).rule(torch.zeros(1, 2)).change(torch.tensor([[1.0, -3.0]]), 0.5).tolist()
        [[-0.5, 0.5]]
    """

    norm: str = "l2"
    normalised: bool = False

    def __post_init__(self) -> None:
        if self.norm not in ("l1", "l2", "linf"):
            raise ValueError(f"norm must be 'l1', 'l2' or 'linf'; got {self.norm!r}.")

    def rule(self, start: Tensor) -> UpdateRule:
        return self

    def change(self, gradient: Tensor, rate: float) -> Tensor:
        """The step of every member (row) by its own gradient."""
        if self.norm == "l2":
            length, best = torch.linalg.vector_norm(gradient, dim=1, keepdim=True), gradient
            best = best / torch.where(length > 0, length, 1.0)
        elif self.norm == "l1":
            size, place = gradient.abs().max(1, keepdim=True)
            length, best = size, torch.zeros_like(gradient).scatter_(1, place, gradient.gather(1, place).sign())
        else:
            length, best = gradient.abs().sum(1, keepdim=True), gradient.sign()
        return -rate * best if self.normalised else -rate * length * best


@dataclass(frozen=True)
class Mirror(Geometry):
    r"""Mirror descent: :math:`\nabla\Psi(w_{t+1}) = \nabla\Psi(w_t) - \eta g` with a :class:`Potential`.

    Nemirovski & Yudin (1983). Where a linear model can fit its samples in many ways, it ends at the fit with the least Bregman
    divergence from the start, for every step size (Gunasekar, Lee, Soudry & Srebro 2018, Theorem 1).

    Example:
        >>> from priorscope.inference import Entropy
        >>> rule = Mirror(Entropy()).rule(torch.ones(1, 2).double())
        >>> rule.change(torch.tensor([[0.0, 1.0]]).double(), 1.0).round(decimals=3).tolist()
        [[0.0, -0.632]]
    """

    potential: Potential = field(default_factory=Quadratic)

    def rule(self, start: Tensor) -> UpdateRule:
        self.potential.check(start)
        return _MirrorRule(self.potential, start)


class _MirrorRule:
    """The dual weights of one run, which steps are taken in."""

    def __init__(self, potential: Potential, start: Tensor) -> None:
        self.potential, self.weights = potential, start
        self.dual = potential.dual(start)

    def change(self, gradient: Tensor, rate: float) -> Tensor:
        self.dual = self.dual - rate * gradient
        before, self.weights = self.weights, self.potential.primal(self.dual)
        return self.weights - before

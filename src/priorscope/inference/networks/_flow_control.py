"""How long a step of gradient flow may be: accepted or refused by two criteria, and the length of the next."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["KINK", "KINK_CHANGE", "StepControl"]

SHRINK, GROW, SAFETY = 0.1, 2.0, 0.8  # bounds on one change of the step, and how near to the criteria it aims
REFUSED = 0.7  # a refused step is retried at most this long
KINK, KINK_CHANGE = 1e-3, 1e-2  # a step below this part of the elapsed time and of the allowed change is never refused


@dataclass(frozen=True)
class StepControl:
    r"""Accepts a step when outputs change by less than ``max_change`` and the gradient turns by less than ``max_turn``.

    .. math:: \alpha\max_\mu|\Delta f(x_\mu)| < 0.1,\qquad \|g_i - g_{i+1}\|^2 / (\|g_i\|\|g_{i+1}\|) < 10^{-4}

    Geiger et al. (2020), "Disentangling feature and lazy training", eqs. 8-9.

    Example:
        >>> one = torch.ones(1, dtype=torch.float64)
        >>> control = StepControl(max_change=0.1, max_turn=1e-4)
        >>> [bool(control(0.01 * one, change * one, 0 * one, one, one)[0]) for change in (0.09, 0.11)]
        [True, False]
    """

    max_change: float
    max_turn: float

    def turn(self, size: Tensor, size1: Tensor, cross: Tensor) -> Tensor:
        """How much the gradient turned, from squared norms before and after and their scalar product."""
        norms = (size * size1).sqrt()
        tiny = torch.finfo(size.dtype).tiny
        return torch.where(norms > 0, (size + size1 - 2 * cross).clamp(min=0) / norms.clamp(min=tiny), 0.0)

    def __call__(self, h: Tensor, change: Tensor, turn: Tensor, t: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """Whether steps of length h are accepted, and the length proposed for the next; one entry per member.

        ``change`` is that of the outputs, ``t`` the time that has passed, ``scale`` the time in which the loss would vanish
        at its first speed. A step so short that it moves no output can only turn the gradient at a kink (ReLU, hinge): it
        may pass.
        """
        strain = torch.maximum(change / self.max_change, (turn / self.max_turn).sqrt()).double()
        strain = torch.where(torch.isfinite(strain), strain, torch.inf)
        floor = KINK * torch.maximum(t, scale)
        still = change < KINK_CHANGE * self.max_change
        fine = strain < 1
        accept = fine | ((h <= floor) & still)
        factor = (SAFETY / strain.clamp(min=1e-30)).clamp(SHRINK, GROW)
        factor = torch.where(accept, factor.clamp(min=1.0), factor.clamp(max=REFUSED))
        proposed = h * factor
        return accept, torch.where(still & ~fine, torch.maximum(proposed, floor), proposed)

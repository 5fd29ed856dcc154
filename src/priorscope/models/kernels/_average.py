"""Kernels averaged over moves of the inputs: what the engine computes for models with a symmetry built in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

__all__ = ["Average"]

Move = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Average:
    r"""The moves to average over, the identity first.

    .. math:: \bar k(x, x') = \frac1{|G|}\sum_g k(x, g x') \quad\text{or, when double,}\quad
        \frac1{|G|^2}\sum_{g, g'} k(g x, g' x')

    The two agree where :math:`k(gx, gx') = k(x, x')` (Haasdonk & Burkhardt 2007, "Invariant kernel functions for pattern
    analysis and machine learning", Haar integration); whoever makes an Average has tested that.
    """

    name: str
    moves: tuple[Move, ...]
    double: bool

    @property
    def times(self) -> int:
        """How many plain kernels one averaged kernel takes."""
        return len(self.moves) ** 2 if self.double else len(self.moves)

    @property
    def left(self) -> tuple[Move, ...]:
        """Moves of the first batch."""
        return self.moves if self.double else self.moves[:1]

"""Finite groups that move pixels: shifts, quarter turns, flips."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from priorscope.data.groups._element import Element, Permutation
from priorscope.data.groups._group import Group, generator
from priorscope.data.groups._layout import Layout
from priorscope.printing import printed

__all__ = ["GridGroup"]


@printed
@dataclass(frozen=True, eq=False)
class GridGroup(Group):
    """A finite group that moves pixels: row k of ``table`` (order, d) is the index of element k, row 0 the identity.

    Example:
        >>> from priorscope.data import groups
        >>> groups.dihedral((1, 4, 4)).order
        8
    """

    name: str
    layout: Layout
    table: Tensor

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.layout.input_shape

    @property
    def dimension(self) -> int:
        return 0

    @property
    def order(self) -> int:
        return len(self.table)

    def elements(self) -> list[Permutation]:
        """All elements, the identity first."""
        return [Permutation(self.layout, row[None]) for row in self.table]

    def identity(self) -> Element:
        return Permutation(self.layout, self.table[:1])

    def sample_haar(self, seed: int = 0, *, special: bool = False) -> Element:
        pick = int(torch.randint(self.order, (1,), generator=generator(seed)))
        return Permutation(self.layout, self.table[pick : pick + 1])

    def contains(self, element: Element) -> bool:
        if element.layout.input_shape != self.input_shape:
            return False
        probe = torch.arange(1.0, 1 + self.layout.channels * self.layout.pixels, dtype=torch.float64)
        moved = element(probe.reshape(1, *self.input_shape)).reshape(1, self.layout.channels, -1)
        ours = probe.reshape(self.layout.channels, -1)[:, self.table].transpose(0, 1)  # (order, c, d)
        return bool(((moved - ours).abs().amax((1, 2)) < 1e-6).any())

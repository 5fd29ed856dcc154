"""Cosets of a subgroup, a section through them, and the cocycle that a section leaves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from priorscope.checks import checked, each, optional, whole
from priorscope.models.equivariant.homogeneous._group import TableGroup

__all__ = ["Cosets"]


@checked(subgroup=each(whole(0, "Elements go by their numbers in the group.")), section=optional(each(whole(0))))
class Cosets:
    r"""The homogeneous space G/H: cosets gH, numbered, with a section s and its cocycle.

    .. math:: h(x, g) = s(gx)^{-1}\, g\, s(x) \in H, \qquad g\, s(x) = s(gx)\, h(x, g)

    Cohen, Geiger & Weiler (2019), "A general theory of equivariant CNNs on homogeneous spaces", appendix A (seed 001, chapter
    5). ``section`` has one element of each coset, in any order; the identity must stand for H itself. By default the
    element of the smallest number stands for its coset, which for lattices with point groups is the shift.

    Holds: h(x, g1 g2) = h(g2 x, g1) h(x, g2); h(H, h) = h; h(H, s(x)) = e; g = s(gH) h(H, g).

    Example:
        >>> from priorscope.models.equivariant.homogeneous import dihedral
        >>> G = dihedral(3)
        >>> X = Cosets(G, G.subgroup([G.named("f")]), section=[G.named(w) for w in ("e", "r", "r2f")])
        >>> G.names[X.cocycle(1, G.named("r"))]  # the test vector of the source: h(rH, r) = f
        'f'
    """

    def __init__(self, group: TableGroup, subgroup: Sequence[int], section: Sequence[int] | None = None) -> None:
        self.group = group
        self.subgroup = group.check_subgroup(subgroup)
        members = group.table[:, list(self.subgroup)].sort(1).values  # (|G|, |H|): the coset of each element
        first = members[:, 0].contiguous()
        starts = first.unique(sorted=True)
        self.of = torch.searchsorted(starts, first)  # number of the coset of each element
        self.section = starts if section is None else self._arranged(list(section))
        if self.section[self.of[0]] != 0:
            raise ValueError("a section takes the identity for the coset H itself; got another element. Put e there.")

    def _arranged(self, section: list[int]) -> Tensor:
        """The section with one element per coset, which also gives the cosets their order."""
        n = int(self.of.max()) + 1
        if len(section) != n or len({int(self.of[g]) for g in section}) != n:
            raise ValueError(f"a section has one element of each of the {n} cosets; got {section}.")
        renumber = torch.empty(n, dtype=torch.long)
        for new, element in enumerate(section):
            renumber[self.of[element]] = new
        self.of = renumber[self.of]
        return torch.tensor(section)

    def __len__(self) -> int:
        return len(self.section)

    @cached_property
    def position(self) -> dict[int, int]:
        """The place of each element of H in the subgroup's order."""
        return {element: place for place, element in enumerate(self.subgroup)}

    def act(self, element: int, x: int) -> int:
        """The coset u·x."""
        return int(self.of[self.group.table[element, self.section[x]]])

    def cocycle(self, x: int, element: int) -> int:
        """h(x, g), an element of H."""
        moved = int(self.group.table[element, self.section[x]])
        back = self.group.inverse(int(self.section[self.of[moved]]))
        return int(self.group.table[back, moved])

    def part(self, element: int) -> int:
        """h(g) = h(H, g): the part of g in H, g = s(gH) h(g)."""
        return self.cocycle(int(self.of[0]), element)

    @cached_property
    def split(self) -> bool:
        """Whether h(x, g) does not depend on x, as for the shifts of a semidirect product."""
        return all(self.cocycle(x, g) == self.part(g) for g in self.group.generators for x in range(len(self)))

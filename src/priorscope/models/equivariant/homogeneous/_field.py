"""Fields on homogeneous spaces: as functions of the coset, as Mackey functions on the group, and how the group moves them."""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.models.equivariant.homogeneous._cosets import Cosets
from priorscope.models.equivariant.homogeneous._representation import Representation

__all__ = ["Field"]


class Field:
    r"""Fields on G/H with values in a representation ρ of H: the induced representation in its two forms.

    Local fields are arrays (..., \|G/H\|, d); Mackey functions (..., \|G\|, d) obey :math:`f(gh) = \rho(h)^{-1} f(g)`.

    .. math:: [\Lambda f](g) = \rho(h(g))^{-1} f(gH), \qquad [\pi(u) f](x) = \rho(h(x, u^{-1}))^{-1} f(u^{-1}x)

    Cohen, Geiger & Weiler (2019), Sec. 3 (seed 001, chapter 5; arguments of h corrected).

    Holds: :math:`\pi(u)\pi(v) = \pi(uv)`; :math:`\Lambda\pi(u)` is :math:`\Lambda` followed by the shift :math:`f(u^{-1}g)`.

    Example:
        >>> from priorscope.models.equivariant.homogeneous import dihedral, trivial
        >>> G = dihedral(3)
        >>> H = G.subgroup([G.named("f")])
        >>> Field(Cosets(G, H), trivial(G, H)).dim
        3
    """

    def __init__(self, space: Cosets, representation: Representation) -> None:
        if representation.group is not space.group or representation.subgroup != space.subgroup:
            raise ValueError(
                f"a field on G/H has values in a representation of H; got {representation.name} of "
                f"{len(representation.subgroup)} elements of {representation.group.name} on cosets of {len(space.subgroup)} "
                f"elements of {space.group.name}."
            )
        self.space, self.representation = space, representation

    @property
    def dim(self) -> int:
        """Numbers in one field: cosets times the dimension of ρ."""
        return len(self.space) * self.representation.dim

    def _inverse(self, element: int) -> Tensor:
        return self.representation(self.space.group.inverse(element))

    def lift(self, field: Tensor) -> Tensor:
        """The Mackey function (..., |G|, d) of a local field (..., |G/H|, d)."""
        self._check(field, len(self.space))
        parts = [
            self._inverse(self.space.part(g)) @ field[..., int(self.space.of[g]), :, None]
            for g in range(self.space.group.order)
        ]
        return torch.stack(parts, -3)[..., 0]

    def lower(self, function: Tensor) -> Tensor:
        """The local field of a Mackey function: its values on the section."""
        self._check(function, self.space.group.order)
        return function[..., self.space.section, :]

    def is_mackey(self, function: Tensor) -> bool:
        """Whether f(gh) = ρ(h)^-1 f(g) to rounding."""
        self._check(function, self.space.group.order)
        worst = 0.0
        for h in self.space.subgroup:
            moved = function[..., self.space.group.table[:, h], :]
            worst = max(worst, float((moved - function @ self._inverse(h).T).abs().max()))
        return worst <= 1e-9 * max(float(function.abs().max()), 1e-300)

    def _check(self, field: Tensor, sites: int) -> None:
        if tuple(field.shape[-2:]) != (sites, self.representation.dim):
            raise ValueError(
                f"wanted an array (..., {sites}, {self.representation.dim}); got {tuple(field.shape)}. Local fields have a row "
                "per coset, Mackey functions one per element."
            )

    def action(self, element: int) -> Tensor:
        """The matrix (dim, dim) of π(u) on flattened local fields."""
        space, d = self.space, self.representation.dim
        back = space.group.inverse(element)
        found = torch.zeros(len(space), d, len(space), d, dtype=torch.float64)
        for x in range(len(space)):
            found[x, :, space.act(back, x)] = self._inverse(space.cocycle(x, back))
        return found.reshape(self.dim, self.dim)

    def character(self, element: int) -> float:
        """The trace of π(u): what the dimension of equivariant maps follows from."""
        space = self.space
        back = space.group.inverse(element)
        fixed = [x for x in range(len(space)) if space.act(back, x) == x]
        return sum(float(self._inverse(space.cocycle(x, back)).trace()) for x in fixed)

"""All equivariant linear maps between two fields: the kernel space in its three realisations, and the maps themselves."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from priorscope.models.equivariant.homogeneous._field import Field

__all__ = ["KernelSpace"]

ZERO = 1e-9  # singular values below this part of the largest are zero


def null_space(rows: Tensor) -> Tensor:
    """An orthonormal basis (dim, k) of the solutions of ``rows @ v = 0``."""
    _, values, vectors = torch.linalg.svd(rows, full_matrices=True)
    rank = int((values > ZERO * max(float(values.max()) if len(values) else 0.0, 1.0)).sum())
    basis: Tensor = vectors[rank:].T
    return basis


class KernelSpace:
    r"""Kernels of all equivariant linear maps from fields on G/H₁ to fields on G/H₂.

    Three realisations of one space (Cohen, Geiger & Weiler 2019, theorems 3.2 to 3.4; seed 001, chapter 5, with its errata):

    .. math:: \kappa(h_2 g h_1) = \rho_2(h_2)\kappa(g)\rho_1(h_1), \qquad
        \kappa_C(h_2 x) = \rho_2(h_2)\,\kappa_C(x)\,\rho_1(h_1(x, h_2))^{-1}, \qquad
        \kappa_D(x) = \rho_2(h)\,\kappa_D(x)\,\rho_1(\gamma_x^{-1} h \gamma_x)^{-1}

    on G, on G/H₁ and on H₂\\G/H₁ (γ the smallest element of a double coset, h in H₂ ∩ γH₁γ⁻¹). The last is small: it is solved,
    and the others follow. ``basis_d`` is a list of (k, d₂, d₁) per double coset, ``basis_c`` is (dim, cosets of H₁, d₂, d₁),
    ``basis_g`` is (dim, elements of G, d₂, d₁).

    Holds: the dimension is :math:`\sum_x \dim\mathrm{Hom}_{H_2^x}(\rho_1^x, \rho_2)`, equals
    :math:`|G|^{-1}\sum_g \chi_1(g^{-1})\chi_2(g)`, and is that of all Φ with :math:`\pi_2(g)\Phi = \Phi\pi_1(g)`.

    Example:
        >>> from priorscope.models.equivariant.homogeneous import Cosets, dihedral, regular, trivial
        >>> G = dihedral(3)
        >>> H = G.subgroup([G.named("f")])
        >>> scalars, whole = (Field(Cosets(G, H), make(G, H)) for make in (trivial, regular))
        >>> [KernelSpace(a, b).dim for a, b in ((scalars, scalars), (scalars, whole), (whole, whole))]
        [2, 3, 6]
    """

    def __init__(self, first: Field, second: Field) -> None:
        if first.space.group is not second.space.group:
            raise ValueError(
                f"equivariant maps are between fields of one group; got {first.space.group.name} and {second.space.group.name}."
            )
        self.first, self.second, self.group = first, second, first.space.group

    @cached_property
    def double_cosets(self) -> list[tuple[int, ...]]:
        """H₂gH₁ for every g, each in rising order, the one of the identity first."""
        left, right = list(self.second.space.subgroup), list(self.first.space.subgroup)
        seen: set[int] = set()
        found = []
        for g in range(self.group.order):
            if g not in seen:
                members = self.group.table[self.group.table[left, g]][:, right].unique().tolist()
                seen.update(members)
                found.append(tuple(members))
        return found

    def stabiliser(self, representative: int) -> list[tuple[int, int]]:
        """Pairs (h, γ⁻¹hγ) with h in H₂ and γ⁻¹hγ in H₁."""
        back, members = self.group.inverse(representative), set(self.first.space.subgroup)
        pairs = [(h, self.group.times(back, h, representative)) for h in self.second.space.subgroup]
        return [(h, inner) for h, inner in pairs if inner in members]

    @cached_property
    def basis_d(self) -> list[Tensor]:
        """Per double coset an orthonormal basis of the matrices that its stabiliser allows: the image of the mean over it."""
        rho1, rho2 = self.first.representation, self.second.representation
        n = rho2.dim * rho1.dim
        found = []
        for members, dim in zip(self.double_cosets, self.dimensions):
            pairs = self.stabiliser(members[0])
            if len(pairs) == 1:
                basis = torch.eye(n, dtype=torch.float64)
            else:
                mean = torch.zeros(n, n, dtype=torch.float64)
                for h, inner in pairs:
                    mean += torch.kron(rho2(h), rho1(self.group.inverse(inner)).T.contiguous()) / len(pairs)
                basis = torch.linalg.svd(mean).U[:, :dim]
            found.append(basis.T.reshape(-1, rho2.dim, rho1.dim))
        return found

    @cached_property
    def dimensions(self) -> list[int]:
        """Dimension of Hom over each double coset's stabiliser, from traces."""
        rho1, rho2 = self.first.representation, self.second.representation
        one, two = (dict(zip(rho.subgroup, rho.character.tolist())) for rho in (rho1, rho2))
        found = []
        for members in self.double_cosets:
            pairs = self.stabiliser(members[0])
            found.append(round(sum(two[h] * one[self.group.inverse(inner)] for h, inner in pairs) / len(pairs)))
        return found

    @property
    def dim(self) -> int:
        """Number of independent equivariant maps."""
        return sum(self.dimensions)

    def spread(self, which: int, kernel: Tensor) -> Tensor:
        """A solution (d₂, d₁) on one double coset as a kernel (|G/H₁|, d₂, d₁) on the cosets of H₁."""
        space, rho1, rho2 = self.first.space, self.first.representation, self.second.representation
        start = int(space.of[self.double_cosets[which][0]])
        # the section need not stand on γ: kernels belong to cosets, and γ = s(γH₁) h₁(γ)
        anchored = kernel @ rho1(self.group.inverse(space.part(self.double_cosets[which][0])))
        found = torch.zeros(len(space), rho2.dim, rho1.dim, dtype=torch.float64)
        for h in self.second.space.subgroup:
            back = rho1(self.group.inverse(space.cocycle(start, h)))
            found[space.act(h, start)] = rho2(h) @ anchored @ back
        return found

    def restrict(self, kernel: Tensor) -> list[Tensor]:
        """A kernel on cosets back on the double cosets: its values at γH₁, in the frame of γ."""
        space, rho1 = self.first.space, self.first.representation
        heads = [members[0] for members in self.double_cosets]
        return [kernel[int(space.of[g])] @ rho1(space.part(g)) for g in heads]

    @cached_property
    def basis_c(self) -> Tensor:
        """The basis on the cosets of H₁."""
        made = [self.spread(i, one) for i, block in enumerate(self.basis_d) for one in block]
        rho1, rho2 = self.first.representation, self.second.representation
        return (
            torch.stack(made)
            if made
            else torch.zeros(0, len(self.first.space), rho2.dim, rho1.dim, dtype=torch.float64)
        )

    def lift(self, kernel: Tensor) -> Tensor:
        """A kernel (..., |G/H₁|, d₂, d₁) on the cosets as one on the group: κ(g) = κ_C(gH₁) ρ₁(h₁(g))."""
        space, rho1 = self.first.space, self.first.representation
        parts = [kernel[..., int(space.of[g]), :, :] @ rho1(space.part(g)) for g in range(self.group.order)]
        return torch.stack(parts, -3)

    def lower(self, kernel: Tensor) -> Tensor:
        """The inverse of :meth:`lift`: values on the section."""
        return kernel[..., self.first.space.section, :, :]

    @cached_property
    def basis_g(self) -> Tensor:
        """The basis on the group."""
        return self.lift(self.basis_c)

    def correlate(self, kernel: Tensor, field: Tensor) -> Tensor:
        r"""The twisted cross-correlation of a kernel (\|G/H₁\|, d₂, d₁) with a local field (..., \|G/H₁\|, d₁).

        .. math:: [\Phi f](x) = \sum_{y} \kappa_C(s_2(x)^{-1} y)\, \rho_1(h_1(s_2(x)^{-1} s_1(y)))\, f(y)

        Cohen, Geiger & Weiler (2019), eq. 14 (the sum runs over G/H₁). For semidirect products the factor ρ₁ is that of the point
        group alone, and it is an ordinary cross-correlation.
        """
        matrix = self._matrices(kernel[None]).squeeze(0)
        flat = field.flatten(-2) @ matrix.T
        return flat.reshape(*flat.shape[:-1], len(self.second.space), self.second.representation.dim)

    def _matrices(self, kernels: Tensor) -> Tensor:
        """The maps (k, dim₂, dim₁) of kernels (k, |G/H₁|, d₂, d₁) on cosets."""
        a, b = self.first.space, self.second.space
        rho1 = self.first.representation
        d1, d2 = rho1.dim, self.second.representation.dim
        found = torch.zeros(len(kernels), len(b), d2, len(a), d1, dtype=torch.float64)
        place = torch.zeros(self.group.order, dtype=torch.long)
        place[list(a.subgroup)] = torch.arange(len(a.subgroup))
        parts = place[torch.tensor([a.part(g) for g in range(self.group.order)])]
        for x in range(len(b)):
            back = self.group.inverse(int(b.section[x]))
            moved = self.group.table[back, a.section]  # s₂(x)⁻¹ s₁(y) for every y
            values = kernels[:, a.of[moved]] @ rho1.matrices[parts[moved]]  # (k, |G/H₁|, d₂, d₁)
            found[:, x] = values.transpose(1, 2)
        return found.reshape(len(kernels), self.second.dim, self.first.dim)

    @cached_property
    def maps(self) -> Tensor:
        """A basis of all equivariant maps: matrices (dim, dim₂, dim₁) of flattened local fields, each of norm 1."""
        found = self._matrices(self.basis_c)
        return found / found.flatten(1).norm(dim=1)[:, None, None] if len(found) else found

    def by_characters(self) -> float:
        """The dimension from traces alone, |G|⁻¹ Σ χ₁(g⁻¹) χ₂(g): a second way to it."""
        total = sum(
            self.first.character(self.group.inverse(g)) * self.second.character(g) for g in range(self.group.order)
        )
        return total / self.group.order

    def by_brute_force(self) -> Tensor:
        """All Φ with π₂(g)Φ = Φπ₁(g) for the generators, as a null space (k, dim₂, dim₁): a third way, for small spaces."""
        n1, n2 = self.first.dim, self.second.dim
        if n1 * n2 > 2500:
            raise ValueError(f"brute force solves for up to 2500 numbers; these maps have {n2} x {n1}. Use maps.")
        eye1, eye2 = torch.eye(n1, dtype=torch.float64), torch.eye(n2, dtype=torch.float64)
        rows = [
            torch.kron(self.second.action(g), eye1) - torch.kron(eye2, self.first.action(g).T.contiguous())
            for g in self.group.generators
        ]
        basis = null_space(torch.cat(rows)) if rows else torch.eye(n1 * n2, dtype=torch.float64)
        return basis.T.reshape(-1, n2, n1)

"""Real representations of subgroups: trivial, regular, by permutations, by matrices, and all irreducible ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from priorscope.checks import checked, each, whole
from priorscope.models.equivariant.homogeneous._group import TableGroup
from priorscope.printing import printed

__all__ = ["Representation", "irreducible", "permuting", "regular", "trivial"]


_MEMBERS = each(whole(0, "Elements go by their numbers in the group."))


@checked(subgroup=_MEMBERS)
@printed
@dataclass(frozen=True, eq=False)
class Representation:
    """Matrices (|H|, d, d) of the elements of a subgroup, in the subgroup's order; ρ(a)ρ(b) = ρ(ab) is checked.

    Example:
        >>> from priorscope.models.equivariant.homogeneous import cyclic
        >>> G = cyclic(2)
        >>> Representation("sign", G, (0, 1), torch.tensor([[[1.0]], [[-1.0]]]).double()).dim
        1
    """

    name: str
    group: TableGroup
    subgroup: tuple[int, ...]
    matrices: Tensor

    def __post_init__(self) -> None:
        chosen = self.group.check_subgroup(self.subgroup)
        object.__setattr__(self, "subgroup", chosen)
        object.__setattr__(self, "matrices", torch.as_tensor(self.matrices, dtype=torch.float64))
        m = self.matrices
        if m.ndim != 3 or len(m) != len(chosen) or m.shape[1] != m.shape[2]:
            raise ValueError(
                f"a representation of {len(chosen)} elements has matrices ({len(chosen)}, d, d); got {tuple(m.shape)}."
            )
        table = self.group.table[list(chosen)][:, list(chosen)]
        place = torch.searchsorted(torch.tensor(chosen), table.contiguous())
        worst = max(float((m[i] @ m - m[place[i]]).abs().max()) for i in range(len(chosen)))
        if worst > 1e-9 * max(float(m.abs().max()), 1.0):
            raise ValueError(f"{self.name} is no representation: ρ(a)ρ(b) and ρ(ab) differ by {worst:.2g}.")

    @property
    def dim(self) -> int:
        """Dimension."""
        return int(self.matrices.shape[1])

    def __call__(self, element: int) -> Tensor:
        """The matrix of an element of the subgroup."""
        return self.matrices[self.subgroup.index(element)]

    @property
    def character(self) -> Tensor:
        """Traces, in the subgroup's order."""
        return self.matrices.diagonal(dim1=1, dim2=2).sum(1)


@checked(subgroup=_MEMBERS)
def trivial(group: TableGroup, subgroup: Sequence[int]) -> Representation:
    """Every element as the number 1: scalars.

    Example:
        >>> from priorscope.models.equivariant.homogeneous import cyclic
        >>> trivial(cyclic(3), (0, 1, 2)).dim
        1
    """
    return Representation("trivial", group, tuple(subgroup), torch.ones(len(subgroup), 1, 1, dtype=torch.float64))


@checked(subgroup=_MEMBERS, n=whole())
def permuting(
    group: TableGroup, subgroup: Sequence[int], act: Callable[[int, int], int], n: int, name: str = "permutation"
) -> Representation:
    """An action on n points, ``act(element, point)``, as permutation matrices.

    Example:
        >>> from priorscope.models.equivariant.homogeneous import symmetric
        >>> S3 = symmetric(3)
        >>> permuting(S3, range(6), lambda g, i: int(S3.names[g][i]), 3).character.tolist()[0]
        3.0
    """
    chosen = group.check_subgroup(tuple(subgroup))
    matrices = torch.zeros(len(chosen), n, n, dtype=torch.float64)
    for k, element in enumerate(chosen):
        for point in range(n):
            matrices[k, act(element, point), point] = 1
    return Representation(name, group, chosen, matrices)


@checked(subgroup=_MEMBERS)
def regular(group: TableGroup, subgroup: Sequence[int]) -> Representation:
    """The elements of the subgroup permuted by multiplication: any pointwise nonlinearity respects it.

    Example:
        >>> from priorscope.models.equivariant.homogeneous import cyclic
        >>> regular(cyclic(4), range(4)).dim
        4
    """
    chosen = group.check_subgroup(tuple(subgroup))
    place = {element: k for k, element in enumerate(chosen)}
    act = lambda g, k: place[int(group.table[g, chosen[k]])]  # noqa: E731
    return permuting(group, chosen, act, len(chosen), "regular")


@checked(subgroup=_MEMBERS)
def irreducible(group: TableGroup, subgroup: Sequence[int]) -> list[Representation]:
    """All irreducible real representations of a subgroup, by dimension, the trivial one first.

    The regular representation holds each of them; a random symmetric matrix that commutes with it has them as eigenspaces
    (Dixon 1970, "Computing irreducible representations of groups", with the mean over the group in place of iterations).

    Example:
        >>> from priorscope.models.equivariant.homogeneous import dihedral
        >>> [rep.dim for rep in irreducible(dihedral(4), range(8))]
        [1, 1, 1, 1, 2]
    """
    all_of_them = regular(group, subgroup)
    n = all_of_them.dim
    noise = torch.randn(n, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mean = torch.stack([m @ (noise + noise.T) @ m.T for m in all_of_them.matrices]).mean(0)
    values, vectors = torch.linalg.eigh(mean)
    cuts = (values.diff() > 1e-8 * float(values.abs().max())).nonzero().flatten().add(1).tolist()
    found: list[Representation] = []
    for start, stop in zip([0, *cuts], [*cuts, n]):
        basis = vectors[:, start:stop]
        rep = Representation("irreducible", group, all_of_them.subgroup, basis.T @ all_of_them.matrices @ basis)
        if not any(torch.allclose(rep.character, other.character, atol=1e-8) for other in found):
            found.append(rep)
    found.sort(key=lambda rep: (rep.dim, -float(rep.character.sum())))
    return found

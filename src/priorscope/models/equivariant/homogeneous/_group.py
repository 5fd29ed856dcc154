"""Finite groups as multiplication tables: cyclic, dihedral, symmetric, cube, and lattices with point groups."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from priorscope.checks import checked, whole
from priorscope.printing import printed

__all__ = ["TableGroup", "cyclic", "dihedral", "permutations", "point_group", "semidirect", "symmetric"]

MOST = 5000  # elements: the table holds the square of them


@printed
@dataclass(frozen=True, eq=False)
class TableGroup:
    """A finite group by its multiplication table: ``table[a, b]`` is the number of the product ab; the identity has number 0.

    Example:
        >>> group = dihedral(3)
        >>> group.order, len(group.subgroup([group.named("f")]))
        (6, 2)
    """

    name: str
    table: Tensor
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.table)
        line = torch.arange(n)
        rows = self.table.sort(1).values
        if self.table.shape != (n, n) or not torch.equal(rows, line.expand(n, n)):
            raise ValueError(
                f"TableGroup needs a square table whose rows are permutations; got one of {tuple(self.table.shape)}."
            )
        if not (torch.equal(self.table[0], line) and torch.equal(self.table[:, 0], line)):
            raise ValueError("TableGroup needs the identity as element 0: the first row and column must count up.")
        some = line if n <= 60 else torch.randperm(n, generator=torch.Generator().manual_seed(0))[:60]
        left = self.table[self.table[some][:, some]][:, :, some]  # (a b) c
        right = self.table[some][:, self.table[some][:, some]]  # a (b c)
        if not torch.equal(left, right):
            raise ValueError("TableGroup needs an associative product; (ab)c and a(bc) differ for this table.")

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.table)

    @cached_property
    def inverses(self) -> Tensor:
        """The number of the inverse of each element."""
        return (self.table == 0).nonzero()[:, 1]

    def times(self, *elements: int) -> int:
        """The product of elements, from left to right."""
        found = 0
        for element in elements:
            found = int(self.table[found, element])
        return found

    def inverse(self, element: int) -> int:
        """The number of the inverse."""
        return int(self.inverses[element])

    def named(self, name: str) -> int:
        """The number of the element of a name."""
        if name not in self.names:
            raise ValueError(
                f"{self.name} has no element named {name!r}; it has {', '.join(self.names[:12]) or 'no names'}."
            )
        return self.names.index(name)

    def subgroup(self, generators: Sequence[int]) -> tuple[int, ...]:
        """All products of some elements, in rising order."""
        found = {0}
        new = [0]
        while new:
            new = [p for p in {self.times(a, g) for a in new for g in generators} if p not in found]
            found.update(new)
        return tuple(sorted(found))

    def check_subgroup(self, elements: Sequence[int]) -> tuple[int, ...]:
        """The elements in rising order; refused where they are no subgroup."""
        chosen = tuple(sorted(set(elements)))
        closed = torch.isin(self.table[list(chosen)][:, list(chosen)], torch.tensor(chosen)).all() if chosen else False
        if not chosen or chosen[0] != 0 or chosen[-1] >= self.order or not bool(closed):
            raise ValueError(
                f"a subgroup of {self.name} holds the identity and all products of its elements; {list(elements)[:12]} is none. "
                "Make one with group.subgroup(generators)."
            )
        return chosen

    @cached_property
    def generators(self) -> tuple[int, ...]:
        """A few elements whose products are all elements."""
        found: list[int] = []
        reached = {0}
        for element in range(1, self.order):
            if element not in reached:
                found.append(element)
                reached = set(self.subgroup(found))
        return tuple(found)


@checked(n=whole())
def cyclic(n: int) -> TableGroup:
    """The cyclic group of order n: element k is the turn by k/n.

    Example:
        >>> cyclic(4).times(3, 2)
        1
    """
    line = torch.arange(n)
    return TableGroup(f"C{n}", (line[:, None] + line) % n, tuple(f"r{k}" for k in range(n)))


@checked(n=whole())
def dihedral(n: int) -> TableGroup:
    """The symmetries of a regular n-gon: turns r^k, and r^k f with a mirror f first; f r = r^-1 f.

    Example:
        >>> group = dihedral(3)
        >>> group.times(group.named("f"), group.named("r")) == group.named("r2f")
        True
    """
    turn, mirror = (v.flatten() for v in torch.meshgrid(torch.arange(n), torch.arange(2), indexing="ij"))
    order = torch.cat([torch.arange(0, 2 * n, 2), torch.arange(1, 2 * n, 2)])  # turns first
    turn, mirror = turn[order], mirror[order]
    sign = 1 - 2 * mirror
    product = (turn[:, None] + sign[:, None] * turn) % n + n * ((mirror[:, None] + mirror) % 2)
    word = {0: "e", 1: "r"} | {k: f"r{k}" for k in range(2, n)}
    names = [word[k] for k in range(n)] + ["f", *(f"{word[k]}f" for k in range(1, n))]
    return TableGroup(f"D{n}", product, tuple(names))


def permutations(name: str, generators: Sequence[Sequence[int]]) -> TableGroup:
    """The group of all products of some permutations; ``(ab)(i) = a(b(i))``.

    Example:
        >>> permutations("A4", [(1, 2, 0, 3), (0, 2, 3, 1)]).order
        12
    """
    start = tuple(range(len(generators[0])))
    if any(sorted(g) != list(start) for g in generators):
        raise ValueError(
            f"permutations needs reorderings of 0 to {len(start) - 1}; got {[tuple(g) for g in generators]}."
        )
    found, new = {start: 0}, [start]
    while new:
        made = [tuple(a[i] for i in g) for a in new for g in generators]
        new = [p for p in dict.fromkeys(made) if p not in found]
        for p in new:
            found[p] = len(found)
        if len(found) > MOST:
            raise ValueError(f"permutations makes groups of at most {MOST} elements; {name} has more.")
    table = torch.tensor([[found[tuple(a[i] for i in b)] for b in found] for a in found])
    return TableGroup(name, table, tuple("".join(map(str, p)) for p in found))


@checked(n=whole(most=6))
def symmetric(n: int) -> TableGroup:
    """All permutations of n things.

    Example:
        >>> symmetric(4).order
        24
    """
    if n == 1:
        return TableGroup("S1", torch.zeros(1, 1, dtype=torch.long))
    swap, turn = (1, 0, *range(2, n)), (*range(1, n), 0)
    return permutations(f"S{n}", [swap, turn])


_PLANE = {"turn4": ((0, -1), (1, 0)), "turn6": ((1, -1), (1, 0)), "mirror": ((1, 0), (0, -1)), "swap": ((0, 1), (1, 0))}
_SPACE = {
    "turn z": ((0, -1, 0), (1, 0, 0), (0, 0, 1)),
    "turn x": ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
    "half z": ((-1, 0, 0), (0, -1, 0), (0, 0, 1)),
    "half x": ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
    "third": ((0, 0, 1), (1, 0, 0), (0, 1, 0)),
    "inversion": ((-1, 0, 0), (0, -1, 0), (0, 0, -1)),
}
POINT_GROUPS: dict[str, tuple[tuple[tuple[int, ...], ...], ...]] = {
    "C1": (),
    "C2": (((-1, 0), (0, -1)),),
    "C4": (_PLANE["turn4"],),
    "D4": (_PLANE["turn4"], _PLANE["mirror"]),
    "C6": (_PLANE["turn6"],),
    "D6": (_PLANE["turn6"], _PLANE["swap"]),
    "V": (_SPACE["half z"], _SPACE["half x"]),
    "T": (_SPACE["half z"], _SPACE["third"]),
    "O": (_SPACE["turn z"], _SPACE["turn x"]),
    "D4 in space": (_SPACE["turn z"], _SPACE["half x"]),
    "D4h": (_SPACE["turn z"], _SPACE["half x"], _SPACE["inversion"]),
    "Oh": (_SPACE["turn z"], _SPACE["turn x"], _SPACE["inversion"]),
}


def point_group(name: str) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Integer matrices of a point group of the plane (C1, C2, C4, D4, C6, D6) or of space (V, T, O, D4, D4h, Oh), identity first.

    Example:
        >>> len(point_group("D6")), len(point_group("Oh"))
        (12, 48)
    """
    if name not in POINT_GROUPS:
        raise ValueError(f"there is no point group {name!r}; there are {', '.join(POINT_GROUPS)}.")
    generators = POINT_GROUPS[name]
    size = len(generators[0]) if generators else 2
    start = tuple(tuple(int(i == j) for j in range(size)) for i in range(size))
    found, new = [start], [start]
    while new:
        made = [_product(a, g) for a in new for g in generators]
        new = [m for m in dict.fromkeys(made) if m not in found]
        found += new
    return tuple(found)


def _product(a: tuple[tuple[int, ...], ...], b: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sum(x * y for x, y in zip(row, column)) for column in zip(*b)) for row in a)


@checked(side=whole())
def semidirect(side: int, point: str = "C4") -> tuple[TableGroup, tuple[int, ...]]:
    r"""Shifts of a periodic lattice with a point group, :math:`\mathbb Z_{side}^d \rtimes H`, and its subgroup H.

    Elements are (t, h) with :math:`(t, h)(t', h') = (t + h t', h h')`, numbered shift by shift; H comes first.

    Example:
        >>> group, turns = semidirect(5, "C4")
        >>> group.order, turns
        (100, (0, 1, 2, 3))
    """
    matrices = point_group(point)
    d = len(matrices[0])
    shifts = list(itertools.product(range(side), repeat=d))
    if len(shifts) * len(matrices) > MOST:
        raise ValueError(
            f"semidirect makes groups of at most {MOST} elements; got {len(shifts)} shifts times {len(matrices)}."
        )
    H = torch.tensor(matrices)
    t = torch.tensor(shifts)
    weights = torch.tensor([side**k for k in reversed(range(d))])
    h_product = torch.tensor([[matrices.index(_product(a, b)) for b in matrices] for a in matrices])
    moved = torch.einsum("hij,tj->hti", H, t)  # h t'
    place = ((t[:, None, None] + moved[None]) % side * weights).sum(-1)  # (t, h, t')
    table = place[:, :, :, None] * len(H) + h_product[None, :, None, :]  # (t, h, t', h')
    n = len(t) * len(H)
    return TableGroup(f"Z{side}^{d} x {point}", table.reshape(n, n)), tuple(range(len(H)))

"""The table of equivariant networks in the literature: group, subgroup, representations, and a finite version of each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from priorscope.checks import checked, whole
from priorscope.models.equivariant.homogeneous._cosets import Cosets
from priorscope.models.equivariant.homogeneous._field import Field
from priorscope.models.equivariant.homogeneous._group import TableGroup, dihedral, permutations, semidirect
from priorscope.models.equivariant.homogeneous._kernels import KernelSpace
from priorscope.models.equivariant.homogeneous._representation import Representation, irreducible, regular, trivial

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TAXONOMY", "TaxonomyRow", "taxonomy_table"]

SIDE = 3  # of the periodic lattices that stand for Z^d and R^d here

Made = Callable[[], list[KernelSpace]]


@dataclass(frozen=True)
class TaxonomyRow:
    """One row: group, subgroup, base space, representation, references; ``finite`` names the finite group that stands for it.

    ``finite`` is empty where the subgroup is continuous and not compact-discretised here; ``kernels`` are then none.

    Example:
        >>> TAXONOMY[0].group, TAXONOMY[0].base, [space.dim for space in TAXONOMY[0].kernels()]
        ('Z^2', 'Z^2', [9])
    """

    group: str
    subgroup: str
    base: str
    representation: str
    references: str
    finite: str = ""
    make: Made | None = None

    def kernels(self) -> list[KernelSpace]:
        """Kernel spaces of the finite version, from the row's fields to themselves (or between its two kinds)."""
        return [] if self.make is None else self.make()


def _lattice(point: str, *kinds: str) -> Made:
    """Fields on a periodic lattice with a point group, of the kinds asked for: each to each."""

    def make() -> list[KernelSpace]:
        group, inner = semidirect(SIDE, point)
        return _between(group, inner, kinds)

    return make


def _cube(*kinds: str) -> Made:
    """The sphere as the six faces of a cube: turns of the cube over those about one axis."""

    def make() -> list[KernelSpace]:
        faces = permutations("O", [(1, 2, 3, 0, 4, 5), (0, 5, 2, 4, 1, 3)])  # turns about two axes, on faces
        inner = [g for g in range(faces.order) if faces.names[g][4] == "4"]
        return _between(faces, inner, kinds)

    return make


def _polygon(*kinds: str) -> Made:
    def make() -> list[KernelSpace]:
        group = dihedral(5)
        return _between(group, group.subgroup([group.named("f")]), kinds)

    return make


def _between(group: TableGroup, inner: tuple[int, ...] | list[int], kinds: tuple[str, ...]) -> list[KernelSpace]:
    """Kernel spaces between fields of the kinds, on the cosets of one subgroup."""
    space = Cosets(group, inner)
    found: dict[str, Representation] = {}
    for kind in kinds:
        if kind == "irrep":
            found["irrep"] = irreducible(group, space.subgroup)[-1]  # the largest
        else:
            found[kind] = (trivial if kind == "trivial" else regular)(group, space.subgroup)
    fields = [Field(space, representation) for representation in found.values()]
    return [KernelSpace(a, b) for a in fields for b in fields]


TAXONOMY: tuple[TaxonomyRow, ...] = (
    TaxonomyRow("Z^2", "1", "Z^2", "regular", "LeCun 1990", "Z_3^2", _lattice("C1", "regular")),
    TaxonomyRow("p4", "C4", "Z^2", "regular", "Cohen 2016, Dieleman 2016", "Z_3^2 x C4", _lattice("C4", "regular")),
    TaxonomyRow("p4m", "D4", "Z^2", "regular", "Cohen 2016, Dieleman 2016", "Z_3^2 x D4", _lattice("D4", "regular")),
    TaxonomyRow("p4", "C4", "Z^2", "irrep & regular", "Cohen 2017", "Z_3^2 x C4", _lattice("C4", "irrep", "regular")),
    TaxonomyRow("p4m", "D4", "Z^2", "irrep & regular", "Cohen 2017", "Z_3^2 x D4", _lattice("D4", "irrep", "regular")),
    TaxonomyRow("p6", "C6", "Z^2", "regular", "Hoogeboom 2018", "Z_3^2 x C6", _lattice("C6", "regular")),
    TaxonomyRow("p6m", "D6", "Z^2", "regular", "Hoogeboom 2018", "Z_3^2 x D6", _lattice("D6", "regular")),
    TaxonomyRow("Z^3 x H", "D4", "Z^3", "regular", "Winkels 2018", "Z_3^3 x D4", _lattice("D4 in space", "regular")),
    TaxonomyRow("Z^3 x H", "D4h", "Z^3", "regular", "Winkels 2018", "Z_3^3 x D4h", _lattice("D4h", "regular")),
    TaxonomyRow("Z^3 x H", "O", "Z^3", "regular", "Winkels 2018, Worrall 2018", "Z_3^3 x O", _lattice("O", "regular")),
    TaxonomyRow("Z^3 x H", "Oh", "Z^3", "regular", "Winkels 2018", "Z_3^3 x Oh", _lattice("Oh", "regular")),
    TaxonomyRow("Z^3 x H", "V", "Z^3", "regular", "Worrall 2018", "Z_3^3 x V", _lattice("V", "regular")),
    TaxonomyRow("Z^3 x H", "T", "Z^3", "regular", "Worrall 2018", "Z_3^3 x T", _lattice("T", "regular")),
    TaxonomyRow(
        "R^2 x C_N",
        "C_N",
        "R^2",
        "regular",
        "Weiler 2017, Zhou 2017, Bekkers 2018",
        "Z_3^2 x C6",
        _lattice("C6", "regular"),
    ),
    TaxonomyRow(
        "R^2 x C_N", "C_N", "R^2", "irrep & regular", "Marcos 2017", "Z_3^2 x C6", _lattice("C6", "irrep", "regular")
    ),
    TaxonomyRow("SE(2)", "SO(2)", "R^2", "irrep", "Worrall 2017", "Z_3^2 x C6", _lattice("C6", "irrep")),
    TaxonomyRow(
        "R^2 x H, H in E(2)",
        "O(2), SO(2), C_N, D_N",
        "R^2",
        "any",
        "Weiler 2019",
        "Z_3^2 x D6",
        _lattice("D6", "trivial", "irrep"),
    ),
    TaxonomyRow("R^2 x (R+, *)", "(R+, *)", "R^2", "regular & trivial", "Ghosh 2019"),
    TaxonomyRow("R^2 x (R+, *)", "(R+, *)", "R^2", "regular", "Worrall 2019, Sosnovik 2019"),
    TaxonomyRow(
        "SE(3)", "SO(3)", "R^3", "irrep", "Kondor 2018, Weiler 2018, Anderson 2019", "Z_3^3 x O", _lattice("O", "irrep")
    ),
    TaxonomyRow(
        "SE(3)", "SO(3)", "R^3", "irrep & regular", "Thomas 2018", "Z_3^3 x T", _lattice("T", "irrep", "regular")
    ),
    TaxonomyRow("SO(3)", "SO(2)", "S^2", "regular", "Cohen 2018", "O over C4", _cube("regular")),
    TaxonomyRow("SO(3)", "SO(2)", "S^2", "trivial", "Esteves 2018, Perraudin 2018", "O over C4", _cube("trivial")),
    TaxonomyRow("SO(3)", "SO(2)", "S^2", "irrep", "Jiang 2019", "O over C4", _cube("irrep")),
    TaxonomyRow("G", "H", "G/H", "trivial", "Kondor & Trivedi 2018", "D5 over C2", _polygon("trivial")),
)
"""The rows of Cohen, Geiger & Weiler (2019), table 1 (seed 001, chapter 5), one per subgroup where the source lists several.

Lattices of three pixels per side with periodic ends stand for Z^d and R^d; C6 and D6 for the circle and its mirrors, the turns
of a cube for SO(3). Scalings have no finite version: the group is not compact.

Example:
    >>> len(TAXONOMY) - sum(row.make is None for row in TAXONOMY)
    23
"""


@checked(most=whole())
def taxonomy_table(most: int = 1500) -> pd.DataFrame:
    """The rows with the dimensions of their kernel spaces, those of finite groups of at most ``most`` elements.

    Example:
        >>> taxonomy_table(most=40).dropna(subset="dimensions")["dimensions"].tolist()[:2]
        ['9', '36']
    """
    import pandas as pd

    rows = []
    for row in TAXONOMY:
        spaces = row.kernels()
        small = bool(spaces) and spaces[0].group.order <= most
        dims = ", ".join(str(space.dim) for space in spaces) if small else None
        values = (row.group, row.subgroup, row.base, row.representation, row.references, row.finite)
        names = ("group", "subgroup", "base", "representation", "references", "finite")
        rows.append({**dict(zip(names, values)), "dimensions": dims})
    return pd.DataFrame(rows)

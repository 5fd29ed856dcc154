"""Fields on homogeneous spaces of finite groups, and all equivariant maps between them."""

from priorscope.models.equivariant.homogeneous._cosets import Cosets
from priorscope.models.equivariant.homogeneous._field import Field
from priorscope.models.equivariant.homogeneous._group import (
    TableGroup,
    cyclic,
    dihedral,
    permutations,
    point_group,
    semidirect,
    symmetric,
)
from priorscope.models.equivariant.homogeneous._kernels import KernelSpace
from priorscope.models.equivariant.homogeneous._layer import EquivariantLinear
from priorscope.models.equivariant.homogeneous._representation import (
    Representation,
    irreducible,
    permuting,
    regular,
    trivial,
)
from priorscope.models.equivariant.homogeneous._taxonomy import TAXONOMY, TaxonomyRow, taxonomy_table

__all__ = [
    "TAXONOMY",
    "Cosets",
    "EquivariantLinear",
    "Field",
    "KernelSpace",
    "Representation",
    "TableGroup",
    "TaxonomyRow",
    "cyclic",
    "dihedral",
    "irreducible",
    "permutations",
    "permuting",
    "point_group",
    "regular",
    "semidirect",
    "symmetric",
    "taxonomy_table",
    "trivial",
]

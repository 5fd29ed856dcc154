"""Groups that act on inputs: rotations and permutations of channels, patches or everything; shifts, turns and flips."""

from priorscope.data.groups._block import BlockGroup
from priorscope.data.groups._element import Element, Permutation, Rotation
from priorscope.data.groups._grid import GridGroup
from priorscope.data.groups._group import Group
from priorscope.data.groups._layout import Layout
from priorscope.data.groups._moves import Move, generated, moves_of
from priorscope.data.groups._named import (
    dihedral,
    flips,
    named,
    orthogonal,
    patch_orthogonal,
    permutation,
    pixel_orthogonal,
    pixel_permutation,
    quarter_turns,
    shared_orthogonal,
    shared_permutation,
    translations,
)

__all__ = [
    "BlockGroup",
    "Element",
    "GridGroup",
    "Group",
    "Layout",
    "Move",
    "Permutation",
    "Rotation",
    "dihedral",
    "flips",
    "generated",
    "moves_of",
    "named",
    "orthogonal",
    "patch_orthogonal",
    "permutation",
    "pixel_orthogonal",
    "pixel_permutation",
    "quarter_turns",
    "shared_orthogonal",
    "shared_permutation",
    "translations",
]

"""The groups of the papers, by name."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from priorscope.checks import SHAPE, checked, optional, whole
from priorscope.data.groups._block import BlockGroup
from priorscope.data.groups._grid import GridGroup
from priorscope.data.groups._group import Group
from priorscope.data.groups._layout import Layout

__all__ = [
    "dihedral",
    "flips",
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


@checked(input_shape=SHAPE)
def orthogonal(input_shape: Sequence[int]) -> BlockGroup:
    """O(cd): one rotation of all c·d numbers of an input, dimension cd(cd − 1)/2.

    Example:
        >>> orthogonal((3, 2, 2)).dimension
        66
    """
    return BlockGroup("O(cd)", Layout(tuple(input_shape), "all"), "orthogonal", shared=False)


@checked(input_shape=SHAPE)
def pixel_orthogonal(input_shape: Sequence[int]) -> BlockGroup:
    """O(c)^d: every pixel's channels turned by a rotation of its own, dimension d·c(c − 1)/2.

    Example:
        >>> pixel_orthogonal((3, 2, 2)).dimension
        12
    """
    return BlockGroup("O(c)^d", Layout(tuple(input_shape), "pixel"), "orthogonal", shared=False)


@checked(input_shape=SHAPE)
def shared_orthogonal(input_shape: Sequence[int]) -> BlockGroup:
    """O(c)⊗I: one rotation of the channels, the same at every pixel, dimension c(c − 1)/2.

    Example:
        >>> shared_orthogonal((3, 2, 2)).dimension
        3
    """
    return BlockGroup("O(c)⊗I", Layout(tuple(input_shape), "pixel"), "orthogonal", shared=True)


@checked(input_shape=SHAPE, patch=whole())
def patch_orthogonal(input_shape: Sequence[int], patch: int) -> BlockGroup:
    """O(c·b²)⊗I: one rotation of the numbers of a b×b patch, the same for every patch of the tiling.

    Example:
        >>> patch_orthogonal((3, 8, 8), patch=4).dimension
        1128
    """
    return BlockGroup(f"O(c·{patch}²)⊗I", Layout(tuple(input_shape), "patch", patch), "orthogonal", shared=True)


@checked(input_shape=SHAPE)
def permutation(input_shape: Sequence[int]) -> BlockGroup:
    """P(cd): any reordering of all numbers of an input.

    Example:
        >>> permutation((1, 2, 2)).order
        24
    """
    return BlockGroup("P(cd)", Layout(tuple(input_shape), "all"), "permutation", shared=False)


@checked(input_shape=SHAPE)
def pixel_permutation(input_shape: Sequence[int]) -> BlockGroup:
    """P(c)^d: the channels reordered at every pixel on its own.

    Example:
        >>> pixel_permutation((3, 2)).order
        36
    """
    return BlockGroup("P(c)^d", Layout(tuple(input_shape), "pixel"), "permutation", shared=False)


@checked(input_shape=SHAPE)
def shared_permutation(input_shape: Sequence[int]) -> BlockGroup:
    """P(c)⊗I: the channels reordered, everywhere alike.

    Example:
        >>> shared_permutation((3, 8, 8)).order
        6
    """
    return BlockGroup("P(c)⊗I", Layout(tuple(input_shape), "pixel"), "permutation", shared=True)


@checked(input_shape=SHAPE)
def translations(input_shape: Sequence[int]) -> GridGroup:
    """Cyclic shifts of the pixels, along every spatial axis.

    Example:
        >>> translations((3, 4, 4)).order
        16
    """
    shape = _with_space(input_shape, "translations")
    grid = _grid(shape)
    shifts = torch.cartesian_prod(*[torch.arange(n) for n in shape[1:]]).reshape(-1, len(shape) - 1)
    axes = tuple(range(grid.ndim))
    rows = [grid.roll(tuple(s.tolist()), dims=axes).flatten() for s in shifts]
    return GridGroup("translations", Layout(shape, "channel"), torch.stack(rows))


@checked(input_shape=SHAPE)
def quarter_turns(input_shape: Sequence[int]) -> GridGroup:
    """Rotations of a square image by 0°, 90°, 180°, 270°.

    Example:
        >>> quarter_turns((1, 3, 3)).order
        4
    """
    shape = _square(input_shape, "quarter_turns")
    grid = _grid(shape)
    rows = [torch.rot90(grid, k, (0, 1)).flatten() for k in range(4)]
    return GridGroup("quarter turns", Layout(shape, "channel"), torch.stack(rows))


@checked(input_shape=SHAPE)
def flips(input_shape: Sequence[int]) -> GridGroup:
    """Reversals of every spatial axis and their products: order 2 in one dimension, 4 in two.

    Example:
        >>> flips((1, 3, 5)).order
        4
    """
    shape = _with_space(input_shape, "flips")
    rows = [_grid(shape)]
    for axis in range(len(shape) - 1):
        rows = rows + [row.flip(axis) for row in rows]
    return GridGroup("flips", Layout(shape, "channel"), torch.stack([row.flatten() for row in rows]))


@checked(input_shape=SHAPE)
def dihedral(input_shape: Sequence[int]) -> GridGroup:
    """Quarter turns and flips of a square image: the eight symmetries of the square.

    Example:
        >>> dihedral((3, 4, 4)).contains(quarter_turns((3, 4, 4)).sample_haar(seed=1))
        True
    """
    shape = _square(input_shape, "dihedral")
    grid = _grid(shape)
    rows = [torch.rot90(side, k, (0, 1)).flatten() for side in (grid, grid.flip(1)) for k in range(4)]
    return GridGroup("dihedral", Layout(shape, "channel"), torch.stack(rows))


@checked(input_shape=SHAPE, patch=optional(whole()))
def named(input_shape: Sequence[int], patch: int | None = None) -> dict[str, Group]:
    """All groups that can act on this shape, smallest rotations first: the columns of an invariance table.

    Example:
        >>> list(named((3, 4, 4)))[:3]
        ['P(c)⊗I', 'P(c)^d', 'P(cd)']
        >>> list(named((5,)))
        ['P(c)⊗I', 'O(c)⊗I']
    """
    shape = tuple(input_shape)
    if len(shape) == 1:
        flat: list[Group] = [shared_permutation(shape), shared_orthogonal(shape)]
        return {group.name: group for group in flat}
    found: list[Group] = [shared_permutation(shape), pixel_permutation(shape), permutation(shape)]
    found += [shared_orthogonal(shape), pixel_orthogonal(shape), orthogonal(shape)]
    if patch is not None:
        found.append(patch_orthogonal(shape, patch))
    found += [translations(shape), flips(shape)]
    if len(shape) == 3 and shape[1] == shape[2]:
        found.append(quarter_turns(shape))
    return {group.name: group for group in found}


def _grid(shape: tuple[int, ...]) -> Tensor:
    pixels = Layout(shape, "channel").pixels
    return torch.arange(pixels).reshape(shape[1:])


def _with_space(input_shape: Sequence[int], name: str) -> tuple[int, ...]:
    shape = tuple(input_shape)
    if len(shape) < 2:
        raise ValueError(f"{name} moves pixels and needs inputs of shape (channels, *space); got {shape}.")
    return shape


def _square(input_shape: Sequence[int], name: str) -> tuple[int, ...]:
    shape = tuple(input_shape)
    if len(shape) != 3 or shape[1] != shape[2]:
        raise ValueError(
            f"{name} needs square images (channels, side, side); got {shape}. Crop or pad the images first."
        )
    return shape

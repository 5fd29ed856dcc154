"""The eight pieces of Tetris in space, as points and as voxels."""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.checks import POSITIVE, SEED, checked, whole
from priorscope.data._dataset import Dataset, Split
from priorscope.data._labels import encode_labels
from priorscope.data.space._rotations import random_rotations

__all__ = ["tetris", "tetris_points", "tetris_voxels"]

_PIECES: dict[str, tuple[str, ...]] = {
    # cells by their coordinates; the first two are mirror images of each other
    "chiral left": ("000", "001", "100", "110"),
    "chiral right": ("010", "011", "110", "100"),
    "square": ("000", "100", "010", "110"),
    "line": ("000", "001", "002", "003"),
    "corner": ("000", "001", "010", "100"),
    "L": ("000", "001", "002", "010"),
    "T": ("000", "001", "002", "011"),
    "zigzag": ("000", "100", "110", "210"),
}


def tetris_points() -> Tensor:
    """The centres of the four cubes of each piece, (8, 4, 3), each piece with its mean at the origin; float64.

    The pieces are those of Weiler et al. (2018): two chiral ones, square, line, corner, L, T, zigzag.

    Example:
        >>> tetris_points().mean(1).abs().max().item() < 1e-12
        True
    """
    cells = torch.tensor(
        [[[int(c) for c in cell] for cell in piece] for piece in _PIECES.values()], dtype=torch.float64
    )
    return cells - cells.mean(1, keepdim=True)


@checked(size=whole(), cell=POSITIVE)
def tetris_voxels(centres: Tensor, size: int, cell: float, rotations: Tensor | None = None) -> Tensor:
    """Pieces with cubes at ``centres`` (n, 4, 3) in volumes (n, 1, size, size, size), ``cell`` voxels per cube, edges soft.

    A voxel holds 1 inside a cube, 0 outside, and falls in a straight line over one voxel across a face. Pieces are turned about
    their means by ``rotations`` (n, 3, 3), not interpolated.

    Example:
        >>> volume = tetris_voxels(tetris_points(), 13, 3.0)
        >>> volume.shape, round(float(volume[3].sum()))  # a line: about 4 cubes of 27 voxels
        (torch.Size([8, 1, 13, 13, 13]), 108)
    """
    side = (torch.arange(size, dtype=torch.float64) - (size - 1) / 2) / cell
    x = torch.stack(torch.meshgrid(side, side, side, indexing="ij"), -1).reshape(1, -1, 3)
    if rotations is not None:
        x = x @ rotations.double()  # R⁻¹ x
    far = (x[:, :, None] - centres[:, None].double()).abs()  # (n, voxels, 4, 3)
    inside = (0.5 + (0.5 - far) * cell).clamp(0, 1).prod(-1).sum(-1).clamp(max=1)
    return inside.reshape(len(centres), 1, size, size, size)


@checked(n_test=whole(), size=whole(), cell=POSITIVE, seed=SEED)
def tetris(
    form: str = "points",
    n_test: int = 10,
    *,
    size: int = 21,
    cell: float = 3.0,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """Eight classes, one training sample each in a fixed orientation; ``n_test`` random rotations of each to test.

    ``form`` is "points" (4, 3) or "voxels" (1, size, size, size) with ``cell`` voxels per cube.

    Example:
        >>> tetris("voxels", 2, size=13).input_shape, len(tetris(n_test=5).test)
        ((1, 13, 13, 13), 40)
    """
    if form not in ("points", "voxels"):
        raise ValueError(f"form is 'points' or 'voxels'; got {form!r}.")
    labels = torch.arange(8)
    test_labels = labels.repeat(n_test)
    turns = random_rotations(8 * n_test, seed)
    pieces = tetris_points()
    if form == "points":
        x, x_test = pieces, pieces[test_labels] @ turns.mT
    else:
        x = tetris_voxels(pieces, size, cell)
        chunks = zip(test_labels.split(8), turns.split(8))
        x_test = torch.cat([tetris_voxels(pieces[rows], size, cell, R) for rows, R in chunks])
    names = tuple(_PIECES)
    splits = [
        Split(a.to(dtype), encode_labels(b, "classes", names, dtype)) for a, b in ((x, labels), (x_test, test_labels))
    ]
    return Dataset(splits[0], splits[1], f"tetris ({form})", names, labels, test_labels)

"""Blocks of rows that are left out together: their rows by size, and systems of equations block by block."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray

__all__ = ["block_rows", "solve_blocks"]

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
_SMALL = 8  # rows of a block below which all blocks are solved in one call


def block_rows(blocks: Ids) -> list[Ids]:
    """Rows (blocks, size) of the blocks of each size, small ones first; ``blocks`` (n,) numbers the block of each row.

    Example:
        >>> [rows.tolist() for rows in block_rows(np.array([0, 1, 1, 2]))]
        [[[0], [3]], [[1, 2]]]
    """
    order = np.argsort(blocks, kind="stable")
    _, start, counts = np.unique(blocks[order], return_index=True, return_counts=True)
    return [order[start[counts == size][:, None] + np.arange(size)] for size in np.unique(counts)]


def solve_blocks(blocks: Array, right: Array) -> Array:
    """Solutions (blocks, rows, outputs) with positive definite matrices (blocks, rows, rows).

    Example:
        >>> solve_blocks(np.full((1, 1, 1), 2.0), np.ones((1, 1, 1))).tolist()
        [[[0.5]]]
    """
    if blocks.shape[1] < _SMALL:
        return np.asarray(np.linalg.solve(blocks, right), dtype=np.float64)
    found = np.empty(right.shape)
    for k, block in enumerate(blocks):
        _, found[k], failed = sla.lapack.dposv(block, right[k], lower=1)
        if failed:  # rounding left it indefinite
            found[k] = np.linalg.solve(block, right[k])
    return found

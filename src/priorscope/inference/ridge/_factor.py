"""What is left out, row by row or block by block, from one Cholesky factor: the inverse is made column by column and not kept."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray

from priorscope.inference.ridge._blocks import block_rows, solve_blocks

__all__ = ["left_out_of_factor"]

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
COLUMNS = 320  # of the inverse that are computed at once
TILE = 320  # rows of the factor that are inverted at once


def left_out_of_factor(
    factor: Array, ones: Array, alpha: Array, weights: Array, blocks: Ids | None
) -> tuple[Array, Array]:
    r"""Residuals (n, outputs) of rows left out with their block, and the spread (n,) of each, from :math:`LL^\top = K + rW^{-1}`.

    With :math:`H = (LL^\top)^{-1}`, ``ones`` :math:`h = H\mathbf 1` and :math:`B = H - hh^\top/\mathbf 1^\top h` they are
    :math:`(B_{bb})^{-1}\alpha_b` and :math:`\sqrt{w_i((B_{bb})^{-1})_{ii}}` (Rasmussen & Williams 2006, eq. 5.12, with weights
    and an intercept). Rows of one block stand side by side. :math:`H_{bb}` is the square of some columns of :math:`L^{-1}`:
    memory is that of the factor and a few columns.
    """
    n = len(factor)
    residuals, spread = np.empty_like(alpha), np.empty(n)
    tops = {
        at: np.tril(sla.lapack.dtrtri(factor[at : at + TILE, at : at + TILE], lower=1)[0]) for at in range(0, n, TILE)
    }  # what stands above the diagonal is not of the factor
    for start, stop in _cuts(blocks, n):
        columns = _inverse_columns(factor, tops, start, stop)
        h, own = ones[start:stop], slice(start, stop)
        if blocks is None:
            diagonal = np.einsum("ij,ij->j", columns, columns) - h**2 / ones.sum()
            residuals[own], spread[own] = alpha[own] / diagonal[:, None], np.sqrt(weights[own] / diagonal)
            continue
        square = columns.T @ columns - np.outer(h, h / ones.sum())
        for rows in block_rows(blocks[own]):
            inner = square[rows[:, :, None], rows[:, None]]
            residuals[start + rows] = solve_blocks(inner, alpha[start + rows])
            inverse = solve_blocks(inner, np.broadcast_to(np.eye(rows.shape[1]), inner.shape))
            spread[start + rows] = np.sqrt(weights[start + rows] * np.diagonal(inverse, axis1=1, axis2=2))
    return residuals, spread


def _cuts(blocks: Ids | None, n: int) -> Iterator[tuple[int, int]]:
    """Ranges of columns, none of which divides a block."""
    ends = np.arange(1, n + 1) if blocks is None else np.append(np.flatnonzero(np.diff(blocks)) + 1, n)
    start = 0
    while start < n:
        most, least = np.searchsorted(ends, [start + COLUMNS, start], side="right")
        stop = int(ends[max(most - 1, least)])
        yield start, stop
        start = stop


def _inverse_columns(factor: Array, tops: dict[int, Array], start: int, stop: int) -> Array:
    """Columns ``start`` to ``stop`` of the inverse of a lower triangular matrix, from the first row that is not zero on."""
    first = start - start % TILE  # tiles begin before the columns do
    n = len(factor)
    found = np.zeros((n - first, stop - start))
    found[np.arange(start, stop) - first, np.arange(stop - start)] = 1.0
    for at in range(first, n, TILE):
        rows = slice(at - first, min(at + TILE, n) - first)
        if at > first:
            found[rows] -= factor[at : at + TILE, first:at] @ found[: rows.start]
        found[rows] = tops[at] @ found[rows]
    return found

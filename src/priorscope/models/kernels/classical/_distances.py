"""Squared Euclidean distances by one product of matrices, with close pairs done again number by number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numba import njit
from torch import Tensor

__all__ = ["distance_blocks", "fill_distances", "median_distance", "squared_distances"]

CLOSE = 1e-2  # below this share of the two squared norms the product of matrices has lost two digits
BLOCK = 2**17  # distances held at once: a megabyte, so that what is done to them next finds them in the cache
SEEN = 1000


@njit(nogil=True, cache=True, error_model="numpy")
def fill_distances(out, a, b, norms_a, norms_b):  # type: ignore[no-untyped-def]
    """Turn ``out = -2 a b'`` into squared distances in place; pairs that are close are summed directly, so equal rows give 0."""
    for i in range(out.shape[0]):
        close = 0
        for j in range(out.shape[1]):  # without a branch, so that it runs several pairs at a time
            size = norms_a[i] + norms_b[j]
            found = size + out[i, j]
            close += found < CLOSE * size
            out[i, j] = found
        if not close:
            continue
        for j in range(out.shape[1]):
            if out[i, j] < CLOSE * (norms_a[i] + norms_b[j]):
                found = 0.0
                for c in range(a.shape[1]):
                    step = a[i, c] - b[j, c]
                    found += step * step
                out[i, j] = found


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    r"""Squared distances :math:`\|a_i - b_j\|^2` (n1, n2) of rows in float64; 0 for equal rows, within 1e-13 of the direct sum.

    .. math:: \|a - b\|^2 = \|a\|^2 + \|b\|^2 - 2\,a\cdot b

    (the law of cosines, by definition of the norm)
    after the mean of ``b`` is taken off both, which loses digits only where the distance is small
    against the norms: those pairs are summed number by number.

    Example:
        >>> squared_distances(torch.zeros(1, 2).double(), torch.tensor([[3.0, 4.0]]).double()).item()
        25.0
    """
    out = torch.empty(len(a), len(b), dtype=torch.float64)
    for rows, block in distance_blocks(a, b):
        out[rows] = block
    return out


def distance_blocks(a: Tensor, b: Tensor | None = None) -> Iterator[tuple[slice, Tensor]]:
    """The same in blocks of rows of ``a``, each with its place; without ``b`` those of ``a`` with itself up to the diagonal.

    Example:
        >>> [(rows.stop, tuple(block.shape)) for rows, block in distance_blocks(torch.zeros(600, 1).double())]
        [(218, (218, 218)), (436, (218, 436)), (600, (164, 600))]
    """
    centre = (a if b is None else b).mean(0)
    x = (a - centre).contiguous()
    y = x if b is None else (b - centre).contiguous()
    norms = x.square().sum(1)
    others = norms if b is None else y.square().sum(1)
    if len(norms) and len(others):
        _check_size(norms, others, a, a if b is None else b)
    step = max(16, BLOCK // max(len(y), 1))
    for start in range(0, len(x), step):
        rows = slice(start, min(start + step, len(x)))
        seen = slice(0, rows.stop if b is None else len(y))
        out = (x[rows] @ y[seen].mT).mul_(-2.0)
        fill_distances(out.numpy(), x[rows].numpy(), y[seen].numpy(), norms[rows].numpy(), others[seen].numpy())
        yield rows, out


def _check_size(norms: Tensor, others: Tensor, a: Tensor, b: Tensor) -> None:
    """Refuse rows whose squared distances may overflow: none is above twice the sum of the two squared norms."""
    if not bool((2 * (norms.max() + others.max())).isfinite()):
        raise ValueError(
            f"distances between inputs need numbers whose squares fit into double precision, up to 1e150 in units of the "
            f"bandwidth; got up to {max(float(a.abs().max()), float(b.abs().max())):.3g}. Rescale the inputs or the bandwidth."
        )


def median_distance(x: Tensor) -> float:
    """The median distance between distinct rows; of more than a thousand rows, a thousand evenly spaced ones are looked at.

    Example:
        >>> median_distance(torch.tensor([[0.0], [1.0], [5.0]]).double())  # of 1, 4, 5
        4.0
    """
    if len(x) > SEEN:
        x = x[torch.linspace(0, len(x) - 1, SEEN).round().long()]
    pairs = np.empty(len(x) * (len(x) - 1) // 2)
    count = 0
    for rows, block in distance_blocks(x):
        count = _gather_apart(pairs, count, block.numpy(), rows.start)
    if not count:
        what = "equal inputs" if bool((x == x[0]).all()) else "inputs within 1e-160 of each other"
        raise ValueError(
            f"the bandwidth 'median' needs two inputs that differ; got {len(x)} {what}. Give bandwidth as a number."
        )
    return float(np.sqrt(np.partition(pairs[:count], (count - 1) // 2)[(count - 1) // 2]))


@njit(nogil=True, cache=True, error_model="numpy")
def _gather_apart(out, count, block, start):  # type: ignore[no-untyped-def]
    """Append the distances above zero of each row to the rows before it; how many there are then."""
    for i in range(block.shape[0]):
        for j in range(start + i):
            if block[i, j] > 0.0:
                out[count] = block[i, j]
                count += 1
    return count

"""Repeated and nearly repeated rows, found by distance: hashing of rounded numbers, then neighbours in a projection."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

__all__ = ["in_order", "joined", "number_equal", "number_inputs", "scaled_columns"]

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
ROUNDING = 1e-9  # of a column's spread: closer numbers are one number
GAP = 1e3  # a row nearly repeats others that are this many times nearer than its next neighbour
_FEW, _MANY = (
    5_000,
    100_000,
)  # rows up to which 32 neighbours are looked at, else 8; rows beyond which only equal ones count


def scaled_columns(inputs: NDArray[np.generic]) -> Array:
    """Columns (n, d) of the inputs in float64, each about its median in units of its median deviation; constant ones go.

    The median deviation of columns that are mostly one number is zero; their standard deviation stands for it. Gaps (NaN)
    count as the median, with a column more that marks them.

    Example:
        >>> scaled_columns(np.array([[1e9, 5.0], [1e9 + 1, 5.0], [1e9 + 2, 5.0]])).ravel().tolist()
        [-1.0, 0.0, 1.0]
    """
    x = np.asarray(inputs, dtype=np.float64).reshape(len(inputs), -1)
    gaps = np.isnan(x)
    if gaps.any():
        known = np.where(gaps.all(0), 0.0, x[0])
        marked = gaps.any(0) & ~gaps.all(0)
        known[marked] = np.nanmedian(x[:, marked], 0)
        x = np.hstack([np.where(gaps, known, x), gaps[:, marked]])
    some = x[:: max(1, len(x) // 2_000)]  # a scale needs no more
    centre = np.median(some, 0)
    spread = np.median(np.abs(some - centre), 0)
    bare = spread == 0
    spread[bare] = np.where(np.ptp(x[:, bare], 0) > 0, (x[:, bare] - centre[bare]).std(0), 0.0)
    kept = spread > 0
    found: Array = (x[:, kept] - centre[kept]) / spread[kept]
    return found


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scrambled bits, each of which depends on all others (splitmix64; Steele, Lea & Flood 2014, fig. 17)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def number_equal(x: Array) -> Ids:
    """Number rows (n, d) so that rows that are equal to within the rounding share a number.

    Example:
        >>> in_order(number_equal(np.array([[0.5, 1.0], [2.0, 1.0], [0.5, 1.0]]))).tolist()
        [0, 1, 0]
    """
    if not x.shape[1]:
        return np.zeros(len(x), dtype=np.int64)
    odd = np.asarray(np.random.default_rng(0).integers(0, 2**63, x.shape[1]), dtype=np.uint64)
    odd = odd * np.uint64(2) + np.uint64(1)
    key = np.zeros(len(x), dtype=np.uint64)
    for j in range(x.shape[1]):
        bits = (np.rint(x[:, j] / ROUNDING) + 0.0).view(np.uint64)  # 0.0 makes one zero of two
        key += _mixed(bits) * odd[j]
    found: Ids = np.unique(key, return_inverse=True)[1].astype(np.int64)
    return found


def joined(n: int, first: Ids, second: Ids) -> Ids:
    """Number n things so that two share a number where links ``first[k]``, ``second[k]`` lead from one to the other.

    Example:
        >>> joined(5, np.array([0, 3]), np.array([4, 4])).tolist()
        [0, 1, 2, 0, 0]
    """
    links = coo_array((np.ones(len(first), dtype=bool), (first, second)), shape=(n, n))
    found: Ids = connected_components(links, directed=False)[1].astype(np.int64)
    return found


def _near(x: Array) -> tuple[Ids, Ids]:
    r"""Links between distinct rows that are GAP times nearer to each other than to the row after them.

    Of independent rows in d dimensions the ratio of the distances to the first and second neighbour is below 1/c with
    probability :math:`c^{-d}` (volumes of a Poisson process are uniform), one in a thousand where d is one. Links count only
    where there are more of them than that. Neighbours are sought among three random projections and judged by all columns.
    """
    n, d = x.shape
    nothing = np.zeros(0, dtype=np.int64)
    if n < 3 or n > _MANY or not d:
        return nothing, nothing
    small = x if d <= 3 else x @ np.random.default_rng(0).normal(size=(d, 3))
    count = min(32 if n <= _FEW else 8, n - 1)
    others = KDTree(small).query(small, count + 1)[1].astype(np.int64)
    apart = np.empty(others.shape)
    for k in range(count + 1):
        for rows in np.array_split(np.arange(n), max(1, n * d // 4_000_000)):
            apart[rows, k] = np.sqrt(((x[rows] - x[others[rows, k]]) ** 2).sum(1))
    apart[others == np.arange(n)[:, None]] = -1.0  # the row itself comes first
    order = apart.argsort(1)
    others, apart = np.take_along_axis(others, order, 1)[:, 1:], np.take_along_axis(apart, order, 1)[:, 1:]
    gaps = apart[:, 1:] >= GAP * np.maximum(apart[:, :-1], 1e-300)
    within = np.flip(np.maximum.accumulate(np.flip(gaps, 1), 1), 1)  # before the last gap of the row
    chance = n / GAP
    if within.any(1).sum() <= chance + 4 * chance**0.5:
        within[:] = False
    within |= apart[:, :-1] <= ROUNDING * d**0.5  # equal, but rounded to different sides
    row, place = np.nonzero(within)
    return row.astype(np.int64), others[row, place]


def number_inputs(x: Array) -> Ids:
    """Number rows (n, d) so that rows that repeat each other, or nearly (up to 32 of them), share a number.

    Example:
        >>> x = np.repeat(np.random.default_rng(0).normal(size=(20, 4)), 2, axis=0)
        >>> x[1::2] += 1e-7
        >>> number_inputs(x)[:6].tolist()
        [0, 0, 1, 1, 2, 2]
    """
    equal = number_equal(x)
    first = np.unique(equal, return_index=True)[1]
    blocks = joined(len(first), *_near(x[first]))[equal]
    return in_order(blocks)


def in_order(ids: NDArray[np.generic]) -> Ids:
    """The same numbering with 0, 1, … in order of first appearance.

    Example:
        >>> in_order(np.array(["b", "a", "b", "c"])).tolist()
        [0, 1, 0, 2]
    """
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[first.argsort()] = np.arange(len(first))
    found: Ids = rank[inverse.ravel()]
    return found

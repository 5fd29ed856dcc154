"""Which rows with the same inputs are copies of one sample, and which only meet on a few possible inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorscope.data.rows._repeats import in_order, number_equal, number_inputs, scaled_columns

__all__ = ["copy_blocks"]

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
MEETINGS = 30.0  # times more pairs than independent columns would give, as columns depend on each other
CELLS = (
    10  # different rows whose counts must have a common divisor: by chance one table in a thousand has all even ones
)


def copy_blocks(inputs: NDArray[np.generic], targets: NDArray[np.generic]) -> Ids:
    """Number rows so that copies of one sample share a number, from inputs (n, ...) and targets (n,) or (n, outputs).

    Rows that repeat the inputs of others, or nearly, are copies, whatever their targets. There is one exception: inputs of few
    values, such as class and sex, meet by chance, and so will new rows. That is assumed where columns that were independent
    would give the pairs that are seen, or a thirtieth of them; and where there are at least four rows for each input, most
    inputs have several targets, and different inputs share their values column by column (or there is one column). Then only
    rows of which all (or all of a class) are there k times are copies, k by k.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(6, 3))
        >>> copy_blocks(np.vstack([x, x[:2]]), np.arange(8)).tolist()
        [0, 1, 2, 3, 4, 5, 0, 1]
        >>> bits = np.random.default_rng(0).integers(0, 2, (200, 3))  # eight possible inputs: nobody copied anything
        >>> len(set(copy_blocks(bits, bits.sum(1)).tolist()))
        200
    """
    x = scaled_columns(inputs)
    same = number_inputs(x)
    counts = np.bincount(same)
    if counts.max() == 1:
        return same
    y = in_order(targets) if targets.dtype.kind not in "f" else number_equal(scaled_columns(targets))
    if not _by_chance(x, same, counts, y):
        return same
    return _given_often(same, y, targets.dtype.kind != "f")


def _by_chance(x: Array, same: Ids, counts: NDArray[np.int64], y: Ids) -> bool:
    """Whether rows that are drawn one by one would meet as often as they do."""
    n = len(same)
    pairs = float((counts * (counts - 1.0)).sum() / 2)
    distinct = x[np.unique(same, return_index=True)[1]]
    m = len(distinct)
    if m < 2:
        return True  # inputs that are all the same: there is nothing to copy
    meeting = []  # probability that two different samples agree, column by column
    for column in distinct.T[
        np.unique(np.abs(distinct), axis=1, return_index=True)[1]
    ]:  # two marks of one thing count once
        often = np.unique(column, return_counts=True)[1].astype(np.float64)
        meeting.append(float((often * (often - 1)).sum()) / (m * (m - 1.0)))
    if n >= 4 * m and 2 * _several(same, y) > (counts > 1).sum() and (len(meeting) == 1 or min(meeting) > 0):
        return True
    return MEETINGS * float(np.prod(meeting)) * n * (n - 1) / 2 >= pairs


def _several(same: Ids, y: Ids) -> int:
    """How many inputs have several targets."""
    cells = np.unique(np.stack([same, y], 1), axis=0)
    return int((np.bincount(cells[:, 0]) > 1).sum())


def _given_often(same: Ids, y: Ids, classes: bool) -> Ids:
    """Rows one by one, but k by k where every row (of a class) is there k times, 2k times and so on."""
    cells = np.unique(np.stack([same, y], 1), axis=0, return_inverse=True)[1].ravel()
    counts = np.bincount(cells)
    kind = np.zeros(len(counts), dtype=np.int64)
    if classes:
        kind[cells] = y
    times = np.ones(len(counts), dtype=np.int64)
    for one in np.unique(kind):
        here = kind == one
        if here.sum() >= CELLS:
            times[here] = np.gcd.reduce(counts[here])
    order = np.argsort(cells, kind="stable")
    place = np.empty(len(cells), dtype=np.int64)  # of a row among those of its cell
    place[order] = np.arange(len(cells)) - np.repeat(counts.cumsum() - counts, counts)
    return in_order(cells * (len(cells) + 1) + place // times[cells])

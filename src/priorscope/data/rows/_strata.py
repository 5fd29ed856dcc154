"""Strata: an order of units of several kinds in which every beginning holds each kind in its share."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

__all__ = ["even_order", "target_strata"]

Ids = NDArray[np.int64]


def target_strata(targets: NDArray[np.generic], bins: int = 10) -> Ids:
    """Number rows by their class (targets that are not floats), else by the quantile of the target they fall into.

    Several columns of numbers count by the sum of their standardised values. Default 10 bins, fewer below 50 rows: five rows
    in each.

    Example:
        >>> target_strata(np.array(["b", "a", "b"])).tolist(), target_strata(np.arange(10.0)).tolist()
        ([1, 0, 1], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    """
    if targets.dtype.kind != "f":
        classes: Ids = np.unique(targets, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
        return classes
    values = targets.reshape(len(targets), -1).astype(np.float64)
    spread = values.std(0)
    height = ((values - values.mean(0)) / np.where(spread > 0, spread, 1.0)).sum(1)
    parts = max(1, min(bins, len(height) // 5))
    edges = np.quantile(height, np.arange(1, parts) / parts)
    found: Ids = np.searchsorted(edges, height, side="left").astype(np.int64)
    return found


def even_order(kinds: Ids, count: int, rng: np.random.Generator) -> Ids:
    r"""The first ``count`` units of a random order in which each kind stays within one unit of its share, at every length.

    Unit j of a kind with share p may stand from place :math:`\lfloor (j-1)/p\rfloor + 1` to place :math:`\lceil j/p\rceil`,
    which is what a deviation below one means; taking the unit with the earliest last place among those that may come is
    always possible (Steiner & Yeomans 1993, *Level schedules for mixed-model, just-in-time processes*).

    Example:
        >>> kinds = np.array([0, 1, 1, 1, 1, 1])
        >>> kinds[even_order(kinds, 6, np.random.default_rng(0))].sum(), len(even_order(kinds, 2, np.random.default_rng(0)))
        (np.int64(5), 2)
    """
    n = len(kinds)
    mixed = rng.permutation(n)
    waiting = [list(mixed[kinds[mixed] == kind]) for kind in np.unique(kinds)]
    rng.shuffle(waiting)  # ties go to no kind in particular
    sizes = [len(units) for units in waiting]
    release = [(0, kind) for kind in range(len(sizes))]  # (places before, kind): those that may not come yet
    due: list[tuple[int, int]] = []
    placed = [0] * len(sizes)
    order = np.empty(count, dtype=np.int64)
    for place in range(count):
        while release and release[0][0] <= place:
            kind = heapq.heappop(release)[1]
            heapq.heappush(due, (-(-(placed[kind] + 1) * n // sizes[kind]), kind))  # ceil(j / p)
        kind = heapq.heappop(due)[1]
        order[place] = waiting[kind][placed[kind]]
        placed[kind] += 1
        if placed[kind] < sizes[kind]:
            heapq.heappush(release, (placed[kind] * n // sizes[kind], kind))  # floor((j - 1) / p)
    return order

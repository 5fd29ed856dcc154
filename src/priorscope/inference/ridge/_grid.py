"""The ridges that are tried, one grid for all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["RIDGES", "downhill"]

RIDGES = np.geomspace(1e-6, 10.0, 22)
"""Ridges from next to none to more than any signal wants, in units of the mean eigenvalue of the centred kernel.

Example:
    >>> len(RIDGES), round(float(RIDGES[1] / RIDGES[0]), 2)
    (22, 2.15)
"""


def downhill(loss: Callable[[int], float], start: int, count: int = len(RIDGES)) -> int:
    """The place on a grid where a loss is lowest, reached from ``start`` by growing, then shrinking steps: three losses at least.

    Left-out losses fall and rise once along the ridges, so that a place with two higher neighbours is the lowest one.

    Example:
        >>> downhill(lambda k: (k - 7) ** 2, 5, 22)
        7
    """
    seen: dict[int, float] = {}

    def at(k: int) -> float:
        if k not in seen:
            seen[k] = loss(k) if 0 <= k < count else float("inf")
        return seen[k]

    best = min(max(start, 0), count - 1)
    way = min((0, 1, -1), key=lambda d: at(best + d))
    step = 1
    while way and at(best + way * step) < at(best):
        best += way * step
        step *= 2
    while step := step // 2:
        best = min((best, best + step, best - step), key=at)
    return best

"""Which displacements of the pixels each stage of a fused program runs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from priorscope.models.kernels._instructions import POOL, TOTAL

__all__ = ["Schedule", "schedule"]


@dataclass(frozen=True)
class Schedule:
    """Which displacements each stage runs: for pairs of inputs, or for variances of single ones."""

    stages: np.ndarray  # records of STAGE
    shifts: np.ndarray  # (n, 2) in units of the stage's first frame
    spans: np.ndarray  # (n_stages, 2), rows of shifts
    where: np.ndarray  # displacement after a pool -> start of its tile, or -1
    tile_size: int


def schedule(stages: np.ndarray, everywhere: list[bool], wanted: list[bool] | None = None) -> Schedule:
    """Displacements of every stage, from the last to the first: a pool of window w needs those less than w apart."""
    stages = stages.copy()
    shifts: list[list[tuple[int, int]]] = [[] for _ in stages]
    for n in reversed(range(len(stages))):
        stage = stages[n]
        height, width, sub_y, sub_x = (int(stage[name]) for name in ("end_height", "end_width", "sub_y", "sub_x"))
        if stage["ends"] == TOTAL:
            ends = set(product(range(height), range(width))) if everywhere[n] else {(0, 0)}
        elif wanted is not None and not wanted[n]:
            ends = {(0, 0)}
        else:
            names = ("window_y", "window_x", "step_y", "step_x", "next_height", "next_width")
            win_y, win_x, step_y, step_x, height2, width2 = (int(stage[name]) for name in names)
            along_y: dict[int, set[int]] = {}
            along_x: dict[int, set[int]] = {}
            for d, _ in shifts[n + 1]:
                along_y.setdefault(d, reach(d, height2, step_y, win_y, height))
            for _, d in shifts[n + 1]:
                along_x.setdefault(d, reach(d, width2, step_x, win_x, width))
            ends = {pair for dy, dx in shifts[n + 1] for pair in product(along_y[dy], along_x[dx])}
        shifts[n] = sorted((dy * sub_y, dx * sub_x) for dy, dx in ends)
    spans: list[tuple[int, int]] = []
    where: list[int] = []
    at = tile = 0
    for n, stage in enumerate(stages):
        spans.append((at, at + len(shifts[n])))
        at += len(shifts[n])
        stage["tile"] = tile
        if n > 0:
            tile += len(shifts[n]) * int(stage["height"] * stage["width"])
    for n, stage in enumerate(stages):
        stage["where"] = len(where)
        if stage["ends"] == POOL:
            lookup = {shift: index for index, shift in enumerate(shifts[n + 1])}
            after = stages[n + 1]
            for shift in product(range(int(stage["next_height"])), range(int(stage["next_width"]))):
                index = lookup.get(shift)
                where.append(-1 if index is None else int(after["tile"] + index * after["height"] * after["width"]))
    everything = [shift for stage_shifts in shifts for shift in stage_shifts]
    return Schedule(
        stages,
        np.array(everything, dtype=np.int64).reshape(-1, 2),
        np.array(spans, dtype=np.int64).reshape(-1, 2),
        np.array(where, dtype=np.int64),
        tile,
    )


def reach(shift: int, size2: int, step: int, window: int, size: int) -> set[int]:
    """Displacements before a pool that feed one displacement after it, along one axis."""
    out = set()
    for signed in (shift, shift - size2):
        out |= {(signed * step + d) % size for d in range(-window + 1, window)}
    return out

"""Runs the stages of a program: displacements through the steps, sums and pools between them.

A stage is a record of STAGE.
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

from priorscope.models.kernels._instructions import POOL, TOTAL
from priorscope.models.kernels.fused._activations import FAST
from priorscope.models.kernels.fused._filters import add_into, set_to
from priorscope.models.kernels.fused._machine import run_steps

__all__ = ["run_head", "run_tasks"]


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def load(K, T, lanes, height, width, dy, dx, first, second, n_channels):
    """Covariances of the inputs: ``first`` flat (channels, pixels, lanes), ``second`` the same with doubled rows."""
    row = width * lanes
    share = 1.0 / n_channels
    set_to(T, 0, height * row, 0.0)
    set_to(K, 0, height * row, 0.0)
    for c in range(n_channels):
        for y in range(height):
            at, own = uint64(y * row), uint64((c * height + y) * row)
            other = uint64(2 * (c * height + (y + dy) % height) * row + dx * lanes)
            for l in range(uint64(row)):
                K[at + l] += share * first[own + l] * second[other + l]


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def spread_out(table, i, target, lanes):
    """One input's numbers (n, size), the same in every lane: (size, lanes)."""
    for p in range(table.shape[1]):
        for l in range(lanes):
            target[p * lanes + l] = table[i, p]


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def side_by_side(table, j0, target, lanes, rows, copies):
    """Inputs j0 + lane of a table (n, size), as (size, lanes) or, with two copies, every row of pixels twice in sequence."""
    n = min(lanes, table.shape[0] - j0)
    at = 0
    for m in range(rows.shape[0]):  # rows are (start, width)
        start, width = rows[m, 0], rows[m, 1]
        for _ in range(copies):
            for x in range(width):
                for l in range(lanes):
                    target[at + l] = table[j0 + l, start + x] if l < n else 0.0
                at += lanes


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def add_inside(K, lanes, stage, dy, dx, total):
    """Add the pixels inside whose partner is inside too."""
    height, width = stage.end_height, stage.end_width
    y0, y1, x0, x1 = stage.top, stage.bottom, stage.left, stage.right
    if y0 == 0 and y1 == height and x0 == 0 and x1 == width:
        add_into(total, 0, K, 0, height * width * lanes)
        return
    for y in range(y0, y1):
        far = (y + dy) % height
        if far < y0 or far >= y1:
            continue
        for x in range(x0, x1):
            other = (x + dx) % width
            if other >= x0 and other < x1:
                at = (y * width + x) * lanes
                add_into(total, at, K, at, lanes)


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def add_pool(stage, K, lanes, dy, dx, tile, where):
    """Add the window sums of one displacement to the tiles of the displacements that they belong to."""
    height, width, y0, x0 = stage.end_height, stage.end_width, stage.top, stage.left
    win_y, win_x, step_y, step_x = stage.window_y, stage.window_x, stage.step_y, stage.step_x
    height2, width2, n_y, n_x = stage.next_height, stage.next_width, stage.n_y, stage.n_x
    for m in range(n_y):
        for b in range(win_y):
            y = y0 + m * step_y + b
            rel_y = (y + dy) % height - y0
            if rel_y < 0 or rel_y >= (n_y - 1) * step_y + win_y:
                continue
            for my in range(max(0, -((win_y - 1 - rel_y) // step_y)), min(n_y - 1, rel_y // step_y) + 1):
                if rel_y - my * step_y >= win_y:
                    continue
                for n in range(n_x):
                    for a in range(win_x):
                        x = x0 + n * step_x + a
                        rel_x = (x + dx) % width - x0
                        if rel_x < 0 or rel_x >= (n_x - 1) * step_x + win_x:
                            continue
                        start = max(0, -((win_x - 1 - rel_x) // step_x))
                        for mx in range(start, min(n_x - 1, rel_x // step_x) + 1):
                            if rel_x - mx * step_x >= win_x:
                                continue
                            index = where[stage.where + ((my - m) % height2) * width2 + (mx - n) % width2]
                            if index < 0:
                                continue
                            at = (index + m * width2 + n) * lanes
                            add_into(tile, at, K, (y * width + x) * lanes, lanes)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def run_tasks(
    tasks, selves, stages, scales, shifts, spans, where, tile_size, steps, numbers, n_registers, size, lanes,
    x1, x2, input_rows, table_rows, s1, r1, s2, r2, with_ntk, out_K, out_T,
):  # fmt: skip
    """All stages for each task, a row (i, j0, group, lo, hi): pairs (i, j0 + lane), displacements lo to hi of stage
    0, result in ``out[group]``.

    With ``selves`` the pairs are (j0 + lane, j0 + lane), displacement zero comes first in every stage, and the
    variances met are written to the
    tables ``s2, r2`` (n, variances). Inputs are (n, channels * pixels).
    """
    K, T = np.zeros((n_registers, size * lanes)), np.zeros((n_registers, size * lanes))
    w, g = np.empty(size * lanes), np.empty(size * lanes)
    tile_K, tile_T = np.zeros(tile_size * lanes), np.zeros(tile_size * lanes)
    first, second = np.zeros(x1.shape[1] * lanes), np.zeros(2 * x1.shape[1] * lanes)
    own_s, own_r = np.zeros(s2.shape[1] * lanes), np.zeros(s2.shape[1] * lanes)
    other_s, other_r = np.zeros(2 * s2.shape[1] * lanes), np.zeros(2 * s2.shape[1] * lanes)
    all_K, all_T = np.zeros(size * lanes), np.zeros(size * lanes)
    n_channels = x1.shape[1] // (stages[0].height * stages[0].width)
    last_i = last_j = -1
    one, two = tasks.shape[1] - 4, tasks.shape[1] - 3  # not literals: numba would compile anew for each
    for task in range(tasks.shape[0]):
        i, j0, group = tasks[task, 0], tasks[task, 1], tasks[task, 2]
        if j0 != last_j:
            side_by_side(x2, j0, second, lanes, input_rows, two)
            if selves:
                side_by_side(x2, j0, first, lanes, input_rows, one)
            else:
                side_by_side(s2, j0, other_s, lanes, table_rows, two)
                side_by_side(r2, j0, other_r, lanes, table_rows, two)
        if not selves and i != last_i:
            spread_out(x1, i, first, lanes)
            spread_out(s1, i, own_s, lanes)
            spread_out(r1, i, own_r, lanes)
        last_i, last_j = i, j0
        all_K[:] = 0.0
        all_T[:] = 0.0
        tile_K[:] = 0.0
        tile_T[:] = 0.0
        for n in range(stages.shape[0]):
            stage = stages[n]
            pixels = stage.height * stage.width
            lo, hi = (tasks[task, 3], tasks[task, 4]) if n == 0 else (spans[n, 0], spans[n, 1])
            for c in range(lo, hi):
                dy, dx = shifts[c, 0], shifts[c, 1]
                if n == 0:
                    load(K[0], T[0], lanes, stage.height, stage.width, dy, dx, first, second, n_channels)
                else:
                    at = (stage.tile + (c - lo) * pixels) * lanes
                    for m in range(pixels * lanes):
                        K[0, m] = tile_K[at + m]
                        T[0, m] = tile_T[at + m]
                recording = selves and dy == 0 and dx == 0
                run_steps(
                    steps,
                    numbers,
                    stage.start,
                    stage.stop,
                    K,
                    T,
                    w,
                    g,
                    lanes,
                    dy,
                    dx,
                    own_s,
                    own_r,
                    other_s,
                    other_r,
                    recording,
                    with_ntk,
                )
                y, x = dy // stage.sub_y, dx // stage.sub_x
                for part in range(2 if with_ntk else 1):
                    X = T[0] if part == 1 else K[0]
                    if stage.ends == TOTAL:
                        add_inside(X, lanes, stage, y, x, all_T if part == 1 else all_K)
                    else:
                        add_pool(stage, X, lanes, y, x, tile_T if part == 1 else tile_K, where)
            if stage.ends == POOL:
                after = stages[n + 1]
                start = after.tile * lanes
                stop = start + (spans[n + 1, 1] - spans[n + 1, 0]) * after.height * after.width * lanes
                for m in range(start, stop):
                    tile_K[m] *= scales[n]
                    tile_T[m] *= scales[n]
        last = scales[stages.shape[0] - 1]
        for l in range(min(lanes, x2.shape[0] - j0)):
            sum_K = sum_T = 0.0
            for p in range(size):
                sum_K += all_K[p * lanes + l]
                sum_T += all_T[p * lanes + l]
            out_K[group, i, j0 + l] = sum_K * last
            if with_ntk:
                out_T[group, i, j0 + l] = sum_T * last
            if selves:
                for p in range(s2.shape[1]):
                    s2[j0 + l, p] = own_s[p * lanes + l]
                    r2[j0 + l, p] = own_r[p * lanes + l]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def run_head(
    first,
    last,
    K,
    T,
    steps,
    numbers,
    start,
    stop,
    n_registers,
    lanes,
    s1,
    r1,
    s2,
    r2,
    recording,
    fresh,
    with_ntk,
    symmetric,
):
    """The steps without pixels on rows ``first`` to ``last`` of the matrices, in place; tables are (n, variances).

    Tables belong to the matrix's rows and columns. When ``fresh``, T is only written. When ``recording``, K is one row of
    variances and the tables ``s2, r2`` are written.
    """
    n_variances = s2.shape[1]
    zero = start - start  # not a literal: numba would compile the steps anew for one
    k, t = np.zeros((n_registers, lanes)), np.zeros((n_registers, lanes))
    w, g = np.empty(lanes), np.empty(lanes)
    own_s, own_r = np.zeros(n_variances * lanes), np.zeros(n_variances * lanes)
    other_s, other_r = np.zeros(2 * n_variances * lanes), np.zeros(2 * n_variances * lanes)
    for j0 in range(0, K.shape[1], lanes):
        n = min(lanes, K.shape[1] - j0)
        if not recording:
            for p in range(n_variances):
                for l in range(n):
                    other_s[2 * p * n + l] = s2[j0 + l, p]
                    other_r[2 * p * n + l] = r2[j0 + l, p]
        for i in range(first, last):
            if symmetric and j0 + n <= i:
                continue
            for l in range(n):
                k[0, l] = K[i, j0 + l]
                t[0, l] = T[i, j0 + l] if with_ntk and not fresh else 0.0
            if not recording:
                for p in range(n_variances):
                    for l in range(n):
                        own_s[p * n + l] = s1[i, p]
                        own_r[p * n + l] = r1[i, p]
            run_steps(
                steps,
                numbers,
                start,
                stop,
                k,
                t,
                w,
                g,
                n,
                zero,
                zero,
                own_s,
                own_r,
                other_s,
                other_r,
                recording,
                with_ntk,
            )
            for l in range(n):
                K[i, j0 + l] = k[0, l]
                if with_ntk:
                    T[i, j0 + l] = t[0, l]
        if recording:
            for p in range(n_variances):
                for l in range(n):
                    s2[j0 + l, p] = own_s[p * n + l]
                    r2[j0 + l, p] = own_r[p * n + l]

"""Runs the stages of a program: displacements through the steps, sums and pools between them.

A stage is a row of integers: 0 first step, 1 end of steps, 2-3 frame at its start, 4-5 frame at its end, 6-9 inside of that frame (y low, y high,
x low, x high), 10-11 subsampling within the stage, 12 how it ends, 13-14 pool window, 15-16 pool stride, 17-18 next frame, 19-20 pooled size,
21 offset of its start in the tile, 22 offset of its map of displacements. Displacements are in units of the stage's first frame.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ._activations import FAST
from ._machine import PAIRS, RECORD, SELVES, SPREAD, run_steps

__all__ = ["POOL", "TOTAL", "N_STAGE", "run_pairs", "run_selves", "run_spread", "run_head"]

TOTAL = 0  # sum over the pixels inside and all displacements of the stage
POOL = 1
N_STAGE = 23


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def load_pair(K, T, lanes, height, width, dy, dx, first, second, i, stride2, j0, mode):
    """Covariances of the inputs. ``first`` is (n, channels, pixels); ``second`` flat (channels, pixels, n), doubled rows when SPREAD."""
    n_channels = first.shape[1]
    for y in range(height):
        far = (y + dy) % height
        for x in range(width):
            p = y * width + x
            at = p * lanes
            for l in range(lanes):
                K[at + l] = 0.0
                T[at + l] = 0.0
            for c in range(n_channels):
                if mode == SPREAD:
                    base = 2 * ((c * height + far) * width) + x + dx
                else:
                    base = ((c * height + far) * width + (x + dx) % width) * stride2 + j0
                if mode == RECORD or mode == SELVES:
                    own = (c * height * width + p) * stride2 + j0
                    for l in range(lanes):
                        K[at + l] += second[own + l] * second[base + l]
                else:
                    a = first[i, c, p]
                    for l in range(lanes):
                        K[at + l] += a * second[base + l]
            for l in range(lanes):
                K[at + l] /= n_channels


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def add_total(K, lanes, height, width, y0, y1, x0, x1, dy, dx, total, spread):
    """Sum over pixels inside whose partner is inside too."""
    for y in range(y0, y1):
        far = (y + dy) % height
        if far < y0 or far >= y1:
            continue
        for x in range(x0, x1):
            at = (y * width + x) * lanes
            if spread == 0:
                other = (x + dx) % width
                if other < x0 or other >= x1:
                    continue
            for l in range(lanes):
                total[l] += K[at + l]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def add_pool(stage, K, lanes, dy, dx, tile, where):
    """Add the window sums of one displacement to the tiles of the displacements that they belong to."""
    height, width, y0, x0 = stage[4], stage[5], stage[6], stage[8]
    win_y, win_x, step_y, step_x, width2, n_y, n_x = stage[13], stage[14], stage[15], stage[16], stage[18], stage[19], stage[20]
    height2 = stage[17]
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
                            index = where[stage[22] + ((my - m) % height2) * width2 + (mx - n) % width2]
                            if index < 0:
                                continue
                            at = (index + m * width2 + n) * lanes
                            source = (y * width + x) * lanes
                            for l in range(lanes):
                                tile[at + l] += K[source + l]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def run_lanes(
    stages, scales, shifts, spans, where, tile_size, steps, numbers, n_registers, size, lanes,
    first, second, i, j0, stride2, lo, hi, mode, s1, r1, s2, r2, with_ntk, sum_K, sum_T,
):  # fmt: skip
    """All stages for one group of lanes; stage 0 takes displacements ``lo`` to ``hi`` of its list."""
    K, T = np.empty((n_registers, size * lanes)), np.empty((n_registers, size * lanes))
    w, g = np.empty(size * lanes), np.empty(size * lanes)
    tile_K, tile_T = np.zeros(tile_size * lanes), np.zeros(tile_size * lanes)
    for n in range(stages.shape[0]):
        stage = stages[n]
        pixels = stage[2] * stage[3]
        for c in range(spans[n, 0] if n > 0 else lo, spans[n, 1] if n > 0 else hi):
            dy, dx = shifts[c, 0], shifts[c, 1]
            own = mode
            if mode == SELVES and dy == 0 and dx == 0:
                own = RECORD
            if n == 0:
                load_pair(K[0], T[0], lanes, stage[2], stage[3], dy, dx, first, second, i, stride2, j0, own)
            else:
                at = (stage[21] + (c - spans[n, 0]) * pixels) * lanes
                for m in range(pixels * lanes):
                    K[0, m] = tile_K[at + m]
                    T[0, m] = tile_T[at + m]
            run_steps(
                steps, numbers, stage[0], stage[1], K, T, w, g, lanes, dy, dx, own, s1, r1, s2, r2, stride2, j0, with_ntk
            )
            y, x = dy // stage[10], dx // stage[11]
            spread = 1 if mode == SPREAD else 0
            if stage[12] == TOTAL:
                inside = (stage[6], stage[7], stage[8], stage[9])
                add_total(K[0], lanes, stage[4], stage[5], inside[0], inside[1], inside[2], inside[3], y, x, sum_K, spread)
                if with_ntk:
                    add_total(T[0], lanes, stage[4], stage[5], inside[0], inside[1], inside[2], inside[3], y, x, sum_T, spread)
            else:
                add_pool(stage, K[0], lanes, y, x, tile_K, where)
                if with_ntk:
                    add_pool(stage, T[0], lanes, y, x, tile_T, where)
        if stage[12] == POOL:
            after = stages[n + 1]
            start = after[21] * lanes
            stop = start + (spans[n + 1, 1] - spans[n + 1, 0]) * after[2] * after[3] * lanes
            for m in range(start, stop):
                tile_K[m] *= scales[n]
                tile_T[m] *= scales[n]
    for l in range(lanes):
        sum_K[l] *= scales[stages.shape[0] - 1]
        sum_T[l] *= scales[stages.shape[0] - 1]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def run_pairs(
    tasks, stages, scales, shifts, spans, where, tile_size, steps, numbers, n_registers, size, lanes,
    first, second, stride2, s1, r1, s2, r2, with_ntk, out_K, out_T,
):  # fmt: skip
    """Tasks are rows (i, j0, group, lo, hi): pairs (i, j0 + lane), displacements lo to hi, result in ``out[group]``."""
    for task in range(tasks.shape[0]):
        i, j0, group = tasks[task, 0], tasks[task, 1], tasks[task, 2]
        sum_K, sum_T = np.zeros(lanes), np.zeros(lanes)
        run_lanes(
            stages, scales, shifts, spans, where, tile_size, steps, numbers, n_registers, size, lanes,
            first, second, i, j0, stride2, tasks[task, 3], tasks[task, 4], PAIRS, s1[i], r1[i], s2, r2, with_ntk, sum_K, sum_T,
        )  # fmt: skip
        for l in range(lanes):
            out_K[group, i, j0 + l] = sum_K[l]
            out_T[group, i, j0 + l] = sum_T[l]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def run_selves(
    tasks, stages, scales, shifts, spans, where, tile_size, steps, numbers, n_registers, size, lanes,
    first, second, stride2, s2, r2, out,
):  # fmt: skip
    """Variances of inputs j0 + lane, written to the tables; ``out`` gets the last stage's."""
    for task in range(tasks.shape[0]):
        j0 = tasks[task, 1]
        sum_K, sum_T = np.zeros(lanes), np.zeros(lanes)
        run_lanes(
            stages, scales, shifts, spans, where, tile_size, steps, numbers, n_registers, size, lanes,
            first, second, 0, j0, stride2, spans[0, 0], spans[0, 1], SELVES, s2, r2, s2, r2, False, sum_K, sum_T,
        )  # fmt: skip
        for l in range(lanes):
            out[j0 + l] = sum_K[l]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def double_rows(source, target, rows, width, stride, j):
    """Column j of a table (rows * width, n), each row written twice in sequence."""
    for y in range(rows):
        for x in range(width):
            value = source[(y * width + x) * stride + j]
            target[2 * y * width + x] = value
            target[(2 * y + 1) * width + x] = value


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def run_spread(
    tasks, stages, scales, shifts, spans, where, tile_size, steps, numbers, n_registers, size, lanes,
    first, second, stride2, s1, r1, s2, r2, with_ntk, out_K, out_T,
):  # fmt: skip
    """As :func:`run_pairs` for one pair at a time; lanes are horizontal displacements, lo to hi the vertical ones."""
    height, width = stages[0, 2], stages[0, 3]
    n_channels = first.shape[1]
    second2 = np.zeros(2 * n_channels * height * width + lanes)
    wide_s, wide_r = np.zeros(2 * s1.shape[1] + lanes), np.zeros(2 * s1.shape[1] + lanes)
    for task in range(tasks.shape[0]):
        i, j, group = tasks[task, 0], tasks[task, 1], tasks[task, 2]
        double_rows(second, second2, n_channels * height, width, stride2, j)
        double_rows(s2, wide_s, s1.shape[1] // width, width, stride2, j)
        double_rows(r2, wide_r, s1.shape[1] // width, width, stride2, j)
        total_K = total_T = 0.0
        for c in range(tasks[task, 3], tasks[task, 4]):
            sum_K, sum_T = np.zeros(lanes), np.zeros(lanes)
            run_lanes(
                stages, scales, shifts, spans, where, tile_size, steps, numbers, n_registers, size, lanes,
                first, second2, i, 0, stride2, c, c + 1, SPREAD, s1[i], r1[i], wide_s, wide_r, with_ntk, sum_K, sum_T,
            )  # fmt: skip
            for l in range(min(lanes, width - shifts[c, 1])):
                total_K += sum_K[l]
                total_T += sum_T[l]
        out_K[group, i, j] = total_K
        out_T[group, i, j] = total_T


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def run_head(rows, K, T, steps, numbers, start, stop, n_registers, lanes, s1, r1, s2, r2, stride2, mode, with_ntk, symmetric):
    """The steps without pixels on rows of the matrices, in place; ``mode`` PAIRS, or RECORD with one row of variances."""
    k, t = np.zeros((n_registers, lanes)), np.zeros((n_registers, lanes))
    w, g = np.empty(lanes), np.empty(lanes)
    for i in range(rows[0], rows[1]):
        for j0 in range((i // lanes) * lanes if symmetric else 0, K.shape[1], lanes):
            n = min(lanes, K.shape[1] - j0)
            for l in range(n):
                k[0, l] = K[i, j0 + l]
                t[0, l] = T[i, j0 + l] if with_ntk else 0.0
            a = 0 if mode == RECORD else i
            run_steps(steps, numbers, start, stop, k, t, w, g, n, 0, 0, mode, s1[a], r1[a], s2, r2, stride2, j0, with_ntk)
            for l in range(n):
                K[i, j0 + l] = k[0, l]
                if with_ntk:
                    T[i, j0 + l] = t[0, l]

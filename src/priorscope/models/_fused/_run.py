"""Lays inputs out for the compiled loops and spreads their tasks over threads (the loops hold no lock)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ._machine import PAIRS, RECORD
from ._stages import run_head, run_pairs, run_selves, run_spread

if TYPE_CHECKING:
    from .._plan import Plan

__all__ = ["fused_kernel"]

HEAD_LANES = 256
SPREAD_BELOW = 5  # with fewer second inputs than this, displacements fill the lanes better than inputs


def lanes_for(pixels: int, n: int) -> int:
    """Numbers side by side: as many as keep the registers in the first-level cache, no more than there are inputs."""
    lanes = 8
    while lanes < 64 and 2 * lanes * pixels <= 1024:
        lanes *= 2
    while lanes > 4 and lanes // 2 >= n:
        lanes //= 2
    return lanes


def each(run: Callable[[np.ndarray], None], tasks: np.ndarray) -> None:
    """Run tasks over torch's number of threads, in more parts than threads so that none waits long."""
    n_threads = torch.get_num_threads()
    if n_threads == 1 or len(tasks) < 2:
        run(tasks)
        return
    parts = [part for part in np.array_split(tasks, n_threads * 16) if len(part)]
    with ThreadPoolExecutor(n_threads) as pool:
        for done in [pool.submit(run, part) for part in parts]:
            done.result()


class Batch:
    """Inputs in the order the loops read them, with the variances of every layer."""

    def __init__(self, plan: Plan, x: np.ndarray, lanes: int) -> None:
        n = len(x)
        self.n, self.stride = n, -(-n // lanes) * lanes
        n_variances = max(plan.n_variances, 1)
        self.s, self.r = np.zeros(n_variances * self.stride), np.zeros(n_variances * self.stride)
        if plan.n_stages:
            height, width = plan.frame
            framed = np.zeros((n, x.shape[1], height, width))
            sizes = x.shape[2:] if x.ndim == 4 else (1, x.shape[2])
            framed[:, :, : sizes[0], : sizes[1]] = x.reshape(n, x.shape[1], *sizes)
            self.first = framed.reshape(n, x.shape[1], -1)
            second = np.zeros((x.shape[1], height * width, self.stride))
            second[:, :, :n] = np.moveaxis(self.first, 0, -1)
            self.second = second.reshape(-1)
            variances = np.zeros(self.stride)
            tasks = np.zeros((self.stride // lanes, 2), dtype=np.int64)
            tasks[:, 1] = np.arange(0, self.stride, lanes)
            s = plan.selves
            each(
                lambda part: run_selves(
                    part, s.stages, plan.scales, s.shifts, s.spans, s.where, s.tile_size, plan.steps, plan.numbers,
                    plan.n_registers, plan.size, lanes, self.first, self.second, self.stride, self.s, self.r, variances,
                ),
                tasks,
            )  # fmt: skip
        else:
            self.first = x.reshape(n, -1)
            variances = np.zeros(self.stride)
            variances[:n] = np.einsum("ac,ac->a", self.first, self.first) / self.first.shape[1]
        self.variances = variances[:n].copy()
        row = variances[None].copy()
        none = np.zeros((1, 1))
        run_head(
            np.array([0, 1]), row, none, plan.steps, plan.numbers, *plan.head, plan.n_registers, HEAD_LANES, none, none,
            self.s, self.r, self.stride, RECORD, False, False,
        )  # fmt: skip
        self.s1 = np.ascontiguousarray(self.s.reshape(n_variances, self.stride)[:, :n].T)
        self.r1 = np.ascontiguousarray(self.r.reshape(n_variances, self.stride)[:, :n].T)


def fused_kernel(
    plan: Plan, x1: np.ndarray, x2: np.ndarray | None, with_ntk: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """NNGP and NTK (None unless asked) in float64; ``x2=None`` computes each pair once."""
    symmetric = x2 is None
    n1, n2 = len(x1), len(x1) if x2 is None else len(x2)
    spread = plan.can_spread and n2 < SPREAD_BELOW
    lanes = lanes_for(plan.size, n2)
    a = Batch(plan, x1, lanes)
    b = a if x2 is None else Batch(plan, x2, lanes)
    if plan.n_stages:
        K, T = pixel_stages(plan, a, b, lanes, spread, symmetric, with_ntk)
    else:
        # numpy takes the symmetric product by itself when both factors are one array
        K = (a.first @ b.first.T) / a.first.shape[1]
        if symmetric:
            np.fill_diagonal(K, a.variances)
        T = np.zeros_like(K) if with_ntk else np.zeros((1, 1))
    rows = [np.array(part) for part in row_ranges(n1, max(1, n1 // 64), symmetric)]
    each(
        lambda part: [
            run_head(
                rows[i], K, T, plan.steps, plan.numbers, *plan.head, plan.n_registers, HEAD_LANES, a.s1, a.r1,
                b.s, b.r, b.stride, PAIRS, with_ntk, symmetric,
            )
            for i in part
        ] and None,
        np.arange(len(rows)),
    )  # fmt: skip
    if symmetric:
        mirror(K)
        if with_ntk:
            mirror(T)
    return K, T if with_ntk else None


def row_ranges(n: int, size: int, symmetric: bool) -> list[tuple[int, int]]:
    """Rows in parts."""
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def mirror(K: np.ndarray, size: int = 256) -> None:
    """Copy the upper triangle to the lower one, in place, tile by tile."""
    n = len(K)
    for i in range(0, n, size):
        rows = slice(i, min(i + size, n))
        tile = K[rows, rows]
        K[rows, rows] = np.triu(tile) + np.triu(tile, 1).T
        for j in range(i + size, n, size):
            columns = slice(j, min(j + size, n))
            K[columns, rows] = K[rows, columns].T


def pixel_stages(
    plan: Plan, a: Batch, b: Batch, lanes: int, spread: bool, symmetric: bool, with_ntk: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Kernels after the last pixel is gone, before the head; of symmetric ones at least the upper triangle."""
    s = plan.pairs
    shifts, spans, run = s.shifts, s.spans, run_pairs
    if spread:
        height, width = plan.frame
        lanes = min(8, 1 << (width - 1).bit_length())
        shifts = np.array([(dy, dx) for dy in range(height) for dx in range(0, width, lanes)], dtype=np.int64)
        spans, run = np.array([[0, len(shifts)]], dtype=np.int64), run_spread
    width_of_task = 1 if spread else lanes
    starts = range(0, b.n, width_of_task)
    pairs = [(i, j0) for i in range(a.n) for j0 in starts if not symmetric or j0 + width_of_task > i]
    n_shifts = int(spans[0, 1])
    n_groups = min(n_shifts, -(-16 // len(pairs))) if plan.n_stages == 1 else 1
    cuts = np.linspace(0, n_shifts, n_groups + 1).astype(int)
    tasks = np.array([(i, j0, g, cuts[g], cuts[g + 1]) for i, j0 in pairs for g in range(n_groups)], dtype=np.int64)
    out_K = np.zeros((n_groups, a.n, b.stride))
    out_T = np.zeros((n_groups, a.n, b.stride))
    ntk: Any = with_ntk
    each(
        lambda part: run(
            part, s.stages, plan.scales, shifts, spans, s.where, s.tile_size, plan.steps, plan.numbers, plan.n_registers,
            plan.size, lanes, a.first, b.second, b.stride, a.s1, a.r1, b.s, b.r, ntk, out_K, out_T,
        ),
        tasks,
    )  # fmt: skip
    K = np.ascontiguousarray(out_K.sum(0)[:, : b.n])
    return K, np.ascontiguousarray(out_T.sum(0)[:, : b.n])

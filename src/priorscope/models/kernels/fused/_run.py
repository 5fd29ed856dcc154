"""Lays inputs out for the compiled loops and spreads their tasks over threads (the loops hold no lock)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from threadpoolctl import ThreadpoolController

from priorscope.models.kernels._instructions import EXPECT
from priorscope.models.kernels._range import LEAST, LEAST_INPUT
from priorscope.models.kernels.fused._activations import STEEPEST, variances_of
from priorscope.models.kernels.fused._chain import LONG, SHORT, run_chain
from priorscope.models.kernels.fused._equal import settle_equal
from priorscope.models.kernels.fused._stages import run_head, run_tasks
from priorscope.models.kernels.fused._vector import LANES

if TYPE_CHECKING:
    from priorscope.models.kernels._plan import Plan
    from priorscope.models.kernels._schedule import Schedule

__all__ = ["OutOfRange", "fused_average", "fused_kernel"]


class OutOfRange(Exception):
    """Variances that the compiled formulas do not cover."""


HEAD_LANES = 256
ROWS = 128  # rows of a kernel without pixels that are computed at a time
KEPT = 2**18  # pairs up to which a list of tasks is kept for the next kernel of this size
CACHED = 1024  # numbers in a register: K, T and a scratch array of so many fit the first-level cache


def lanes_for(pixels: int, n: int) -> int:
    """Pairs side by side: as many as keep the registers in cache, no more than there are inputs."""
    lanes = 1
    while lanes < 16 and 2 * lanes * pixels <= CACHED and lanes < n:
        lanes *= 2
    return lanes


def each(run: Callable[[np.ndarray], None], tasks: np.ndarray, parts: int = 16) -> None:
    """Run tasks over torch's number of threads, in more parts than threads so that none waits long."""
    n_threads = torch.get_num_threads()
    if n_threads == 1 or len(tasks) < 2:
        run(tasks)
        return
    pieces = [part for part in np.array_split(tasks, n_threads * parts) if len(part)]
    with ThreadPoolExecutor(n_threads) as pool:
        for done in [pool.submit(run, part) for part in pieces]:
            done.result()


def rows_of_tables(plan: Plan) -> np.ndarray:
    """Rows of pixels (start, width) in the tables of variances."""
    rows = []
    for step in plan.steps[plan.steps["code"] == EXPECT]:
        height, width, offset = (int(step[name]) for name in ("height", "width", "variances"))
        rows += [(offset + y * width, width) for y in range(height)]
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


class Batch:
    """Inputs in the order the loops read them, with the variances of every layer."""

    def __init__(self, plan: Plan, x: np.ndarray) -> None:
        """Lay the batch out in its frame, and compute the variances of every stage once."""
        n = len(x)
        self.n = n
        self.s, self.r = np.zeros((n, plan.n_variances)), np.zeros((n, plan.n_variances))
        if plan.n_stages:
            height, width = plan.frame
            sizes = x.shape[2:] if x.ndim == 4 else (1, x.shape[2])
            framed = np.zeros((n, x.shape[1], height, width))
            framed[:, :, : sizes[0], : sizes[1]] = x.reshape(n, x.shape[1], *sizes)
            self.x = framed.reshape(n, -1)
            self.rows = np.array([(y * width, width) for y in range(x.shape[1] * height)], dtype=np.int64)
            self.tables = rows_of_tables(plan)
            lanes = lanes_for(plan.size, n)
            n_shifts = int(plan.selves.spans[0, 1])
            tasks = np.array([(0, j0, 0, 0, n_shifts) for j0 in range(0, n, lanes)], dtype=np.int64)
            out = np.zeros((1, 1, n))
            each(
                lambda part: run_stages(plan, plan.selves, part, lanes, self, self, out, out, selves=True, ntk=False),
                tasks,
            )
            variances = out[0]
        else:
            self.x = x.reshape(n, -1)
            variances = (np.einsum("ac,ac->a", self.x, self.x) / self.x.shape[1])[None]
        self.variances = variances[0].copy()
        self.head_s = np.ascontiguousarray(self.s[:, plan.head_variances :])
        self.head_r = np.ascontiguousarray(self.r[:, plan.head_variances :])
        head_rows(
            plan, 0, 1, variances, variances, self, self, 0, 0, recording=True, fresh=True, ntk=False, symmetric=False
        )
        self.s[:, plan.head_variances :] = self.head_s
        check(plan, x, self.s)


def check(plan: Plan, x: np.ndarray, s: np.ndarray) -> None:
    """Refuse variances that are no numbers, that underflow, or at which a formula loses digits."""
    size = np.abs(x).reshape(len(x), -1).max(1)
    if ((size > 0) & (size < LEAST_INPUT)).any():
        raise OutOfRange("inputs underflow")
    for n in np.flatnonzero(plan.steps["code"] == EXPECT):
        step = plan.steps[n]
        at = int(step["variances"])
        values = s[:, at : at + int(step["height"] * step["width"])]
        largest, unit = variances_of(int(step["kind"]), plan.numbers[n], values.max(1))
        most = largest.max()
        if not most < np.inf:
            raise OutOfRange("variances overflow")
        if most > STEEPEST * unit:
            raise OutOfRange("variances too large for the formula")
        if largest.min() < LEAST and ((largest > 0) & (largest < LEAST)).any():
            raise OutOfRange("variances underflow")


def head_rows(
    plan: Plan,
    first: int,
    last: int,
    K: np.ndarray,
    T: np.ndarray,
    a: Batch,
    b: Batch,
    top: int,
    left: int,
    *,
    recording: bool,
    fresh: bool,
    ntk: bool,
    symmetric: bool,
) -> None:
    """The steps without pixels on rows ``first`` to ``last``, in place; ``fresh`` when the tangent kernel is still zero."""
    steps, numbers = plan.head_steps, plan.numbers[plan.head[0] : plan.head[1]]
    run_head(
        first, last, K, T, steps, numbers, 0, len(steps), plan.n_registers, HEAD_LANES,
        a.head_s[top:], a.head_r[top:], b.head_s[left:], b.head_r[left:], recording, fresh, ntk, symmetric,
    )  # fmt: skip


def run_stages(
    plan: Plan, s: Schedule, tasks: np.ndarray, lanes: int, a: Batch, b: Batch, out_K: np.ndarray, out_T: np.ndarray,
    *, selves: bool, ntk: bool,
) -> None:  # fmt: skip
    run_tasks(
        tasks, selves, s.stages, plan.scales, s.shifts, s.spans, s.where, s.tile_size, plan.steps, plan.numbers,
        plan.n_registers, plan.size, lanes, a.x, b.x, b.rows, b.tables, a.s, a.r, b.s, b.r, ntk, out_K, out_T,
    )  # fmt: skip


def fused_kernel(
    plan: Plan, x1: np.ndarray, x2: np.ndarray | None, with_ntk: bool, dtype: Any = np.float64
) -> tuple[np.ndarray, np.ndarray | None]:
    """NNGP and NTK (None unless asked), computed in float64, handed back as ``dtype``; ``x2=None`` computes each pair once."""
    a = Batch(plan, x1)
    K, T = between(plan, a, a if x2 is None else Batch(plan, x2), with_ntk, dtype, upper=x2 is None)
    if x2 is None and plan.n_stages:  # without pixels the threads have done it
        mirror(K)
        mirror(T)
    return K, T if with_ntk else None


def fused_average(
    plan: Plan,
    firsts: Sequence[np.ndarray],
    seconds: Sequence[np.ndarray],
    with_ntk: bool,
    dtype: Any = np.float64,
    *,
    symmetric: bool,
) -> tuple[np.ndarray, np.ndarray | None]:
    """The mean of the kernels of all pairs of a first and a second batch; half of it is computed where it is ``symmetric``."""
    n1, n2 = len(firsts[0]), len(seconds[0])
    totals = np.zeros((2 if with_ntk else 1, n1, n2))
    lefts = [Batch(plan, x) for x in firsts]
    for second in seconds:
        twin = next((a for a, x in zip(lefts, firsts) if x is second), None)
        b = Batch(plan, second) if twin is None else twin
        for a in lefts:
            found = between(plan, a, b, with_ntk, dtype, upper=symmetric)
            for total, values in zip(totals, found):
                total += values
    totals /= len(firsts) * len(seconds)
    if symmetric:
        for total in totals:
            mirror(total)
    return totals[0].astype(dtype), totals[1].astype(dtype) if with_ntk else None


def between(
    plan: Plan, a: Batch, b: Batch, with_ntk: bool, dtype: Any, *, upper: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Both kernels of all pairs; when ``upper`` only of those on and above the diagonal, and what stands below is not meant."""
    K, T = np.empty((a.n, b.n), dtype), np.empty((a.n, b.n) if with_ntk else (0, 0), dtype)
    if plan.n_stages:
        if plan.chain is not None:
            k, t = chain(plan, a, b, upper, SHORT if dtype == np.float32 else LONG)
        else:
            k, t = pixel_stages(plan, a, b, upper, with_ntk)
        all_rows(plan, k, t, a, b, ntk=with_ntk, symmetric=upper)
        for full, values in ((K, k), (T, t)) if with_ntk else ((K, k),):
            full[...] = values
    else:
        vector_rows(plan, a, b, K, T, upper, with_ntk)
    return K, T


@cache
def blas() -> ThreadpoolController:
    """The linear algebra libraries of this process."""
    return ThreadpoolController()


def vector_rows(plan: Plan, a: Batch, b: Batch, K: np.ndarray, T: np.ndarray, symmetric: bool, with_ntk: bool) -> None:
    """Inputs without pixels: each thread multiplies some rows in its own buffer, runs the head there, and writes them out."""
    scaled = a.x / a.x.shape[1]

    def run(part: np.ndarray) -> None:
        """Compute these blocks of rows, and mirror them where the matrix is symmetric."""
        k_rows, t_rows = np.empty(ROWS * b.n), np.empty(ROWS * b.n if with_ntk else 0)
        for start in part:
            stop = min(start + ROWS, a.n)
            left = start if symmetric else 0
            shape = (stop - start, b.n - left)
            k = k_rows[: shape[0] * shape[1]].reshape(shape)
            t = t_rows[: shape[0] * shape[1]].reshape(shape) if with_ntk else t_rows.reshape(0, 0)
            np.matmul(scaled[start:stop], b.x[left:].T, out=k)
            settle_equal(k, a.x[start:stop], b.x[left:], a.variances[start:stop], b.variances[left:])
            head_rows(
                plan, 0, len(k), k, t, a, b, start, left, recording=False, fresh=True, ntk=with_ntk, symmetric=symmetric
            )
            for full, values in ((K, k), (T, t)) if with_ntk else ((K, k),):
                full[start:stop, left:] = values
                if symmetric:
                    mirror(full[start:stop, start:stop])
                    full[stop:, start:stop] = values[:, stop - start :].T

    starts = np.arange(0, a.n, ROWS)
    if len(starts) == 1:
        run(starts)
        return
    # threads over rows, one for each product: threads inside the products would wait for each other
    with blas().limit(limits=1, user_api="blas"):
        each(run, starts)


def all_rows(plan: Plan, K: np.ndarray, T: np.ndarray, a: Batch, b: Batch, *, ntk: bool, symmetric: bool) -> None:
    """The head on the whole matrix, over the threads."""
    size = max(1, len(K) // 32)

    def run(part: np.ndarray) -> None:
        for start in part:
            rows = (start, min(start + size, len(K)))
            head_rows(plan, *rows, K, T, a, b, 0, 0, recording=False, fresh=False, ntk=ntk, symmetric=symmetric)

    each(run, np.arange(0, len(K), size))


@lru_cache(maxsize=8)
def lower_triangle(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns below the diagonal."""
    return np.tril_indices(n, -1)


def mirror(K: np.ndarray, size: int = 256) -> None:
    """Copy the upper triangle to the lower one, in place, tile by tile."""
    n = len(K)
    for i in range(0, n, size):
        rows = slice(i, min(i + size, n))
        tile = K[rows, rows]
        below = lower_triangle(len(tile))
        tile[below] = tile.T[below]
        for j in range(i + size, n, size):
            columns = slice(j, min(j + size, n))
            K[columns, rows] = K[rows, columns].T


def pixel_stages(plan: Plan, a: Batch, b: Batch, symmetric: bool, with_ntk: bool) -> tuple[np.ndarray, np.ndarray]:
    """Kernels once the last pixel is gone, before the head; a symmetric one may have its upper triangle only."""
    s = plan.pairs
    lanes = lanes_for(plan.size, b.n)
    pairs = [(i, j0) for j0 in range(0, b.n, lanes) for i in range(min(j0 + lanes, a.n) if symmetric else a.n)]
    n_shifts = int(s.spans[0, 1])
    n_groups = min(n_shifts, -(-16 // len(pairs))) if plan.n_stages == 1 else 1
    cuts = np.linspace(0, n_shifts, n_groups + 1).astype(int)
    tasks = np.array([(i, j0, g, cuts[g], cuts[g + 1]) for i, j0 in pairs for g in range(n_groups)], dtype=np.int64)
    out_K = np.zeros((n_groups, a.n, b.n))
    out_T = np.zeros((n_groups, a.n, b.n) if with_ntk else (1, 1, 1))
    each(lambda part: run_stages(plan, s, part, lanes, a, b, out_K, out_T, selves=False, ntk=with_ntk), tasks)
    if n_groups == 1:
        return out_K[0], out_T[0]
    return out_K.sum(0), out_T.sum(0)


def chain(plan: Plan, a: Batch, b: Batch, symmetric: bool, kind: int) -> tuple[np.ndarray, np.ndarray]:
    """What :func:`pixel_stages` gives, where the plan is a chain; a task is eight or more displacements of one pair."""
    height, width = plan.frame
    make = few_chain_tasks if a.n * b.n <= KEPT else chain_tasks
    tasks = make(a.n, b.n, height, width, symmetric, symmetric and a is b)
    out_K, out_T = np.zeros((2, int(tasks[-1, 2]) + 1, a.n, b.n))
    each(
        lambda part: run_chain(
            part, height, width, plan.chain, kind, a.x, b.x, a.s, a.r, b.s, b.r, plan.scales[0], out_K, out_T
        ),
        tasks,
    )
    return out_K.sum(0), out_T.sum(0)


def chain_tasks(n1: int, n2: int, height: int, width: int, upper: bool, same: bool) -> np.ndarray:
    """Rows (i, j, group, dx, first dy, last dy, itself): eight horizontal displacements of one pair, group by group."""
    if upper:
        j, i = np.tril_indices(n2)  # columns one after the other, in each the rows up to the diagonal
    else:
        j, i = np.repeat(np.arange(n2), n1), np.tile(np.arange(n1), n2)
    starts = range(0, width, LANES)
    n_parts = min(height, -(-32 // (len(i) * len(starts))))  # of the vertical displacements, when there are few pairs
    itself = (i == j) & same
    n_shifts = np.where(itself, height // 2 + 1, height)  # of an image with itself half of them say all
    groups = [(dx, part) for dx in starts for part in range(n_parts)]
    tasks = np.empty((len(groups), len(i), 7), dtype=np.int64)
    for group, (dx, part) in enumerate(groups):
        ends = [part * n_shifts // n_parts, (part + 1) * n_shifts // n_parts]
        for column, values in enumerate((i, j, group, dx, *ends, itself)):
            tasks[group, :, column] = values
    return tasks.reshape(-1, 7)


few_chain_tasks = lru_cache(maxsize=4)(chain_tasks)

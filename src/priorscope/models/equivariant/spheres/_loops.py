"""Compiled loops between orders and coefficients: the sums over β or over l, where every number is touched once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray

__all__ = ["collect", "spread"]

Numbers = NDArray[np.floating]
Places = NDArray[np.int64]

CHUNK = 32  # signals at a time: their samples at one pair of orders fit the first-level cache up to b = 32


def collect(F: Numbers, table: Numbers, maps: tuple[Places, ...], weights: Numbers, out: Numbers) -> None:
    r"""Add to ``out`` (B, coefficients, 2) the sums :math:`\sum_j t_{lj} F_j` of every pair of orders.

    ``F`` (B, 2b, places, 2) holds real and imaginary parts; ``table`` is (pairs, L, 2b). ``maps`` are the place of each pair in
    F, its lowest degree, and for each (pair, l) the coefficients to which the conjugate of the sum and the sum itself belong (-1
    for none); ``weights`` (pairs, 2) multiply the one and the other.
    """
    _in_threads(lambda first, last: _collect(F, table, *maps, weights, out, first, last), len(F))  # type: ignore[call-arg]


def spread(c: Numbers, table: Numbers, maps: tuple[Places, ...], weights: Numbers, F: Numbers) -> None:
    """The transpose of :func:`collect`: fill ``F`` (B, 2b, places, 2) from ``c`` (B, coefficients, 2); the rest of F stays."""
    _in_threads(lambda first, last: _spread(c, table, *maps, weights, F, first, last), len(F))  # type: ignore[call-arg]


def _in_threads(run: Callable[[int, int], None], count: int) -> None:
    """Run over the batch, on as many threads as torch has (the loops hold no lock)."""
    threads = min(torch.get_num_threads(), -(-count // CHUNK))
    if threads < 2:
        run(0, count)
        return
    cuts = [count * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(run, start, stop) for start, stop in pairwise(cuts)]:
            done.result()


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _collect(F, table, where, low, direct, mirror, weights, out, first, last):  # type: ignore[no-untyped-def]
    """The signals ``first`` … ``last``: per pair of orders its samples side by side, then all its degrees at once."""
    J, L = table.shape[2], table.shape[1]
    held = np.empty((J, 2 * CHUNK), F.dtype)
    total = np.empty(2 * CHUNK, F.dtype)
    for start in range(first, last, CHUNK):
        count = min(CHUNK, last - start)
        inside, into = F[start : start + count], out[start : start + count]
        for p in range(len(where)):
            if low[p] >= L:
                continue
            plain, turned = weights[p, 0], weights[p, 1]
            here = inside[:, :, where[p]]
            for i in range(count):
                for j in range(J):
                    held[j, 2 * i] = here[i, j, 0]
                    held[j, 2 * i + 1] = here[i, j, 1]
            for l in range(low[p], L):
                for k in range(2 * count):
                    total[k] = table[p, l, 0] * held[0, k] + table[p, l, 1] * held[1, k]
                for j in range(2, J, 2):
                    one, two = table[p, l, j], table[p, l, j + 1]
                    for k in range(2 * count):
                        total[k] += one * held[j, k] + two * held[j + 1, k]
                if direct[p, l] >= 0:
                    to = into[:, direct[p, l]]
                    for i in range(count):
                        to[i, 0] += plain * total[2 * i]
                        to[i, 1] -= plain * total[2 * i + 1]
                if mirror[p, l] >= 0:
                    to = into[:, mirror[p, l]]
                    for i in range(count):
                        to[i, 0] += turned * total[2 * i]
                        to[i, 1] += turned * total[2 * i + 1]


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _spread(c, table, where, low, direct, mirror, weights, F, first, last):  # type: ignore[no-untyped-def]
    """The signals ``first`` … ``last``: per pair of orders its coefficients side by side, then all β at once."""
    J, L = table.shape[2], table.shape[1]
    held = np.empty((L, 2 * CHUNK), F.dtype)
    total = np.empty((J, 2 * CHUNK), F.dtype)
    for start in range(first, last, CHUNK):
        count = min(CHUNK, last - start)
        inside, into = c[start : start + count], F[start : start + count]
        for p in range(len(where)):
            if low[p] >= L:
                continue
            plain, turned = weights[p, 0], weights[p, 1]
            for l in range(low[p], L):
                for k in range(2 * count):
                    held[l, k] = 0
                if direct[p, l] >= 0:
                    here = inside[:, direct[p, l]]
                    for i in range(count):
                        held[l, 2 * i] = plain * here[i, 0]
                        held[l, 2 * i + 1] = -plain * here[i, 1]
                if mirror[p, l] >= 0:
                    here = inside[:, mirror[p, l]]
                    for i in range(count):
                        held[l, 2 * i] += turned * here[i, 0]
                        held[l, 2 * i + 1] += turned * here[i, 1]
            for j in range(0, J, 2):
                one, two = table[p, low[p], j], table[p, low[p], j + 1]
                for k in range(2 * count):
                    total[j, k] = one * held[low[p], k]
                    total[j + 1, k] = two * held[low[p], k]
                for l in range(low[p] + 1, L):
                    one, two = table[p, l, j], table[p, l, j + 1]
                    for k in range(2 * count):
                        total[j, k] += one * held[l, k]
                        total[j + 1, k] += two * held[l, k]
            to = into[:, :, where[p]]
            for i in range(count):
                for j in range(J):
                    to[i, j, 0] = total[j, 2 * i]
                    to[i, j, 1] = total[j, 2 * i + 1]

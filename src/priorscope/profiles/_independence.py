r"""Whether rows are independent draws: what near rows tell of a row, against what as near rows of a thinner sample would.

Let :math:`\ell_j` be how much targets of a row and of its j-th neighbour differ. A random part of the rows, each kept with
probability q, has as nearest neighbour the j-th one with probability :math:`q(1-q)^{j-1}`; of independent rows that one lies, in
the mean, where the :math:`(1/q)`-th of all rows lies (both hold the same expected share of the law). So

.. math:: \ell_{k+1} \approx \sum_j q (1-q)^{j-1} \ell_j, \qquad q = 1/(k+1),

whatever the target is, to within a tenth (Jensen, for :math:`\ell_j \sim j^{2/d}`). Where k + 1 rows share a subject, a day or a
place, the left side has no mate among them and the right side often has one: it is up to 2.7 times lower. Derived here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from priorscope.data import Structure

__all__ = ["Dependence", "apart", "dependence"]

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
_NEAR = (1, 2, 3, 5, 7, 11, 15)  # rows that may belong to a row
_MOST = 400  # rows asked about
_WORK = 2e9  # multiplications
_RATIO, _SURE = 1.3, 5.0  # how many times more, and standard errors, from which on rows are called dependent
_GROUPS = 12  # of k + 1 rows, that there must be to tell them from a few clusters of the inputs
_FEWEST = 32


@dataclass(frozen=True)
class Dependence:
    """``near`` rows tell more of a row than independent ones would: ``ratio`` times, ``sure`` standard errors.

    Example:
        >>> Dependence(7, 2.4, 12.0).near
        7
    """

    near: int
    ratio: float
    sure: float


def neighbours_of(x: Array, rows: Ids, count: int, blocks: Ids) -> Ids:
    """The nearest ``count`` rows of other blocks for each of some rows (rows, count), by columns in units of their spread."""
    spread = x.std(0)
    kept = spread > 0
    z = (x[:, kept] - x[:, kept].mean(0)) / spread[kept]
    square = (z**2).sum(1)
    found = np.empty((len(rows), count), dtype=np.int64)
    for part in np.array_split(np.arange(len(rows)), max(1, len(rows) * len(x) // 4_000_000)):
        own = rows[part]
        distance = square - 2 * z[own] @ z.T + square[own][:, None]
        distance[blocks[own][:, None] == blocks] = np.inf
        near = np.argpartition(distance, count - 1, axis=1)[:, :count]
        order = np.take_along_axis(distance, near, 1).argsort(1, kind="stable")
        found[part] = np.take_along_axis(near, order, 1)
    return found


def dependence(
    x: Array, y: NDArray[np.generic], classes: bool, structure: Structure, seed: int = 0
) -> Dependence | None:
    """Whether near rows tell more of each other than independent rows would; None where they do not, or where rows are few.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> group = np.repeat(np.arange(30), 8)
        >>> x, y = rng.normal(size=(30, 5))[group] + 0.05 * rng.normal(size=(240, 5)), rng.normal(size=30)[group]
        >>> dependence(x, y, False, Structure.of(x, y)).near
        7
        >>> dependence(x, rng.normal(size=240), False, Structure.of(x, y)) is None
        True
    """
    n, d = x.shape
    if n < _FEWEST or n * d * 50 > _WORK:
        return None
    count = min(_MOST, n, int(_WORK / (n * d)))
    rows = structure.growing(np.arange(n), count, seed) if count < n else np.arange(n)
    if not structure.n_blocks >= 2 * _GROUPS:
        return None
    ks = [k for k in _NEAR if structure.n_blocks >= _GROUPS * (k + 1)]
    most = min(6 * (ks[-1] + 1), n - int(np.bincount(structure.blocks).max()))
    near = neighbours_of(x, rows, most, structure.blocks)
    loss = _differences(y, classes, rows, near)
    found = []
    for k in ks:
        q = 1 / (k + 1)
        weights = q * (1 - q) ** np.arange(most)
        weights[-1] += 1 - weights.sum()
        around = loss[:, max(k - k // 4, 1) : k + 1 + max(k // 4, 1)].mean(1)  # a few ranks about k + 1, for less noise
        expected = loss @ weights
        more = around - expected
        noise = max(float(more.std()) / len(rows) ** 0.5, 1e-12)
        ratio, sure = float(around.mean()) / max(float(expected.mean()), 1e-12), float(more.mean()) / noise
        if ratio > _RATIO and sure > _SURE:
            found.append(Dependence(k, ratio, sure))
    top = max((one.ratio for one in found), default=0.0)
    return next((one for one in found if one.ratio > 0.9 * top), None)


def _differences(y: NDArray[np.generic], classes: bool, rows: Ids, near: Ids) -> Array:
    """How much the targets of rows and their neighbours differ: other classes, or the distance of their ranks."""
    if classes:
        other: Array = (y[rows[:, None]] != y[near]).astype(float)
        return other
    columns = np.asarray(y, dtype=float).reshape(len(y), -1)
    ranks = np.stack([rankdata(column) for column in columns.T], 1) / len(y)
    found: Array = np.abs(ranks[rows[:, None]] - ranks[near]).mean(-1)
    return found


def apart(x: Array, structure: Structure, near: int, part: Ids) -> Ids:
    """The rows that are left to train on where these rows are tested on, and with them their near rows are left out."""
    out = np.unique(neighbours_of(x, part, near, structure.blocks))
    left = ~np.isin(structure.blocks, structure.blocks[part])
    left[out] = False
    return np.flatnonzero(left)

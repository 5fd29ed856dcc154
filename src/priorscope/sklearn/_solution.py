"""A kernel expansion that fits the data: on all rows, on landmarks, or with the hinge loss."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.contracts import KernelModel, kernel_matrix
from priorscope.inference import RIDGES, processor_seconds
from priorscope.inference.ridge import Landmarks, downhill, mean_eigenvalue
from priorscope.printing import printed
from priorscope.sklearn._budget import Budget
from priorscope.sklearn._folds import folds_of
from priorscope.sklearn._loss import Problem, losses
from priorscope.sklearn._search import Candidate, Found

__all__ = ["Solution", "diagonal_of", "by_landmarks", "by_margins", "by_ridge"]

Array = NDArray[np.float64]
BLOCK = 2000  # rows whose kernel with the landmarks is computed at once
KEPT = 2500  # rows whose left-out errors are measured where landmarks carry the solution
LEAST = 1000  # of them that are no landmarks, which the functions at hand suit better than new rows
LOOKED = 400  # of them by which the share of the trace is told
PROBED = 400  # rows by which the time of a value of the kernel is told
FEW = 1500  # landmarks up to which a ridge is cheap
SINGLE = 1e11  # multiplications above which they are done in single precision
MARGINS = (0.1, 1.0, 10.0, 100.0, 1000.0)  # the C of support vector machines, for a kernel of unit mean eigenvalue
FOLDS = 5


@printed
@dataclass(frozen=True, eq=False)
class Solution:
    r""":math:`f(x) = \sum_j K(x, z_j)\,c_j + b` with anchors z, and the left-out ``scores`` of the training rows.

    ``spread`` (n,) is what left-out residuals are divided by before their quantile is taken for intervals; ones where
    intervals have one width.
    """

    anchors: Tensor
    coefficients: Array
    offset: Array
    scores: Array
    ridge: float
    spread: Array
    rows: NDArray[np.int64] | None = None  # to which scores and spread belong; None for all
    whole: bool = True  # anchors are all training rows
    notes: tuple[str, ...] = field(default=())


def by_ridge(found: Found, x: Tensor) -> Solution:
    """The ridge solution of a kernel measured on all rows."""
    solution = found.solution
    assert solution is not None
    assert solution.spread is not None
    return Solution(x, solution.coefficients, solution.offset, found.scores, solution.ridge, solution.spread)


def by_landmarks(
    found: Found,
    rows: Array,
    problem: Problem,
    *,
    count: int,
    metric: str,
    ridge: float | None,
    seed: int,
    budget: Budget,
) -> tuple[Solution, float]:
    """The solution carried by ``count`` training rows drawn at random, and its left-out loss on some rows.

    Everything is summed block by block (:class:`priorscope.inference.ridge.Landmarks`); the first half of the landmarks costs
    little more, and says what the others gained. Fewer landmarks, then fewer rows, where the ``budget`` has no room for all.
    """
    candidate, kind = found.candidate, found.rival.kind
    n, draw = len(rows), np.random.default_rng([seed, 1]).permutation(len(rows))
    large = float(n) * count * count > SINGLE
    dtype, pair = _probed(candidate, kind, rows[draw[:PROBED]], large)
    used, m = budget.fitting(n, count, min(KEPT, n), pair)
    own = np.arange(n) if used == n else np.sort(draw[:used])
    kept = _kept(problem.blocks, own, draw[m:used][::-1] if used - m >= LEAST else draw[:used])
    mine = problem if used == n else problem.part(own)
    chosen = np.random.default_rng([seed, 2]).permutation(np.sort(draw[:m]))
    z = candidate.inputs(rows[chosen])
    inner = np.asarray(kernel_matrix(candidate.model, z, None, kind), dtype=np.float64)
    sums = Landmarks(inner, mine.targets, mine.weights, kept=kept, single=large)
    del inner
    narrow = z.to(dtype)
    for start in range(0, used, BLOCK):
        x = candidate.inputs(rows[own[start : start + BLOCK]])
        sums.add(np.asarray(kernel_matrix(candidate.model, x.to(dtype), narrow, kind)))
        if budget.progress is not None:
            done = min(start + BLOCK, used)
            budget.progress(done / used, budget.of_landmarks(used - done, m, len(kept), pair))
    part = mine.part(kept)
    unit = sums.unit
    ridges = unit * RIDGES if ridge is None else np.array([max(float(ridge), 1e-10 * unit)])
    whole = _best_ridge(sums, part, ridges, metric, found.relative, m)
    half = _best_ridge(
        sums, part, ridges, metric, whole[1] / unit, max(m // 2, 1)
    )  # wants less ridge: landmarks smooth too
    loss, r, scores = whole
    solution = sums.solve(r)
    lost = sums.lost(diagonal_of(candidate.model, candidate.inputs(rows[own[kept[:LOOKED]]]), kind), LOOKED)
    seen = "" if len(kept) == n else f" on {len(kept)} rows"
    notes = [
        f"{m} of {n} rows are landmarks (Nyström): left-out loss {loss:.4g}{seen} with all of them, {half[0]:.4g} with half, so "
        f"that more would gain less than about {max(half[0] - loss, 0.0):.2g}; {100 * lost:.2g} % of the kernel's trace is lost"
    ]
    if len(kept) == 2 * KEPT:
        notes.append(f"a group has more than {2 * KEPT} rows: only so many of them were left out together")
    if used < n:
        notes.append(f"max_seconds left time for {used} of {n} rows, drawn at random")
    if m < count:
        notes.append(f"max_seconds or max_memory left room for {m} landmarks instead of {count}")
    spread = np.ones(len(kept))
    return Solution(
        z, solution.coefficients, solution.offset, scores, r, spread, own[kept], whole=False, notes=tuple(notes)
    ), loss


def _probed(candidate: Candidate, kind: str, rows: Array, large: bool) -> tuple[torch.dtype, float]:
    """In which precision inputs go to the kernel, and the processor seconds of one of its values, from a small block.

    It is single where there is much to do, unless the kernel refuses that: inputs may be too close to be told apart in it.
    """
    x = candidate.inputs(rows)
    some = len(x) // 2 + 1
    for dtype in (torch.float32, torch.float64) if large else (torch.float64,):
        began = processor_seconds()
        try:
            kernel_matrix(candidate.model, x[:some].to(dtype), x.to(dtype), kind)
        except ValueError:
            if dtype == torch.float64:
                raise
            continue
        break
    return dtype, (processor_seconds() - began) / (some * len(x))


def _kept(blocks: NDArray[np.int64] | None, own: NDArray[np.int64], draw: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places among the rows ``own`` of those whose left-out errors are measured: up to some thousand, with their whole blocks."""
    if len(own) <= KEPT:
        return np.arange(len(own))
    if blocks is None:
        return np.sort(np.searchsorted(own, draw[:KEPT]))
    mine = blocks[own]
    sizes = np.bincount(mine, minlength=int(mine.max()) + 1)
    order = blocks[draw]
    first = order[np.sort(np.unique(order, return_index=True)[1])]  # blocks as their first rows come up
    few = sizes[first].cumsum() <= KEPT
    few[0] = True
    return np.flatnonzero(np.isin(mine, first[few]))[: 2 * KEPT]


def _best_ridge(
    sums: Landmarks, part: Problem, ridges: Array, metric: str, start: float, count: int
) -> tuple[float, float, Array]:
    """The loss, the ridge and the left-out scores where the loss of the first ``count`` landmarks is lowest.

    Counts of errors do not fall and rise once along the ridges: all are tried, or every second where a ridge is dear.
    """
    tried: dict[int, tuple[float, float, Array]] = {}

    def loss(k: int) -> float:
        if k not in tried:
            scores = sums.left_out(float(ridges[k]), part.blocks, count)
            tried[k] = float(losses(scores, part, metric).mean()), float(ridges[k]), scores
        return tried[k][0]

    first = int(np.abs(np.log(ridges / sums.unit / start)).argmin())
    if metric in ("error", "balanced"):
        return tried[min(range(0, len(ridges), 1 if count <= FEW else 2), key=loss)]
    return tried[downhill(loss, first, len(ridges))]


def diagonal_of(model: KernelModel, x: Tensor, kind: str) -> Array:
    """Kernel of each input with itself: the diagonals of blocks of 50."""
    blocks = [np.diag(np.asarray(kernel_matrix(model, part, None, kind))) for part in x.split(50)]
    found: Array = np.concatenate(blocks).astype(np.float64)
    return found


def by_margins(found: Found, x: Tensor, problem: Problem, *, metric: str, seed: int) -> Solution:
    """Support vector machines on the precomputed kernel, one class against the others, C by five folds.

    scikit-learn's ``SVC`` solves :math:`\\min \\frac12\\|f\\|^2 + C\\sum_i w_i(1 - y_i f(x_i))_+`; the scores are halved and
    shifted so that margins of one stand for the targets 0 and 1.
    """
    assert found.kernel is not None
    assert problem.labels is not None
    scale = mean_eigenvalue(found.kernel, problem.weights)
    K = found.kernel / scale
    parts = folds_of(problem.labels, FOLDS, True, seed, problem.blocks)
    best: tuple[float, float, Array] | None = None
    for C in MARGINS:
        scores = np.zeros_like(problem.targets)
        for test in parts:
            train = np.setdiff1d(np.arange(len(K)), test)
            alpha, b = _one_against_others(K[np.ix_(train, train)], problem.part(train), C)
            scores[test] = K[np.ix_(test, train)] @ alpha + b
        key = float(
            losses(scores, problem, "log-loss" if metric == "squared" else metric, margins=True).mean()
        )  # margins have no squares
        if best is None or key < best[0]:
            best = key, C, scores
    assert best is not None
    alpha, b = _one_against_others(K, problem, best[1])
    note = f"support vector machines with C = {best[1]:g}, chosen by {len(parts)} folds"
    return Solution(x, alpha / scale, b, best[2], found.rival.ridge, np.ones(len(K)), notes=(note,))


def _one_against_others(K: Array, problem: Problem, C: float) -> tuple[Array, Array]:
    """Coefficients (n, classes) and offsets, on the scale of one-hot targets."""
    from sklearn.svm import SVC

    assert problem.labels is not None
    n, classes = problem.targets.shape
    alpha, b = np.zeros((n, classes)), np.zeros(classes)
    for c in range(1 if classes == 2 else classes):
        own = problem.labels == c
        if own.all() or not own.any():
            b[c] = float(own.all())
            continue
        machine = SVC(kernel="precomputed", C=C).fit(K, own, sample_weight=problem.weights)
        alpha[machine.support_, c] = machine.dual_coef_ / 2
        b[c] = machine.intercept_.item() / 2 + 0.5
    if classes == 2:
        alpha[:, 1], b[1] = -alpha[:, 0], 1 - b[0]
    return alpha, b

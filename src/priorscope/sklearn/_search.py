"""The kernel and the ridge with the lowest left-out loss: one decomposition per kernel, many kernels on part of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from priorscope.contracts import KernelModel
from priorscope.inference import RidgePath
from priorscope.sklearn._loss import Problem, losses
from priorscope.sklearn._report import Rival, ranked

__all__ = ["Found", "RIDGES", "measure", "search"]

Array = NDArray[np.float64]
RIDGES = np.geomspace(1e-5, 10.0, 19)  # in units of the mean eigenvalue of the centred kernel
SCREENED = 1000  # rows on which all kernels are compared; where there are more, the best go on to all rows
FINALISTS = 2


@dataclass(frozen=True, eq=False)
class Found:
    """A kernel measured on training rows: the rival it is, its losses per sample, left-out scores, and what solves it."""

    rival: Rival
    loss: Array
    tie: float
    scores: Array
    path: RidgePath | None = None
    kernel: Array | None = None


def measure(
    name: str,
    model: KernelModel,
    x: Tensor,
    problem: Problem,
    *,
    kinds: Sequence[str],
    metric: str,
    ridge: float | None,
) -> list[Found]:
    """Each kind of one model's kernel with the ridge (given, or of :data:`RIDGES`) that has the lowest left-out loss.

    The squared error settles equal losses: misclassification is a count, and neighbours on the grid often tie.
    """
    pair = model.kernel(x, None, kinds=tuple(kinds))
    found = []
    for kind in kinds:
        K = np.asarray(getattr(pair, kind), dtype=np.float64)
        path = RidgePath.of_kernel(K, problem.weights)
        ridges = path.scale * RIDGES if ridge is None else np.array([max(float(ridge), 1e-10 * path.scale)])
        scores = path.leave_one_out(problem.targets, ridges)
        each = np.stack([losses(s, problem, metric) for s in scores])
        ties = np.array([losses(s, problem, "squared").mean() for s in scores])
        best = int(np.lexsort((ties, each.mean(1).round(12)))[0])
        rival = Rival(name, kind, float(ridges[best]), metric, float(each[best].mean()), len(K))
        found.append(Found(rival, each[best], float(ties[best]), scores[best], path, K))
    return found


def search(
    models: Mapping[str, KernelModel],
    x: Tensor,
    problem: Problem,
    *,
    kinds: Sequence[str],
    metric: str,
    ridge: float | None,
    seed: int,
) -> tuple[Found, tuple[Rival, ...], tuple[str, ...]]:
    """The best of all kernels, its rivals, and notes; beyond :data:`SCREENED` rows all are compared on that many of them."""
    n = len(x)
    if n <= SCREENED or len(models) * len(kinds) == 1:
        best, every = _best(models, x, problem, kinds=kinds, metric=metric, ridge=ridge)
        return best, compared(every, best), ()
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:SCREENED])
    _, every = _best(models, x[rows], problem.part(rows), kinds=kinds, metric=metric, ridge=ridge)
    every.sort(key=_order)
    finalists = [
        measure(f.rival.name, models[f.rival.name], x, problem, kinds=(f.rival.kind,), metric=metric, ridge=ridge)[0]
        for f in every[:FINALISTS]
    ]
    best = min(finalists, key=_order)
    stated = next(f for f in every if (f.rival.name, f.rival.kind) == (best.rival.name, best.rival.kind))
    note = f"all {len(every)} kernels were compared on {SCREENED} of {n} rows, the best {len(finalists)} on all"
    rivals = [r for r in compared(every, stated) if (r.name, r.kind) != (best.rival.name, best.rival.kind)]
    return best, (best.rival, *rivals), (note,)


def _best(
    models: Mapping[str, KernelModel],
    x: Tensor,
    problem: Problem,
    *,
    kinds: Sequence[str],
    metric: str,
    ridge: float | None,
) -> tuple[Found, list[Found]]:
    """The best kernel whole, and all of them without their matrices, which are as large as the data squared."""
    best: Found | None = None
    every = []
    for name, model in models.items():
        for found in measure(name, model, x, problem, kinds=kinds, metric=metric, ridge=ridge):
            best = found if best is None or _order(found) < _order(best) else best
            every.append(replace(found, path=None, kernel=None))
    assert best is not None
    return best, every


def _order(found: Found) -> tuple[float, float]:
    return round(found.rival.score, 12), found.tie


def compared(found: Sequence[Found], best: Found) -> tuple[Rival, ...]:
    """Each rival with its distance to the best and the standard error of that, from losses paired sample by sample."""
    rivals = []
    for f in found:
        gap = f.loss - best.loss
        error = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else 0.0
        rivals.append(best.rival if f.rival == best.rival else replace(f.rival, behind=float(gap.mean()), error=error))
    return ranked(rivals)

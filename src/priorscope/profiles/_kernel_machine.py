r"""Kernel machines measured on parts of the pilot: every size of a turn from one Cholesky factor per ridge."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from priorscope.printing import printed
from priorscope.probes import ridge_grid
from priorscope.probes.curves.pilot import factorise
from priorscope.profiles._design import FOLDS, Design, Part
from priorscope.profiles._held_out import HeldOut, Truth

__all__ = ["MeasuredKernel", "measure_kernel"]

Array = NDArray[np.float64]
_LARGE = 400  # samples of a draw beyond which half as many turns and ridges are taken


@printed
@dataclass(frozen=True)
class MeasuredKernel:
    """Held-out predictions of kernel regression with the best ridge at each size, and that ridge over the mean diagonal."""

    held: HeldOut = field(repr=False)
    kernel: str
    ridges: Array
    squared: float  # mean squared error at the largest size


def _turn(gram: Array, targets: Array, order: NDArray[np.int64], sizes: list[int], ridge: float) -> list[Array]:
    r"""Predictions for ``order[p:]`` from the first p samples, for each size p.

    With :math:`K + r = LL^\top`, leading blocks of L factorise leading blocks of K, so :math:`f_p = \bar y_p + L_{p:,:p}
    L_{pp}^{-1}(y - \bar y_p)` needs one factorisation for all p (Golub & Van Loan, Matrix computations, sec. 4.2).
    """
    K = gram[np.ix_(order, order)]
    L, _ = factorise(K + ridge * np.eye(len(K)))
    y = targets[order]
    solved = sla.solve_triangular(L, np.hstack([y, np.ones((len(y), 1))]), lower=True, check_finite=False)
    found = []
    for p in sizes:
        mean = y[:p].mean(0)
        found.append(mean + L[p:, :p] @ (solved[:p, :-1] - solved[:p, -1:] * mean))
    return found


def measure_kernel(grams: list[Array], kernel: str, design: Design, truth: Truth) -> MeasuredKernel:
    """Errors of kernel regression on all parts of the design, ``grams`` one kernel matrix per draw.

    At each size the ridge with the lowest squared error over all tested samples is taken, as in a cross-validation.
    """
    large = design.n > _LARGE
    turns = tuple(range(0, FOLDS, 2)) if design.draws > 1 or large else tuple(range(FOLDS))
    at = design.eighths
    ridges = ridge_grid(grams[0])[:: 2 if large else 1]
    scores: dict[tuple[int, int], list[Array]] = {}  # of (size, ridge): one array per part
    parts: dict[int, list[Part]] = {m: [] for m in at}
    with threadpool_limits(1 if design.n <= 1000 else None, user_api="blas"):
        for draw, gram in enumerate(grams):
            for turn in turns:
                made = [design.part(draw, turn, m) for m in at]
                order = np.concatenate([made[0].train, made[0].test])
                for m, part in zip(at, made, strict=True):
                    parts[m].append(part)
                sizes, local = [p.size for p in made], order - draw * design.n
                own = truth.targets[draw * design.n : (draw + 1) * design.n]
                for r, ridge in enumerate(ridges):
                    for m, found in zip(at, _turn(gram, own, local, sizes, float(ridge)), strict=True):
                        scores.setdefault((m, r), []).append(found)
    chosen, squared = [], 0.0
    for m in at:
        errors = [
            float(np.mean([((f - truth.targets[p.test]) ** 2).mean() for f, p in zip(scores[m, r], parts[m])]))
            for r in range(len(ridges))
        ]
        chosen.append(int(np.argmin(errors)))
        squared = min(errors)
    held = HeldOut(
        design,
        truth,
        tuple(p for m in at for p in parts[m]),
        tuple(s for m, r in zip(at, chosen, strict=True) for s in scores[m, r]),
    )
    scale = max(float(np.mean([np.trace(g) / len(g) for g in grams])), 1e-300)
    return MeasuredKernel(held, kernel, ridges[chosen] / scale, squared)

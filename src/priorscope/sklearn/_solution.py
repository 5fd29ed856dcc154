"""A kernel expansion that fits the data: on all rows, on landmarks, or with the hinge loss."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray
from torch import Tensor

from priorscope.contracts import KernelModel, kernel_matrix
from priorscope.inference import RIDGES, RidgePath
from priorscope.inference.ridge import mean_eigenvalue
from priorscope.printing import printed
from priorscope.sklearn._folds import folds_of
from priorscope.sklearn._loss import Problem, losses
from priorscope.sklearn._search import Candidate, Found, left_out

__all__ = ["Solution", "diagonal_of", "by_landmarks", "by_margins", "by_ridge"]

Array = NDArray[np.float64]
BLOCK = 2000  # rows whose kernel with the landmarks is computed at once
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
    whole: bool = True  # anchors are all training rows
    notes: tuple[str, ...] = field(default=())


def by_ridge(found: Found, x: Tensor) -> Solution:
    """The ridge solution of a kernel measured on all rows."""
    solution = found.solution
    assert solution is not None
    assert solution.spread is not None
    return Solution(x, solution.coefficients, solution.offset, found.scores, solution.ridge, solution.spread)


def by_landmarks(
    candidate: Candidate,
    kind: str,
    rows: Array,
    problem: Problem,
    *,
    count: int,
    metric: str,
    ridge: float | None,
    seed: int,
) -> tuple[Solution, float]:
    r"""Nyström: functions :math:`\sum_j c_j K(\cdot, z_j)` of ``count`` training rows z drawn at random; and the loss.

    With :math:`K_{zz} = LL^\top` the features :math:`\phi(x) = L^{-1}K_{z}(x)` give a ridge regression of that many
    dimensions (Williams & Seeger 2001). Leading columns of :math:`\phi` are the features of fewer landmarks, so the loss with
    half of them costs little, and says what the approximation may cost.
    """
    n = len(rows)
    chosen = np.sort(np.random.default_rng([seed, 1]).permutation(n)[:count])
    order = np.random.default_rng([seed, 2]).permutation(count)
    z = candidate.inputs(rows[chosen[order]])
    Kzz = np.asarray(kernel_matrix(candidate.model, z, None, kind), dtype=np.float64)
    Kzz[np.diag_indices_from(Kzz)] += 1e-10 * np.trace(Kzz) / count
    L = sla.cholesky(Kzz, lower=True, overwrite_a=True, check_finite=False)
    phi = np.empty((n, count))
    for start in range(0, n, BLOCK):
        x = candidate.inputs(rows[start : start + BLOCK])
        cross = np.asarray(kernel_matrix(candidate.model, x, z, kind), dtype=np.float64)
        phi[start : start + BLOCK] = sla.solve_triangular(L, cross.T, lower=True, check_finite=False).T
    half = _featured(phi[:, : count // 2], problem, metric, ridge)
    path, r, scores, loss = _featured(phi, problem, metric, ridge)
    w = path.weights
    centred = phi - (w @ phi) / w.sum()
    inside = sla.solve(
        (centred * w[:, None]).T @ centred + r * np.eye(count), (centred * w[:, None]).T @ problem.targets, assume_a="pos"
    )  # fmt: skip
    coefficients = sla.solve_triangular(L, inside, lower=True, trans="T", check_finite=False)
    offset = path.intercept(problem.targets, phi @ inside)
    lost = _lost(candidate, kind, rows, phi)
    note = (
        f"{count} of {n} rows are landmarks (Nyström): left-out loss {loss:.4g} with all of them, {half[3]:.4g} with half, so "
        f"that more would gain less than about {max(half[3] - loss, 0.0):.2g}; {100 * lost:.2g} % of the kernel's trace "
        "is lost"
    )
    return Solution(z, coefficients, offset, scores, r, np.ones(n), whole=False, notes=(note,)), loss


def _lost(candidate: Candidate, kind: str, rows: Array, phi: Array) -> float:
    """The share of the kernel's trace that the features leave out, from up to 400 rows."""
    some = np.arange(0, len(rows), max(1, len(rows) // 400))
    own = diagonal_of(candidate.model, candidate.inputs(rows[some]), kind)
    return max(1 - float((phi[some] ** 2).sum()) / float(own.sum()), 0.0)


def diagonal_of(model: KernelModel, x: Tensor, kind: str) -> Array:
    """Kernel of each input with itself: the diagonals of blocks of 50."""
    blocks = [np.diag(np.asarray(kernel_matrix(model, part, None, kind))) for part in x.split(50)]
    found: Array = np.concatenate(blocks).astype(np.float64)
    return found


def _featured(phi: Array, problem: Problem, metric: str, ridge: float | None) -> tuple[RidgePath, float, Array, float]:
    """The best ridge on features: path, ridge, left-out scores and loss."""
    path = RidgePath.of_features(phi, problem.weights)
    ridges = path.scale * RIDGES if ridge is None else np.array([max(float(ridge), 1e-10 * path.scale)])
    best: tuple[float, float, Array] | None = None
    for r in ridges:  # one by one: all at once would hold n x outputs x ridges
        (scores,) = left_out(path, problem, [r])
        loss = float(losses(scores, problem, metric).mean())
        if best is None or loss < best[0]:
            best = loss, float(r), scores
    assert best is not None
    return path, best[1], best[2], best[0]


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

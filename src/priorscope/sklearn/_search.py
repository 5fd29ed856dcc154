"""The kernel, inputs and ridge with the lowest left-out loss: one decomposition per kernel, on part of the rows if many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from priorscope.contracts import KernelModel, kernel_matrices, settled
from priorscope.inference import RIDGES, RidgePath
from priorscope.inference.ridge import RidgeSolution, downhill, mean_eigenvalue, solved
from priorscope.printing import printed
from priorscope.sklearn._budget import Budget
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._loss import Problem, losses
from priorscope.sklearn._report import Rival, ranked

__all__ = ["Candidate", "Found", "Race", "left_out", "measure"]

Array = NDArray[np.float64]
FEW = 250  # rows up to which a decomposition costs as little as a few factors
MIDDLE = 0.01  # the first ridge where nothing is known, in units of the mean eigenvalue
LEAST = 1e-10  # ridge in units of the mean eigenvalue
SAFE = 1e-8  # below this a Cholesky factor has lost too many digits


@dataclass(frozen=True)
class Candidate:
    """A model and what is done to its inputs, with the name of both in a report."""

    name: str
    model: KernelModel
    inputs: Inputs
    label: str = "standard"


@printed
@dataclass(frozen=True, eq=False)
class Found:
    """A kernel measured on training rows: who it is, its losses per sample, left-out scores, and what solves it.

    ``relative`` is its ridge in units of the mean eigenvalue of the centred kernel.
    """

    candidate: Candidate
    rival: Rival
    loss: Array
    scores: Array
    relative: float
    solution: RidgeSolution | None = None
    kernel: Array | None = None

    @property
    def order(self) -> tuple[float, float]:
        """Lowest first: the loss, then, for equal counts of errors, the squared error."""
        return round(self.rival.score, 12), self.rival.squared


def measure(
    candidate: Candidate,
    x: Tensor,
    problem: Problem,
    *,
    kinds: Sequence[str],
    metric: str,
    ridge: float | None,
    start: float | None = None,
) -> list[Found]:
    """Each kind of one model's kernel with the ridge (given, or of the grid) that has the lowest left-out loss.

    The squared error settles equal losses: misclassification is a count, and neighbours on the grid often tie. Of few rows, and
    for counts of errors, all ridges come from one decomposition; of more rows a ridge takes one Cholesky factor, and from
    ``start`` on (in units of the mean eigenvalue; by default the best of some rows) they are tried until the loss rises.
    """
    pair = kernel_matrices(candidate.model, x, None, kinds)
    found: list[Found] = []
    seen: list[Array] = []
    for kind in kinds:
        K = np.asarray(pair[kind], dtype=np.float64)
        if any(np.array_equal(K, other) for other in seen):
            continue  # one function, such as a kernel of the distance, has one kernel
        seen.append(K)
        unit = mean_eigenvalue(K, problem.weights)
        ridges = unit * RIDGES if ridge is None else np.array([max(float(ridge), LEAST * unit)])
        jumps = ridge is None and metric in ("error", "balanced")  # counts of errors do not fall and rise once
        best = None
        if len(K) > FEW and not jumps and ridges[0] >= SAFE * unit:
            near = start or (_first(K, problem, metric) if ridge is None else 1.0)
            best = _by_walk(K, problem, ridges, metric, int(np.abs(np.log(ridges / unit / near)).argmin()))
        r, each, scores, solution = best or _by_grid(K, problem, ridges, metric)
        rival = Rival(
            candidate.name, kind, r, metric, float(each.mean()), len(K), candidate.label,
            squared=float(losses(scores, problem, "squared").mean()), wrong=_wrong(scores, problem),
        )  # fmt: skip
        found.append(Found(candidate, rival, each, scores, r / unit, solution, K))
    return found


def left_out(path: RidgePath, problem: Problem, ridges: Sequence[float] | Array) -> Array:
    """Predictions (ridges, n, outputs) of each sample without it, or without its block."""
    if problem.blocks is None:
        return path.leave_one_out(problem.targets, ridges)
    return path.leave_out(problem.targets, ridges, problem.blocks)


def _by_grid(K: Array, problem: Problem, ridges: Array, metric: str) -> tuple[float, Array, Array, RidgeSolution]:
    """The best of all ridges, with its losses, left-out scores and solution, from one decomposition."""
    path = RidgePath.of_kernel(K, problem.weights)
    every = left_out(path, problem, ridges)
    each = np.stack([losses(s, problem, metric) for s in every])
    ties = np.array([losses(s, problem, "squared").mean() for s in every])
    best = int(np.lexsort((ties, each.mean(1).round(12)))[0])
    r = float(ridges[best])
    coefficients = path.solve(problem.targets, r)
    offset = path.intercept(problem.targets, K @ coefficients)
    residuals, spread = problem.targets - every[best], path.left_out_spread(r, problem.blocks)
    return r, each[best], every[best], RidgeSolution(coefficients, offset, r, residuals, spread)


def _first(K: Array, problem: Problem, metric: str) -> float:
    """The best ridge of some of the rows, in units of the mean eigenvalue."""
    some = np.arange(0, len(K), -(-len(K) // FEW))
    part = problem.part(some)
    if part.blocks is not None and len(np.unique(part.blocks)) < 2:
        return MIDDLE
    few = K[np.ix_(some, some)]
    unit = mean_eigenvalue(few, part.weights)
    return _by_grid(few, part, unit * RIDGES, metric)[0] / unit


def _by_walk(
    K: Array, problem: Problem, ridges: Array, metric: str, first: int
) -> tuple[float, Array, Array, RidgeSolution] | None:
    """The same by a Cholesky factor for each of a few ridges; None where rounding leaves a kernel without one."""
    tried: dict[int, tuple[float, Array, Array, RidgeSolution]] = {}

    def loss(k: int) -> float:
        found = solved(K, problem.targets, problem.weights, ridges[k], left_out=True, blocks=problem.blocks)
        assert found.residuals is not None
        scores = problem.targets - found.residuals
        tried[k] = float(ridges[k]), losses(scores, problem, metric), scores, found
        return float(tried[k][1].mean())

    try:
        return tried[downhill(loss, first, len(ridges))]
    except np.linalg.LinAlgError:
        return None


def _wrong(scores: Array, problem: Problem) -> float | None:
    return None if problem.labels is None else float((scores.argmax(1) != problem.labels).mean())


class Race:
    """Candidates measured one after the other on the same rows; only the best one keeps its matrices.

    Example:
        >>> from priorscope.models import fcn
        >>> X, y = np.linspace(-1, 1, 20)[:, None], np.linspace(-1, 1, 20)[:, None]
        >>> race = Race(X, Problem(y, None, np.ones(20)), kinds=("ntk",), metric="squared", ridge=None)
        >>> race.run([Candidate("fcn-1", fcn(1), Inputs.learnt(X, (1,)))]).rival.name
        'fcn-1'
    """

    def __init__(
        self,
        rows: Array,
        problem: Problem,
        *,
        kinds: Sequence[str],
        metric: str,
        ridge: float | None,
        budget: Budget | None = None,
    ) -> None:
        """Keep what all candidates share; a ``budget`` that is half spent ends the race."""
        self.budget = budget or Budget()
        self.rows, self.problem = rows, problem
        self.kinds, self.metric, self.ridge = tuple(kinds), metric, ridge
        self.best: Found | None = None
        self.every: list[Found] = []

    def run(self, candidates: Sequence[Candidate]) -> Found:
        """Measure these too, and hand back the best of all so far."""
        for one in candidates:
            if self.best is not None and self.budget.seconds is not None and self.budget.left < self.budget.seconds / 2:
                break
            x = one.inputs(self.rows)
            fixed = replace(one, model=settled(one.model, x))
            for found in measure(fixed, x, self.problem, kinds=self.kinds, metric=self.metric, ridge=self.ridge):
                self.best = found if self.best is None or found.order < self.best.order else self.best
                self.every.append(replace(found, solution=None, kernel=None))
        assert self.best is not None
        return self.best

    @property
    def leader(self) -> Found:
        """The best of all so far, without its matrices."""
        return min(self.every, key=lambda f: f.order)

    def leaders(self, count: int) -> list[Found]:
        """The best few."""
        return sorted(self.every, key=lambda f: f.order)[:count]

    def rivals(self, best: Found) -> tuple[Rival, ...]:
        """``best``, then all others by their distance to it, with its standard error: losses are paired sample by sample."""
        stated = next(f for f in self.every if f.rival.key == best.rival.key)
        rivals = []
        for f in self.every:
            if f.rival.key != best.rival.key:
                gap = f.loss - stated.loss
                rivals.append(replace(f.rival, behind=float(gap.mean()), error=self.problem.uncertainty(gap)))
        return best.rival, *ranked(rivals)

"""Features of a kernel machine: learnt where left-out rows say that they help, and told as importances of the columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray

from priorscope.contracts import FeatureKernel, missing, settled
from priorscope.data import Split
from priorscope.inference import FeatureMachine, FittedFeatures
from priorscope.models import laplace
from priorscope.sklearn._choice import Choice
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._loss import Problem, losses
from priorscope.sklearn._search import Candidate, Found, measure

__all__ = ["LearntFeatures", "with_features"]

Array = NDArray[np.float64]
COMPARED = 1500  # rows on which kernels with and without features are compared where there are more


@dataclass(frozen=True, eq=False)
class LearntFeatures:
    """What was learnt: the kernel, rounds and setting, and left-out losses without and with features, measured alike.

    ``moment`` is M over the numbers that the kernel sees (patches, for convolutional kernels); ``kept`` says whether the
    machine uses it; ``flattered`` by how much closed-form leave-one-out under the final M understates the squared error.

    Example:
        >>> LearntFeatures("laplace", np.eye(2), 3, "full M^0.5", "squared", 0.2, 0.1, 300, True).gain
        0.5
    """

    kernel: str
    moment: Array = field(repr=False)
    rounds: int
    setting: str
    metric: str
    plain: float
    learnt: float
    rows: int
    kept: bool
    flattered: float = 1.0

    @property
    def gain(self) -> float:
        """The share of the loss that features take away; not above zero where they do not help."""
        return 1 - self.learnt / max(self.plain, 1e-300)

    def __str__(self) -> str:
        if not self.rounds or self.gain <= 0:
            return f"features were tried on {self.kernel} and did not lower the left-out loss"
        found = (
            f"features of {self.kernel} ({self.rounds} rounds, {self.setting}) lower the left-out loss by "
            f"{100 * self.gain:.0f} % ({self.plain:.4g} to {self.learnt:.4g}, {self.rows} rows)"
        )
        return found if self.kept else f"{found}, but another kernel without features does as well"


def with_features(
    choice: Choice,
    rows: Array,
    plain: Inputs,
    problem: Problem,
    *,
    auto: bool,
    metric: str,
    ridge: float | None,
    landmarks: int | None,
    seed: int,
) -> tuple[Choice, LearntFeatures]:
    """The choice with features where they help; "auto" tries Laplace on standardised numbers and the chosen kernel.

    With and without features a kernel is measured alike (:class:`priorscope.inference.FeatureMachine`: every row under an M
    that has not seen it); the ratio of the two losses, times the leave-one-out loss without features, is what is compared
    with the chosen kernel on the same rows. Rivals without features are as far behind as that says, beyond what they were
    behind the best of them; the two standard errors are added in squares.
    """
    best = choice.candidate
    tried = _bases(choice, plain, auto)
    if not tried:
        raise ValueError(
            f"features are learnt by kernels that can be differentiated and mapped; {best.name} cannot. Use an architecture "
            "that begins with a dense or a convolutional layer, 'laplace', 'gaussian' or 'auto'."
        )
    found: list[tuple[float, Candidate, str, FittedFeatures, LearntFeatures]] = []
    own: float | None = None
    for base, kind in tried:
        fit, learnt = _learnt(base, kind, rows, problem, metric, landmarks, seed)
        assert fit.plan is not None
        some = fit.plan.rows[:COMPARED]
        own = _loss(best, choice.kind, rows, problem, some, metric, ridge) if own is None else own
        fixed = own if base is best else _loss(base, kind, rows, problem, some, metric, ridge)
        found.append((fixed * learnt.learnt / max(learnt.plain, 1e-300), base, kind, fit, learnt))
    expected, base, kind, fit, learnt = min(found, key=lambda f: f[0])
    assert own is not None
    kept = bool(fit.rounds > 0 and expected < own)
    if not kept:
        return replace(choice, notes=(*choice.notes, str(replace(learnt, kept=False)))), replace(learnt, kept=False)
    changed = replace(base, name=f"{base.name} + features", model=fit.model)
    if landmarks is not None:
        rival = replace(choice.found.rival, name=changed.name, kind=kind, inputs=changed.label)
        final = replace(choice.found, candidate=changed, rival=rival)
        flattered = 1.0
    else:
        assert fit.plan is not None
        (final,) = measure(
            changed, changed.inputs(rows), problem, kinds=(kind,), metric=metric, ridge=ridge, start=fit.plan.ridges[-1]
        )
        final, flattered = _honest(final, fit, problem, metric)
    learnt = replace(learnt, kept=True, flattered=flattered)
    apart, unsure = own - expected, _unsure(fit, problem, metric)
    behind = (replace(r, behind=r.behind + apart, error=float(np.hypot(r.error, unsure))) for r in choice.rivals)
    rivals = (final.rival, *behind)
    return Choice(changed, kind, final, rivals, (*choice.notes, str(learnt))), learnt


def _bases(choice: Choice, plain: Inputs, auto: bool) -> list[tuple[Candidate, str]]:
    """Kernels whose features are tried, with the kind of each."""
    best = choice.candidate
    able = not missing(best.model, FeatureKernel)
    if not auto:
        return [(best, choice.kind)] if able else []
    flat = len(best.inputs.shape) == 1
    first = [(Candidate("laplace", laplace(), plain), "ntk")]
    return [*first, *([(best, choice.kind)] if able and flat and best.name != "laplace" else [])]


def _learnt(
    base: Candidate, kind: str, rows: Array, problem: Problem, metric: str, landmarks: int | None, seed: int
) -> tuple[FittedFeatures, LearntFeatures]:
    x = base.inputs(rows)
    machine = FeatureMachine(kind=kind, landmarks=len(x) if landmarks is None else min(landmarks, 2000))
    data = Split(x, torch.from_numpy(problem.targets))
    model: FeatureKernel = base.model  # type: ignore[assignment]  # what it lacks is told by fit
    fit = machine.fit(model, data, seed, weights=problem.weights, blocks=problem.blocks)
    assert fit.plan is not None
    part = problem.part(fit.plan.rows)
    plain, learnt = (float(losses(s, part, metric).mean()) for s in (fit.plan.plain, fit.plan.scores))
    said = LearntFeatures(
        base.name, fit.moment.numpy(), fit.rounds, str(fit.setting), metric, plain, learnt, len(fit.plan.rows), False
    )
    return fit, said


def _loss(
    candidate: Candidate,
    kind: str,
    rows: Array,
    problem: Problem,
    some: NDArray[np.int64],
    metric: str,
    ridge: float | None,
) -> float:
    """Leave-one-out loss of a fixed kernel on some rows."""
    x = candidate.inputs(rows[some])
    fixed = replace(candidate, model=settled(candidate.model, x))
    (found,) = measure(fixed, x, problem.part(some), kinds=(kind,), metric=metric, ridge=ridge)
    return found.rival.score


def _unsure(fit: FittedFeatures, problem: Problem, metric: str) -> float:
    """Standard error of what features gain, from losses paired row by row."""
    assert fit.plan is not None
    part = problem.part(fit.plan.rows)
    gaps = losses(fit.plan.plain, part, metric) - losses(fit.plan.scores, part, metric)
    return part.uncertainty(gaps)


def _honest(found: Found, fit: FittedFeatures, problem: Problem, metric: str) -> tuple[Found, float]:
    """Left-out scores as rows that M has not seen would have them: errors grown to the size that was measured so."""
    assert fit.plan is not None
    rows = fit.plan.rows
    part = problem.part(rows)
    true = float(losses(fit.plan.scores, part, "squared").mean())
    seen = float(losses(found.scores[rows], part, "squared").mean())
    grown = max(true / max(seen, 1e-300), 1.0)
    scores = problem.targets + (found.scores - problem.targets) * np.sqrt(grown)
    each = losses(scores, problem, metric)
    wrong = None if problem.labels is None else float((fit.plan.scores.argmax(1) != part.labels).mean())
    rival = replace(
        found.rival, score=float(each.mean()), squared=float(losses(scores, problem, "squared").mean()), wrong=wrong
    )
    return replace(found, rival=rival, loss=each, scores=scores), grown

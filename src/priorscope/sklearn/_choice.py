"""The course of a choice: on which rows, with which inputs, which kernels; the best few then on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from priorscope.contracts import KernelModel
from priorscope.models import Architecture, Invariant
from priorscope.sklearn._budget import Budget
from priorscope.sklearn._flips import FlipAveraged
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._loss import Problem
from priorscope.sklearn._report import Rival
from priorscope.sklearn._search import Candidate, Found, Race, measure

__all__ = ["Choice", "Wishes", "choose"]

Array = NDArray[np.float64]
SCREENED = 700  # rows on which kernels are compared where there are more
LEAST = 5  # rows of a class among them, of those that are too rare to get as many by lot
FINALISTS = 3  # of them measured again on more rows
NESTED = (
    2000  # rows that hold those of the comparison, on which finalists are told apart before one goes on to all rows
)
FORMS_BY = 2  # models by which the form of the inputs is chosen, before the others are tried
STRENGTHS = (0.01, 0.1)  # of the regulariser of ZCA, in units of the mean eigenvalue
SECONDS = 20.0  # that one kernel may take in the comparison: fewer rows where it would take longer
AMPLE = 6.0  # processor seconds below which kernels are compared on fewer rows
LARGEST = 4000  # numbers per input up to which whitening is tried: its covariance has the square of them


@dataclass(frozen=True)
class Wishes:
    """What was asked for: models by name, and whether their inputs may be coded, whitened and flipped."""

    models: dict[str, KernelModel]
    forms: Sequence[str]
    whiten: bool
    flips: bool
    kinds: Sequence[str]
    metric: str
    ridge: float | None
    seed: int


@dataclass(frozen=True, eq=False)
class Choice:
    """The best candidate; measured on all rows (``found`` whole) unless there are too many for that."""

    candidate: Candidate
    kind: str
    found: Found
    rivals: tuple[Rival, ...]
    notes: tuple[str, ...]


def choose(rows: Array, plain: Inputs, problem: Problem, wishes: Wishes, budget: Budget, *, exact: bool) -> Choice:
    """Compare on up to :data:`SCREENED` rows; ``exact`` says whether the best are then measured on all of them."""
    n = len(rows)
    part = _screen(rows, plain, problem, wishes, budget, exact)
    some = rows[part]
    race = Race(
        some, problem.part(part), kinds=wishes.kinds, metric=wishes.metric, ridge=wishes.ridge, budget=budget
    )  # the rows in order, so that a race on all of them is the final one
    names = list(wishes.models)
    forms = _forms(rows, plain, wishes.forms)
    if len(forms) > 1:
        first = names[:FORMS_BY]
        race.run([Candidate(m, wishes.models[m], forms[f], f) for f in forms for m in first])
        assert race.best is not None
        form = race.best.candidate.label
        race.run([Candidate(m, wishes.models[m], forms[form], form) for m in names[FORMS_BY:]])
    else:
        label, inputs = next(iter(forms.items()))
        race.run([Candidate(m, wishes.models[m], inputs, label) for m in names])
    notes = _refine(race, rows, plain, wishes)
    if race.best is not None and len(part) == n:
        best = race.best
    else:
        finalists = race.leaders(FINALISTS)
        said = f"{len(race.every)} kernels were compared on {len(part)} of {n} rows"
        if n > 1.5 * NESTED and len(finalists) > 1 and budget.allows(3 * len(finalists) * budget.exact(NESTED)):
            finalists = [
                min(_again(finalists, rows, problem, wishes, _wider(part, n, wishes.seed)), key=lambda f: f.order)
            ]
            said += f", the best {FINALISTS} again on {NESTED}"
        if not budget.allows(len(finalists) * budget.exact(n)):
            finalists = finalists[:1]
        best = min(_again(finalists, rows, problem, wishes, None), key=lambda f: f.order) if exact else finalists[0]
        if len(race.every) > 1:
            notes.append(f"{said}; the best {len(finalists) if exact else 1} used all rows")
    return Choice(best.candidate, best.rival.kind, best, race.rivals(best), tuple(notes))


def _again(
    finalists: Sequence[Found], rows: Array, problem: Problem, wishes: Wishes, part: NDArray[np.int64] | None
) -> list[Found]:
    """The same kernels measured on more rows (None: all), with ridges looked for from those that were best before."""
    here, own = (rows, problem) if part is None else (rows[part], problem.part(part))
    found: list[Found] = []
    for f in finalists:
        x, kinds = f.candidate.inputs(here), (f.rival.kind,)
        found += measure(f.candidate, x, own, kinds=kinds, metric=wishes.metric, ridge=wishes.ridge, start=f.relative)
    return found


def _wider(part: NDArray[np.int64], n: int, seed: int) -> NDArray[np.int64]:
    """These rows and others by lot, :data:`NESTED` in all, in order."""
    others = np.random.default_rng([seed, 3]).permutation(np.delete(np.arange(n), part))
    return np.sort(np.concatenate([part, others[: max(NESTED - len(part), 0)]]))


def _screen(
    rows: Array, plain: Inputs, problem: Problem, wishes: Wishes, budget: Budget, exact: bool
) -> NDArray[np.int64]:
    """Rows for the comparison, in order: at most :data:`SCREENED`, fewer for dear kernels, every class among them."""
    n = len(rows)
    several = len(wishes.models) * len(wishes.kinds) * max(len(wishes.forms), 1) > 1 or wishes.whiten or wishes.flips
    if not several and exact:
        return np.arange(n)
    size = min(n, SCREENED, max(100, int(SCREENED * (budget.left / AMPLE) ** 0.5)) if budget.left < AMPLE else n)
    for model in wishes.models.values():
        while size > 100 and _has_cost(model) and _seconds(model, size, plain) > SECONDS:
            size = int(size / 1.3)
    if size >= n:
        return np.arange(n)
    order = np.random.default_rng(wishes.seed).permutation(n)
    if problem.labels is not None:  # the first few of each class are kept
        labels = problem.labels[order]
        first = np.concatenate([np.flatnonzero(labels == c)[:LEAST] for c in np.unique(labels)])
        order = np.concatenate([order[first], np.delete(order, first)])
    return np.sort(order[:size])


def _has_cost(model: KernelModel) -> TypeGuard[Architecture | Invariant]:
    return isinstance(model.model if isinstance(model, Invariant) else model, Architecture)


def _seconds(model: Architecture | Invariant, n: int, plain: Inputs) -> float:
    return float(model.estimate(n, None, plain.shape).seconds)


def _forms(rows: Array, plain: Inputs, wanted: Sequence[str]) -> dict[str, Inputs]:
    """Inputs by the name of their form; forms that these numbers do not have are left out, the plain one stays."""
    made = {"standard": plain}
    if "codes" in wanted and (coded := plain.coded(rows)) is not None:
        made["codes"] = coded
    if "steps" in wanted and (stepped := plain.stepped(rows)) is not None:
        made["steps"] = stepped
    if "standard" not in wanted and len(made) > 1:
        del made["standard"]
    return made


def _refine(race: Race, rows: Array, plain: Inputs, wishes: Wishes) -> list[str]:
    """Whitening and flips for the best kernel on inputs with positions, each kept where it lowers the left-out loss."""
    notes = []
    if wishes.whiten and int(np.prod(plain.shape)) > LARGEST:
        notes.append(f"whitening was not tried: inputs have more than {LARGEST} numbers")
    elif wishes.whiten:
        best = race.leader
        white = [plain.whitened(rows, strength) for strength in STRENGTHS]
        labels = [f"inputs whitened by ZCA ({strength:g})" for strength in STRENGTHS]
        race.run([replace(best.candidate, inputs=w, label=label) for w, label in zip(white, labels, strict=True)])
        after = race.leader
        kept = after.candidate.label in labels
        notes.append(_told("regularised ZCA", best, after, kept))
    if wishes.flips:
        best = race.leader
        flipped = replace(
            best.candidate, name=f"{best.candidate.name} over flips", model=FlipAveraged(best.candidate.model)
        )
        race.run([flipped])
        after = race.leader
        notes.append(_told("averaging over flips", best, after, after.candidate.name == flipped.name))
    return notes


def _told(what: str, before: Found, after: Found, kept: bool) -> str:
    said = (
        f"{after.rival.score:.4g} instead of {before.rival.score:.4g}, kept" if kept else "does not lower it, left out"
    )
    return f"{what}: left-out loss {said}"

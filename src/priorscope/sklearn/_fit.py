"""The fit of a kernel machine to rows of numbers: settings checked, targets read, a kernel chosen, coefficients solved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorscope.checks import NOT_NEGATIVE, POSITIVE, SEED, SHAPE, Rule, check, optional, whole, word_or
from priorscope.contracts import KernelModel, Shape, name_of, require
from priorscope.data import Structure
from priorscope.sklearn._budget import Budget
from priorscope.sklearn._choice import Wishes, choose
from priorscope.sklearn._features import with_features
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._loss import METRICS, Problem, temperature
from priorscope.sklearn._names import default_names, model_named
from priorscope.sklearn._report import MachineReport, Rival
from priorscope.sklearn._solution import LEAST, Solution, by_landmarks, by_margins, by_ridge
from priorscope.sklearn._targets import Targets, class_weights, read_targets

if TYPE_CHECKING:
    from priorscope.sklearn._kernel_machine import KernelMachine

__all__ = ["fitted", "settings_checked"]

Array = NDArray[np.float64]
EXACT = 5000  # rows up to which the solution is exact by default
LANDMARKS = 4000  # beyond, however many rows there are

_FORMS = ("auto", "standard", "codes", "steps", "raw")


def _word(*words: str | None) -> Rule:
    shown = ", ".join(map(repr, words))
    return Rule(f"{{name}} of {shown}", lambda v: (v is None or isinstance(v, str)) and v in words)


_SWITCH = Rule("{name} of True, False", lambda v: isinstance(v, bool | np.bool_))
_RULES = {
    "task": _word("classification", "regression", None),
    "kind": _word("auto", "ntk", "nngp"),
    "head": _word("regression", "svm"),
    "metric": _word(*METRICS, None),
    "inputs": _word(*_FORMS),
    "features": _word("learn", None),
    "ridge": word_or(NOT_NEGATIVE, "auto"),
    "landmarks": word_or(whole(2), "auto", "all"),
    "input_shape": optional(SHAPE),
    "whiten": _SWITCH,
    "flips": _SWITCH,
    "seed": SEED,
    "max_seconds": optional(POSITIVE),
    "max_memory": optional(POSITIVE),
}


def settings_checked(machine: KernelMachine) -> None:
    """Raise for settings that cannot be meant, before anything is computed."""
    for name, rule in _RULES.items():
        check("KernelMachine", name, getattr(machine, name), rule)
    if machine.features is not None and machine.head == "svm":
        raise ValueError("features='learn' goes with head='regression': margins have no closed-form leave-one-out.")


def fitted(machine: KernelMachine, rows: Array, y: ArrayLike, groups: ArrayLike | None = None) -> Array | None:
    """Fill the machine with what it learns from rows of numbers, NaN for gaps, and their targets, left out by groups.

    Given back is the training kernel, None where the solution is by landmarks or margins.
    """
    given = read_targets(y, machine.task)
    if machine.head == "svm" and given.labels is None:
        raise ValueError("head='svm' separates classes; these targets are numbers. Use head='regression'.")
    shape = _shape(machine, rows.shape[1])
    plain = Inputs.learnt(rows, shape, machine.inputs != "raw")
    metric = machine.metric or "squared"
    if given.labels is None and metric != "squared":
        raise ValueError(f"metric={metric!r} is for classes; these targets are numbers. Use metric='squared'.")
    structure = Structure.of(rows, given.scaled if given.labels is None else given.labels, groups=groups)
    if groups is not None and structure.n_blocks < 2:
        raise ValueError("groups are left out one by one: give at least two of them, or leave groups out.")
    blocks = None if structure.single or structure.n_blocks == 1 else structure.blocks
    problem = Problem(given.scaled, given.labels, class_weights(given, machine.class_weight), blocks)
    budget = Budget(machine.max_seconds, machine.max_memory, machine.progress)
    count = _landmarks(machine, len(rows), budget)
    if machine.head == "svm" and count is not None:
        raise ValueError(
            f"head='svm' takes up to {EXACT} rows here; X has {len(rows)}. Use head='regression', or pass fewer rows."
        )
    wishes = Wishes(
        _models(machine, shape),
        _forms(machine, shape),
        machine.whiten and len(shape) > 1 and machine.inputs != "raw",
        machine.flips and len(shape) == 3,
        ("ntk", "nngp") if machine.kind == "auto" else (machine.kind,),
        metric,
        None if machine.ridge == "auto" else float(machine.ridge),
        machine.seed,
    )
    choice = choose(rows, plain, problem, wishes, budget, exact=count is None)
    machine.features_ = None
    if machine.features is not None and len(rows) < 3:
        raise ValueError(
            f"features='learn' needs at least 3 rows, to leave some out; got {len(rows)}. Leave features out."
        )
    if machine.features is not None:
        auto = machine.arch == "auto"
        choice, machine.features_ = with_features(
            choice,
            rows,
            plain,
            problem,
            auto=auto,
            metric=metric,
            ridge=wishes.ridge,
            landmarks=count,
            seed=machine.seed,
        )
    best, chosen = choice.candidate, choice.found.rival
    if count is not None:
        solution, loss = by_landmarks(
            replace(choice.found, candidate=best),
            rows,
            problem,
            count=count,
            metric=metric,
            ridge=wishes.ridge,
            seed=machine.seed,
            budget=budget,
        )
        chosen = measured_again(chosen, problem, solution, loss)
    elif machine.head == "svm":
        solution = by_margins(choice.found, best.inputs(rows), problem, metric=metric, seed=machine.seed)
    else:
        solution = by_ridge(choice.found, best.inputs(rows))
    machine.model_, machine.kind_, machine.inputs_ = best.model, choice.kind, best.inputs
    _keep(machine, given, problem, solution)
    gaps = int(np.isnan(rows).sum())
    told: tuple[str, ...] = (f"{gaps} missing values were filled in with training medians",) if gaps else ()
    if not any(np.ptp(column[~np.isnan(column)]) > 0 for column in rows.T if not np.isnan(column).all()):
        told += ("no column changes from row to row: all predictions are the same",)
    from_rows = machine.rows_.notes if machine.rows_ is not None else ()
    notes = (*from_rows, *told, *structure.notes, *given.notes, *choice.notes, *solution.notes)
    if groups is not None:
        notes += (f"left out by {structure.n_blocks} groups: errors are those on new groups",)
    machine.report_ = MachineReport(given.task, chosen, (chosen, *choice.rivals[1:]), notes)
    return choice.found.kernel if count is None and machine.head == "regression" else None


def measured_again(chosen: Rival, problem: Problem, solution: Solution, loss: float) -> Rival:
    """The chosen kernel with what its solution on landmarks measured on all rows."""
    part = problem if solution.rows is None else problem.part(solution.rows)
    squared = float(((solution.scores - part.targets) ** 2).mean())
    wrong = None if part.labels is None else float((solution.scores.argmax(1) != part.labels).mean())
    return replace(chosen, ridge=solution.ridge, score=loss, rows=len(problem.targets), squared=squared, wrong=wrong)


def _shape(machine: KernelMachine, n_features: int) -> Shape:
    shape = machine.rows_.shape if machine.rows_ is not None else machine.input_shape
    if shape is None:
        return (n_features,)
    if int(np.prod(shape)) != n_features:
        raise ValueError(
            f"input_shape {tuple(shape)} needs {int(np.prod(shape))} features per row; X has {n_features}. Reshape or drop "
            "columns, or pass another input_shape."
        )
    return tuple(int(s) for s in shape)


def _models(machine: KernelMachine, shape: Shape) -> dict[str, KernelModel]:
    """The models to compare by name: those of "auto", or one."""
    if isinstance(machine.arch, str):
        names = default_names(shape) if machine.arch == "auto" else (machine.arch,)
        return {name: model_named(name, shape) for name in names}
    model = require(
        machine.arch,
        KernelModel,
        "an architecture by name, or a model with a kernel",
        "Try 'auto', 'fcn-3' or an Architecture.",
    )
    return {name_of(model): model}


def _forms(machine: KernelMachine, shape: Shape) -> tuple[str, ...]:
    """Forms of the inputs to compare; only numbers without positions are coded."""
    if machine.inputs in ("codes", "steps"):
        if len(shape) > 1:
            raise ValueError(f"inputs={machine.inputs!r} is for flat features; these have shape {shape}.")
        return (machine.inputs,)
    free = machine.inputs == "auto" and machine.arch == "auto" and len(shape) == 1
    return ("standard", "codes", "steps") if free else ("standard",)


def _landmarks(machine: KernelMachine, n: int, budget: Budget) -> int | None:
    """How many rows carry the solution; None for all."""
    if machine.landmarks == "all" or (machine.landmarks == "auto" and n <= EXACT and budget.allows(budget.exact(n))):
        return None
    if machine.landmarks == "auto":
        return min(LANDMARKS, max(n - LEAST, n // 2))
    wanted = int(machine.landmarks)
    return None if wanted >= n else wanted


def _keep(machine: KernelMachine, given: Targets, problem: Problem, solution: Solution) -> None:
    """What later predictions need: coefficients, and of the targets classes and temperature, or the unit."""
    machine.X_fit_, machine.dual_coef_, machine.offset_ = solution.anchors, solution.coefficients, solution.offset
    machine.ridge_, machine.whole_, machine.task_ = solution.ridge, solution.whole, given.task
    machine._gaussian = None
    rows = slice(None) if solution.rows is None else solution.rows
    if given.labels is not None:
        machine.classes_ = given.classes
        balanced = machine.metric == "balanced" and machine.head == "regression"
        machine.class_shares_ = problem.shares if balanced else None  # by which predictions are divided
        machine.temperature_ = 1.0 / temperature(solution.scores, given.labels[rows], problem.weights[rows])
    else:
        machine.target_mean_, machine.target_scale_, machine._flat = given.mean, given.scale, given.flat
        machine.residuals_ = (given.scaled[rows] - solution.scores) / solution.spread[:, None]
        machine.blocks_ = None if problem.blocks is None else problem.blocks[rows]

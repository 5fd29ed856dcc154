"""One measurement of the race: an estimator fitted to the training rows of a part and asked about its test rows."""

from __future__ import annotations

import time as clock
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from priorscope.judge import Measured, Metric, Outputs, outputs_of
from priorscope.profiles._ladder import Part
from priorscope.profiles._problem import Problem
from priorscope.sklearn import fit_by_groups

__all__ = ["Trial", "fitted_outputs", "inputs_of", "judged"]


@dataclass(frozen=True)
class Trial:
    """What a contender did on one part: its error with influences, what it said, and the processor seconds it took."""

    measured: Measured = field(repr=False)
    outputs: Outputs | None = field(repr=False)
    fit_seconds: float
    seconds: float
    rows: int
    notes: tuple[str, ...] = ()  # of the estimator, on how it read what it was given
    allowed: float | None = None  # processor seconds, told to estimators that look at the clock


def inputs_of(problem: Problem, rows: NDArray[np.int64], native: bool) -> Any:
    """Inputs of some rows: flat, or in their own shape for estimators that take it."""
    x = problem.x[rows]
    return x.reshape(len(rows), *problem.shape) if native else x


def fitted_outputs(
    estimator: BaseEstimator, problem: Problem, part: Part, native: bool
) -> tuple[Outputs, float, float, tuple[str, ...]]:
    """Fit and predict; outputs, seconds of the fit, seconds of both, and the estimator's own notes.

    Groups are told to estimators that ask for them. Warnings of solvers are their own business: the error says how well they do.
    """
    began = clock.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups = problem.structure.blocks[part.train] if problem.structure.grouped else None
        made = fit_by_groups(estimator, inputs_of(problem, part.train, native), problem.y[part.train], groups)
        fit = clock.process_time() - began
        outputs = outputs_of(made, inputs_of(problem, part.test, native), problem.n_classes)
    values = outputs.values if problem.n_classes is None else outputs.probabilities
    if values is None or not np.isfinite(values).all():
        raise ValueError("its predictions are not finite")
    notes = tuple(str(note) for note in getattr(made, "notes_", ()))
    return outputs, fit, clock.process_time() - began, notes


def judged(problem: Problem, metric: Metric, part: Part, outputs: Outputs) -> Measured:
    """The error of outputs on the test rows of a part."""
    return metric.measure(problem.y[part.test], outputs)

"""Targets of a kernel machine: classes as one-hot columns, or numbers standardised; which of the two, by one rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from priorscope.checks import POSITIVE
from priorscope.data import from_arrays
from priorscope.printing import printed
from priorscope.sklearn._moments import mean_and_scale

__all__ = ["Targets", "class_weights", "read_targets"]

Array = NDArray[np.float64]
STEEPEST = 1e10  # the heaviest weight over the lightest: more is beyond the digits of the weighted kernel


@printed
@dataclass(frozen=True, eq=False)
class Targets:
    """What is learnt: ``scaled`` (n, outputs); for classes their ``labels`` and names, for numbers mean and scale."""

    task: str
    scaled: Array
    labels: NDArray[np.int64] | None = None
    classes: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    mean: Array = field(default_factory=lambda: np.empty(0))
    scale: Array = field(default_factory=lambda: np.empty(0))
    flat: bool = True
    notes: tuple[str, ...] = ()


def read_targets(y: ArrayLike, task: str | None) -> Targets:
    """Targets by ``task``, or by the rule of :func:`priorscope.data.from_arrays` where it is None.

    Example:
        >>> read_targets(["a", "b", "a"], None).scaled.tolist()
        [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
        >>> read_targets([0.5, 1.5, 2.5], None).task
        'regression'
    """
    notes: tuple[str, ...] = ()
    if task is None:
        rows = np.arange(len(np.asarray(y)), dtype=float)[:, None]
        seen = from_arrays(rows, np.asarray(y), test_fraction=0.0, dtype=torch.float64)
        task = seen.task
        if seen.notes and task == "classification":
            notes = (f"y is read as {len(seen.classes or ())} classes; pass task='regression' for numbers",)
        elif seen.notes:
            notes = ("y is read as numbers; pass task='classification' for classes",)
    return _classes(y, notes) if task == "classification" else _numbers(y, notes)


def _classes(y: ArrayLike, notes: tuple[str, ...]) -> Targets:
    labels = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError("KernelMachine needs at least two classes; got 1 class. Add samples of another class.")
    return Targets("classification", np.eye(len(classes))[codes], codes, classes, notes=notes)


def _numbers(y: ArrayLike, notes: tuple[str, ...]) -> Targets:
    if np.asarray(y).dtype.kind in "USO" and (words := _words(np.asarray(y))):
        raise ValueError(
            f"task='regression' needs numbers as targets; got {words[0]!r}. Leave task out, or use task='classification'."
        )
    values = check_array(y, dtype=np.float64, ensure_2d=False, allow_nd=False, input_name="y")
    columns = values.reshape(len(values), -1)
    mean, scale = mean_and_scale(columns)
    return Targets("regression", (columns - mean) / scale, mean=mean, scale=scale, flat=values.ndim == 1, notes=notes)


def _words(values: NDArray[Any]) -> list[str]:
    """Entries that are words and no numbers.

    Example:
        >>> _words(np.array(["1.5", "a", "b"]))
        ['a', 'b']
    """
    found = []
    for value in values.ravel().tolist():
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                found.append(value)
    return found


def class_weights(given: Targets, weight: str | Mapping[Any, float] | None) -> Array:
    """Weight of each sample: 1, or that of its class.

    Example:
        >>> class_weights(read_targets(["a", "b", "b", "b"], None), "balanced").round(2).tolist()
        [2.0, 0.67, 0.67, 0.67]
    """
    n = len(given.scaled)
    if weight is None:
        return np.ones(n)
    if given.labels is None:
        raise ValueError("class_weight is for classification; these targets are numbers. Leave it out.")
    if isinstance(weight, str):
        if weight != "balanced":
            raise ValueError(f"class_weight must be None, 'balanced' or a weight for each class; got {weight!r}.")
        counts = np.bincount(given.labels)
        found: Array = (n / (len(counts) * counts))[given.labels]
        return found
    names = given.classes.tolist()
    if not isinstance(weight, Mapping):
        raise ValueError(f"class_weight must be None, 'balanced' or a weight for each class; got {weight!r}.")
    if any(c not in names for c in weight) or not all(POSITIVE.accepts(w) for w in weight.values()):
        raise ValueError(f"class_weight needs positive weights of classes among {names[:10]}; got {dict(weight)!r}.")
    weights = np.array([float(weight.get(name, 1.0)) for name in names])
    if not max(weights.max(), 1.0) <= STEEPEST * min(weights.min(), 1.0):
        raise ValueError(
            f"class_weight needs weights within a factor of {STEEPEST:g} of each other and of 1, or the lighter class is lost "
            f"to rounding; got {weights.min():.3g} to {weights.max():.3g} (a class that is not named weighs 1)."
        )
    found = weights[given.labels]
    return found

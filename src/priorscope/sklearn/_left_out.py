"""Predictions for rows whose fold was left out: in closed form for kernel machines, by fitting again for all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from priorscope.inference import solve_blocks
from priorscope.inference.ridge import inverse_of
from priorscope.sklearn._balanced_decision import BalancedDecision
from priorscope.sklearn._estimator import class_scores
from priorscope.sklearn._folds import fit_by_groups
from priorscope.sklearn._kernel_machine import KernelMachine

__all__ = ["closed_form", "may_be_closed", "refitted", "scores_of"]

Array = NDArray[np.float64]


def may_be_closed(estimator: BaseEstimator) -> bool:
    """Whether it ends with a kernel machine whose left-out predictions have a closed form.

    Example:
        >>> may_be_closed(KernelMachine("fcn-1")), may_be_closed(Pipeline([("machine", KernelMachine(class_weight="balanced"))]))
        (True, False)
    """
    if isinstance(estimator, BalancedDecision):
        estimator = estimator.estimator
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return (
        isinstance(last, KernelMachine)
        and last.class_weight is None
        and last.head == "regression"
        and last.features is None
    )


def closed_form(
    estimator: BaseEstimator,
    rows: Array,
    y: NDArray[np.generic],
    targets: Array,
    folds: list[NDArray[np.int64]],
    groups: NDArray[np.int64] | None = None,
) -> tuple[BaseEstimator, Array | None]:
    r"""A kernel machine (or a pipeline that ends with one) fitted to all rows, and its outputs for left-out folds.

    With :math:`A = P(PKP + r)^{-1}P` and F the rows of one fold,

    .. math:: f_{-F}(x_F) = y_F - (A_{FF})^{-1} (A y)_F,

    the block inverse of Rasmussen & Williams (2006, eq. 5.12) for several rows. Equal to fitting without the fold with the
    ridge, the kernel and the standardised inputs of all rows. None where rows are too many for the whole kernel.

    Example:
        >>> X = np.linspace(-1, 1, 12)[:, None]
        >>> folds = [np.arange(0, 12, 2), np.arange(1, 12, 2)]
        >>> _, out = closed_form(KernelMachine("fcn-1", ridge=1e-3), X, X[:, 0], X, folds)
        >>> bool(np.abs(out - X).max() < 0.1)
        True
    """
    if isinstance(estimator, BalancedDecision):
        inside, found = closed_form(estimator.estimator, rows, y, targets, folds, groups)
        return clone(estimator)._around(inside, y), found
    fitted = clone(estimator)
    machine, x = fitted, rows
    if isinstance(fitted, Pipeline):
        machine = fitted.steps[-1][1]
        for _, step in fitted.steps[:-1]:
            x = step.fit_transform(x, y)
    kernel = machine._with_kernel(x, y, groups)
    if kernel is None:
        return fitted, None
    A = inverse_of(kernel, machine.ridge_)
    weights = A @ targets
    found = np.empty_like(targets)
    for left in folds:
        (gone,) = solve_blocks(A[np.ix_(left, left)][None], weights[left][None])
        found[left] = targets[left] - gone
    return fitted, found


def scores_of(estimator: BaseEstimator, rows: Array, classes: NDArray[np.generic] | None) -> Array:
    """Outputs (n, outputs) of a fitted estimator: one score per class where there are classes, else predictions.

    Of a :class:`BalancedDecision` they are the probabilities that it holds against the shares of the classes.
    """
    if classes is None:
        found = np.asarray(estimator.predict(rows), dtype=np.float64)
        return found.reshape(len(rows), -1)
    if isinstance(estimator, BalancedDecision):
        given = estimator.posterior(rows)
    else:
        given = class_scores(estimator, rows)
    scores = np.full((len(rows), len(classes)), given.min() - 1.0)  # a class that this fold did not have
    scores[:, np.searchsorted(classes, estimator.classes_)] = given
    return scores


def refitted(
    estimator: BaseEstimator,
    rows: Array,
    y: NDArray[np.generic],
    folds: list[NDArray[np.int64]],
    classes: NDArray[np.generic] | None,
    groups: NDArray[np.int64] | None = None,
) -> Array:
    """Outputs (n, outputs) for each fold by an estimator fitted to the others; those of one class alone predict it."""
    parts: list[tuple[NDArray[np.int64], Array]] = []
    for test in folds:
        train = np.setdiff1d(np.arange(len(rows)), test)
        if classes is not None and (y[train] == y[train][0]).all():
            parts.append((test, np.tile((classes == y[train][0]).astype(np.float64), (len(test), 1))))
            continue
        fitted = fit_by_groups(clone(estimator), rows[train], y[train], None if groups is None else groups[train])
        parts.append((test, scores_of(fitted, rows[test], classes)))
    found = np.empty((len(rows), parts[0][1].shape[1]))
    for test, scores in parts:
        found[test] = scores
    return found

"""Folds of rows that are left out together, and fits that know which rows belong together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from priorscope.data import Structure

__all__ = ["fit_by_groups", "folds_of"]

Ids = NDArray[np.int64]


def folds_of(y: NDArray[np.generic], n_folds: int, classes: bool, seed: int, blocks: Ids | None = None) -> list[Ids]:
    """Rows of each fold; for classes each fold has its share of every class, and blocks of rows stay whole.

    There are ``n_folds``, or as many as there are blocks: a class with fewer rows than that is in as many folds as it has rows.

    Example:
        >>> [len(f) for f in folds_of(np.arange(10.0), 3, False, 0)]
        [4, 3, 3]
        >>> folds_of(np.arange(4.0), 3, False, 0, np.array([0, 0, 1, 1]))[0].tolist()
        [0, 1]
    """
    strata = np.unique(y, return_inverse=True)[1] if classes else np.zeros(len(y), dtype=np.int64)
    if blocks is not None or (classes and np.bincount(strata).min() < n_folds):
        rows = Structure(np.arange(len(y)) if blocks is None else np.unique(blocks, return_inverse=True)[1], strata)
        return [test for _, test in rows.folds(min(n_folds, rows.n_blocks), seed)]
    splitter = (StratifiedKFold if classes else KFold)(min(n_folds, len(y)), shuffle=True, random_state=seed)
    return [test for _, test in splitter.split(np.zeros(len(y)), strata)]


def fit_by_groups(estimator: BaseEstimator, X: object, y: ArrayLike, groups: ArrayLike | None) -> BaseEstimator:
    """Fit, and say which rows belong together to an estimator (or the last of a pipeline) whose ``fit`` asks for it.

    Example:
        >>> from sklearn.linear_model import Ridge
        >>> fit_by_groups(Ridge(), [[0.0], [1.0]], [0.0, 1.0], [0, 1]).coef_.round(2).tolist()
        [0.33]
    """
    if groups is None:
        return estimator.fit(X, y)
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return estimator.fit(X, y, **({f"{name}__groups": groups} if has_fit_parameter(last, "groups") else {}))
    return estimator.fit(X, y, **({"groups": groups} if has_fit_parameter(estimator, "groups") else {}))

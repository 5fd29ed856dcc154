"""Training rows kept aside to stop or to choose by: every class, or every size of target, in its share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorscope.checks import checked, number, whole
from priorscope.sklearn._targets import Targets

__all__ = ["inner_folds", "inner_split"]

Index = NDArray[np.int64]


def _order(given: Targets, rng: np.random.Generator) -> Index:
    """Rows by class, or by size of the first target, at random among equals."""
    order = rng.permutation(len(given.scaled))
    key = given.scaled[order, 0] if given.labels is None else given.labels[order]
    return order[np.argsort(key, kind="stable")]


def _firsts(given: Targets, order: Index) -> Index:
    """The first row of each class along the order: it is trained on always, so that every class is known."""
    if given.labels is None:
        return order[:0]
    return order[np.searchsorted(given.labels[order], np.arange(len(given.classes)))]


@checked(share=number(above=0, below=1))
def inner_split(given: Targets, share: float, seed: int) -> tuple[Index, Index]:
    """Rows to train on and rows kept aside, both in order; one row of each class is trained on whatever the draw.

    Example:
        >>> from priorscope.sklearn._targets import read_targets
        >>> train, held = inner_split(read_targets(["a"] * 8 + ["b"] * 4, None), 0.25, seed=0)
        >>> len(train), (held < 8).sum(), (held >= 8).sum()
        (9, np.int64(2), np.int64(1))
    """
    rng = np.random.default_rng(seed)
    order = _order(given, rng)
    turns = order[~np.isin(order, _firsts(given, order))]
    each = share * len(order) / max(len(turns), 1)
    held = np.sort(turns[np.diff(np.floor(np.arange(len(turns) + 1) * min(each, 1.0) + rng.random())).astype(bool)])
    return np.setdiff1d(order, held), held


@checked(count=whole(2))
def inner_folds(given: Targets, count: int, seed: int) -> list[tuple[Index, Index]]:
    """So many pairs of rows to train on and rows kept aside, which take turns; one row of each class is never kept aside.

    Example:
        >>> from priorscope.sklearn._targets import read_targets
        >>> folds = inner_folds(read_targets(["a"] * 8 + ["b"] * 4, None), 2, seed=0)
        >>> [len(held) for _, held in folds], len(np.intersect1d(folds[0][1], folds[1][1]))
        ([5, 5], 0)
    """
    order = _order(given, np.random.default_rng(seed))
    turns = order[~np.isin(order, _firsts(given, order))]
    parts = [np.sort(turns[start::count]) for start in range(count)]
    return [(np.setdiff1d(order, held), held) for held in parts]

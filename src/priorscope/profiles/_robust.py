"""What in the data may spoil a comparison: far outliers, heavy tails, skewed targets, classes with a handful of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import skew

from priorscope.profiles._problem import Problem

__all__ = ["heavy_tails", "outliers", "rare_classes", "skewed"]

Array = NDArray[np.float64]
_FAR = 15.0  # standard deviations
_FEW = 10  # rows of a class
_SKEWED = 2.0  # skewness of targets from which on their logarithm is offered: that of an exponential law


def _share(losses: Array, rows: NDArray[np.bool_]) -> float:
    return float(losses[rows].sum() / max(float(losses.sum()), 1e-300))


def outliers(problem: Problem, tested: NDArray[np.int64], losses: Array) -> list[str]:
    """Rows with an input, or a target, beyond 15 standard deviations, and their share of the pick's squared error.

    ``losses`` are those of the rows ``tested``; none where they are not known.
    """
    far = np.zeros(problem.n, dtype=bool)
    if not problem.positions:
        spread = problem.x.std(0)
        far |= (np.abs(problem.x - problem.x.mean(0)) > _FAR * np.where(spread > 0, spread, np.inf)).any(1)
    if problem.n_classes is None:
        y = problem.y.reshape(problem.n, -1)
        far |= (np.abs(y - y.mean(0)) > _FAR * np.where(y.std(0) > 0, y.std(0), np.inf)).any(1)
    if not far.any():
        return []
    rows = np.flatnonzero(far)
    named = f"{'row' if len(rows) == 1 else 'rows'} {', '.join(map(str, rows[:5]))}"
    more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
    share = f", {_share(losses, far[tested]):.0%} of the squared error" if len(losses) else ""
    beyond = "lies" if len(rows) == 1 else "lie"
    return [
        f"{named}{more} {beyond} beyond {_FAR:.0f} standard deviations: {len(rows) / problem.n:.1%} of the rows{share}; look at "
        "them before trusting any error"
    ]


def heavy_tails(losses: Array, name: str) -> list[str]:
    """Whether a few rows make up most of the squared error, so that it changes from draw to draw.

    Example:
        >>> heavy_tails(np.r_[np.ones(99), 500.0], "fcn-1")[0][:62]
        'fcn-1: 1 of 100 tested rows makes up 83 % of the squared error'
        >>> heavy_tails(np.ones(100), "fcn-1")
        []
    """
    if len(losses) < 50:
        return []
    few = max(round(0.01 * len(losses)), 1)
    top = np.sort(losses)[::-1]
    share = float(top[:few].sum() / max(float(top.sum()), 1e-300))
    if share < 0.35:
        return []
    makes = "makes" if few == 1 else "make"
    return [
        f"{name}: {few} of {len(losses)} tested rows {makes} up {100 * share:.0f} % of the squared error: heavy tails, so that "
        "another draw of rows may give quite another error"
    ]


def skewed(targets: NDArray[np.generic]) -> list[str]:
    """Whether positive targets are so skewed that a few large ones decide the squared error, while their logarithms are not.

    Example:
        >>> skewed(np.exp(np.linspace(-4, 4, 101)))
        ['targets are positive and skewed (the largest is 55 times the median): a few large ones decide every error here; ...
    """
    values = np.asarray(targets, dtype=float)
    if values.ndim > 1 or len(values) < 50 or (values <= 0).any():
        return []
    if skew(values / values.max()) < _SKEWED or abs(skew(np.log(values))) > 1:
        return []
    return [
        f"targets are positive and skewed (the largest is {values.max() / np.median(values):.0f} times the median): a few large "
        "ones decide every error here; profile their logarithm to compare by relative errors"
    ]


def rare_classes(labels: NDArray[np.int64], names: Sequence[str]) -> list[str]:
    """Classes of which there are ten rows or fewer.

    Example:
        >>> rare_classes(np.r_[np.zeros(30, int), 1, 1], ["no", "yes"])
        ['there are few rows of class yes (2): what is said of it is a guess; collect more of it']
    """
    count = np.bincount(labels, minlength=len(names))
    few = [c for c in range(len(names)) if count[c] <= _FEW]
    if not few:
        return []
    shown = ", ".join(f"{names[c]} ({count[c]})" for c in few[:6])
    more = f" and {len(few) - 6} more" if len(few) > 6 else ""
    it = "it" if len(few) == 1 else "them"
    classes = "class" if len(few) == 1 else "classes"
    return [f"there are few rows of {classes} {shown}{more}: what is said of {it} is a guess; collect more of {it}"]

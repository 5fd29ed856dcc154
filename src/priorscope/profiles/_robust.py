"""What in the data may spoil a comparison: far outliers, heavy tails, classes with a handful of samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import skew
from torch import Tensor

from priorscope.profiles._held_out import HeldOut
from priorscope.profiles._metric import Metric

__all__ = ["heavy_tails", "outliers", "rare_classes", "skewed"]

_FAR = 15.0  # standard deviations
_FEW = 10  # samples of a class
_SKEWED = 2.0  # skewness of targets from which on their logarithm is offered: that of an exponential law


def _named(rows: Sequence[int], what: str) -> str:
    shown = ", ".join(str(r) for r in rows[:5])
    return f"{what} {shown}" + (f" and {len(rows) - 5} more" if len(rows) > 5 else "")


def outliers(
    inputs: Tensor, targets: NDArray[np.float64], index: NDArray[np.int64], regression: bool, best: HeldOut
) -> list[str]:
    """Rows with a standardised input, or a target, beyond 15 standard deviations, and their share of the best row's error."""
    flat = inputs.flatten(1).double().numpy()
    far = np.abs(flat).max(1) > _FAR if inputs.ndim == 2 else np.zeros(len(flat), dtype=bool)
    if regression:
        far |= (np.abs(targets - targets.mean(0)) / np.maximum(targets.std(0), 1e-300)).max(1) > _FAR
    if not far.any():
        return []
    loss, count = best.sums(Metric.SQUARED_ERROR)
    last = loss[-1] / np.maximum(count[-1], 1e-300)
    share = float(last[far].sum() / max(last.sum(), 1e-300))
    rows = sorted(int(i) for i in index[far])
    return [
        f"{_named(rows, 'row' if len(rows) == 1 else 'rows')} beyond {_FAR:.0f} standard deviations: "
        f"{len(rows) / len(far):.1%} of the samples seen, {share:.0%} of the squared error of the first row; look at them before "
        "trusting any error"
    ]


def heavy_tails(best: HeldOut, name: str) -> list[str]:
    """Whether a few samples make up most of the squared error of the best row, so that it changes from draw to draw."""
    loss, count = best.sums(Metric.SQUARED_ERROR)
    last = np.sort(loss[-1] / np.maximum(count[-1], 1e-300))[::-1]
    few = max(round(0.01 * len(last)), 1)
    share = float(last[:few].sum() / max(last.sum(), 1e-300))
    if share < 0.35 or len(last) < 50:
        return []
    return [
        f"{name}: {few} of {len(last)} tested samples make up {100 * share:.0f} % of the squared error: heavy tails, so that "
        "another draw of samples may give quite another error"
    ]


def skewed(targets: NDArray[np.float64]) -> list[str]:
    """Whether positive targets are so skewed that a few large ones decide the squared error, while their logarithms are not.

    Example:
        >>> skewed(np.exp(np.linspace(-4, 4, 101)))
        ['targets are positive and skewed (the largest is 55 times the median): a few large ones decide every error here; ...
    """
    values = targets.ravel()
    if targets.shape[-1] != 1 and targets.ndim > 1:
        return []
    if len(values) < 50 or (values <= 0).any() or skew(values) < _SKEWED or abs(skew(np.log(values))) > 1:
        return []
    return [
        f"targets are positive and skewed (the largest is {values.max() / np.median(values):.0f} times the median): a few large "
        "ones decide every error here; profile their logarithm to compare by relative errors"
    ]


def rare_classes(labels: NDArray[np.int64] | None, classes: int, names: Sequence[str] | None) -> list[str]:
    """Classes of which about ten samples or fewer were seen."""
    if labels is None:
        return []
    count = np.bincount(labels, minlength=classes)
    few = [c for c in range(classes) if count[c] <= _FEW]
    if not few:
        return []
    shown = ", ".join(f"{names[c] if names is not None and len(names) == classes else c} ({count[c]})" for c in few[:6])
    more = f" and {len(few) - 6} more" if len(few) > 6 else ""
    return [f"few samples were seen of class {shown}{more}: what is said of them is a guess; take a larger pilot"]

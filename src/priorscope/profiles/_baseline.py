"""What needs no model: always the mean of the targets, always the commonest class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorscope.profiles._metric import Metric

__all__ = ["Baseline", "baseline_of"]


@dataclass(frozen=True)
class Baseline:
    """Errors of a predictor that does not look at its input: in the profile's metric, squared, and misclassified (or None).

    Example:
        >>> Baseline(1.0, 0.5, 0.5, "always guessing the commonest class").value
        0.5
    """

    squared: float
    wrong: float | None
    value: float
    words: str


def baseline_of(
    targets: ArrayLike,
    labels: NDArray[np.int64] | None = None,
    metric: Metric = Metric.SQUARED_ERROR,
    unit: float = 1.0,
) -> Baseline:
    """The errors from the targets (n, outputs) and labels of a pilot.

    Example:
        >>> baseline_of(np.array([[0.0], [2.0]]), np.array([0, 1]), Metric.MISCLASSIFICATION).value
        0.5
    """
    squared = float(np.asarray(targets, dtype=float).var(0, ddof=1).mean())
    shares = None if labels is None else np.bincount(np.asarray(labels)) / len(labels)
    wrong = None if shares is None else 1 - float(shares.max())
    words = "predicting the mean"
    value = {Metric.RMSE: unit * squared**0.5, Metric.R2: 1.0}.get(metric, squared)
    if metric.for_classes:
        assert shares is not None
        inside = shares[shares > 0]
        assert wrong is not None
        value = {
            Metric.MISCLASSIFICATION: wrong,
            Metric.BALANCED_ERROR: 1 - 1 / len(inside),
            Metric.AUC: 0.5,
            Metric.LOG_LOSS: float(-(inside * np.log(inside)).sum()),
        }[metric]
        words = {
            Metric.MISCLASSIFICATION: "always guessing the commonest class",
            Metric.LOG_LOSS: "always predicting the shares of the classes",
        }.get(metric, "guessing")
    return Baseline(squared, wrong, value, words)

"""Which measure counts, where none is asked for."""

from __future__ import annotations

import numpy as np

from priorscope.profiles._held_out import Truth
from priorscope.profiles._metric import Metric

__all__ = ["choose_metric"]

_RARE = 0.2  # times one over the number of classes: with two classes, a share of 10 %


def choose_metric(asked: Metric | str | None, truth: Truth) -> tuple[Metric, list[str]]:
    """The metric, and a note where it was chosen because classes are unbalanced.

    Example:
        >>> labels = np.array([0] * 95 + [1] * 5)
        >>> choose_metric(None, Truth(2.0 * labels[:, None] - 1, labels))[0]
        <Metric.BALANCED_ERROR: 'balanced-error'>
    """
    if asked is not None:
        try:
            metric = Metric(asked)
        except ValueError:
            names = ", ".join(m.value for m in Metric)
            raise ValueError(f"metric must be one of {names}; got {asked!r}.") from None
        if metric.for_classes and truth.labels is None:
            raise ValueError(f"{metric.value} needs classes; these targets are numbers. Use rmse, r2 or squared-error.")
        if truth.labels is not None and metric in (Metric.RMSE, Metric.R2):
            raise ValueError(f"{metric.value} is for numbers; these targets are classes. Use misclassification.")
        return metric, []
    if truth.labels is None:
        return Metric.RMSE, []
    shares = np.bincount(truth.labels, minlength=truth.classes) / len(truth.labels)
    rarest = float(shares[shares > 0].min())
    if rarest < _RARE / truth.classes:
        note = (
            f"the rarest class has {100 * rarest:.1f} % of the samples: predictors are compared by balanced error, in "
        )
        return Metric.BALANCED_ERROR, [note + "which every class counts alike (metric= chooses another)"]
    return Metric.MISCLASSIFICATION, []

"""Which measure counts, where none is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorscope.judge import Metric, metric_of

__all__ = ["choose_metric"]

_RARE = 0.2  # times one over the number of classes: with two classes, a share of 10 %


def choose_metric(
    asked: Metric | str | Callable[[Any, Any], float] | None, y: NDArray[np.generic], classes: tuple[str, ...]
) -> tuple[Metric, str]:
    """The metric, and a sentence where it was chosen because classes are unbalanced.

    Example:
        >>> choose_metric(None, np.array([0] * 95 + [1] * 5), ("no", "yes"))[0].value
        'balanced-error'
    """
    if asked is not None:
        metric = metric_of(asked)
        if metric.for_classes and not classes:
            raise ValueError(
                f"{metric.value} needs classes; these targets are numbers. Use rmse, mae, r2 or squared-error."
            )
        if classes and metric in (Metric.RMSE, Metric.MAE, Metric.MAPE, Metric.R2):
            raise ValueError(f"{metric.value} is for numbers; these targets are classes. Use misclassification.")
        return metric, ""
    if not classes:
        return Metric.RMSE, ""
    shares = np.bincount(y, minlength=len(classes)) / len(y)
    present = np.flatnonzero(shares)
    rarest = present[shares[present].argmin()]
    if shares[rarest] < _RARE / len(classes):
        return Metric.BALANCED_ERROR, (
            f"Class {classes[rarest]} has only {100 * shares[rarest]:.2g} % of the rows, so predictors are compared, and decide, "
            "by balanced error: every class counts alike (metric='misclassification' counts rows)."
        )
    return Metric.MISCLASSIFICATION, ""

"""What needs no model: the best constant answer, measured on the same test rows as everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorscope.judge import Metric, Outputs

__all__ = ["Baseline", "guessed"]


@dataclass(frozen=True)
class Baseline:
    """The error of a predictor that does not look at its input, in the profile's metric.

    Example:
        >>> Baseline(0.5, "always guessing the commonest class").value
        0.5
    """

    value: float
    words: str


def guessed(train: NDArray[Any], count: int, classes: int | None, metric: Metric) -> Outputs:
    """The best constant answer for ``count`` rows, by the training targets.

    Example:
        >>> guessed(np.array([0, 1, 1]), 2, 2, Metric.MISCLASSIFICATION).values.tolist()
        [1, 1]
        >>> guessed(np.array([0.0, 1.0, 5.0]), 1, None, Metric.MAE).values.tolist()
        [1.0]
    """
    if classes is None:
        centre = np.median(train, axis=0) if metric.guess.endswith("median") else train.mean(axis=0)
        return Outputs(np.broadcast_to(centre, (count, *np.shape(centre))).copy())
    shares = np.bincount(train, minlength=classes) / len(train)
    code = int(shares.argmax())
    if metric is Metric.F1 and classes == 2:
        code = 1  # calling every row positive gives 2p / (1 + p), calling none gives nothing
    return Outputs(np.full(count, code, dtype=np.int64), np.broadcast_to(shares, (count, classes)).copy())

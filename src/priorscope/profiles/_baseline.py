"""What needs no model: always the mean of the targets, always the commonest class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from priorscope.probes import Forecast

__all__ = ["Baseline", "baseline_of"]


@dataclass(frozen=True)
class Baseline:
    """Errors of a predictor that does not look at its input: squared, and the share misclassified (None in regression)."""

    squared: float
    wrong: float | None

    def beaten(self, forecast: Forecast, n: int, *, surely: bool = False) -> bool:
        """Whether the error forecast at ``n`` lies below; ``surely``: with the whole of its interval.

        Labels may be told apart well where the squared error is that of the mean, so for classes a misclassification whose
        whole interval lies below that of the commonest class is enough.
        """
        ahead = forecast.at(n)
        if (ahead.high if surely else ahead.value) < self.squared:
            return True
        return self.wrong is not None and forecast.misclassification(n).high < self.wrong


def baseline_of(targets: ArrayLike, labels: NDArray[np.int64] | None = None) -> Baseline:
    """The two errors from the targets (n, outputs) and labels of a pilot.

    Example:
        >>> baseline_of(np.array([[0.0], [2.0]]), np.array([0, 1]))
        Baseline(squared=2.0, wrong=0.5)
    """
    wrong = None if labels is None else 1 - float(np.bincount(np.asarray(labels)).max()) / len(labels)
    return Baseline(float(np.asarray(targets, dtype=float).var(0, ddof=1).mean()), wrong)

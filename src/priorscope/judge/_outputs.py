"""What a fitted estimator says of test rows: numbers, or classes with their probabilities where it has any."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Outputs", "outputs_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Outputs:
    """Predictions of test rows: ``values`` are numbers (n,) or (n, outputs), or codes of classes; ``probabilities`` (n, classes).

    ``own`` says that probabilities are the estimator's, not made from its decisions.

    Example:
        >>> Outputs(np.array([1, 0]), np.array([[0.2, 0.8], [0.9, 0.1]])).values.tolist()
        [1, 0]
    """

    values: NDArray[Any]
    probabilities: Array | None = field(default=None, repr=False)
    own: bool = True

    def take(self, rows: NDArray[np.int64]) -> Outputs:
        """The outputs of some of the rows."""
        p = None if self.probabilities is None else self.probabilities[rows]
        return Outputs(self.values[rows], p, self.own)


def outputs_of(fitted: Any, rows: Any, classes: int | None) -> Outputs:
    """Ask a fitted estimator about rows; ``classes`` is how many classes there are in all (None: targets are numbers).

    Classes that the training rows lacked get the probability zero. An estimator without probabilities puts all on the class
    that it predicts.

    Example:
        >>> from sklearn.dummy import DummyClassifier
        >>> fitted = DummyClassifier(strategy="prior").fit([[0], [0], [0]], [0, 0, 2])
        >>> outputs_of(fitted, [[0]], 3).probabilities.round(2).tolist()
        [[0.67, 0.0, 0.33]]
    """
    if classes is None:
        values = np.asarray(fitted.predict(rows), dtype=float)
        return Outputs(values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values)
    values = np.asarray(fitted.predict(rows)).astype(np.int64)
    known = np.asarray(getattr(fitted, "classes_", np.arange(classes))).astype(np.int64)
    found = np.zeros((len(values), classes))
    try:
        found[:, known] = fitted.predict_proba(rows)
    except (AttributeError, NotImplementedError):
        found[np.arange(len(values)), values] = 1.0
        return Outputs(values, found, own=False)
    return Outputs(values, found)

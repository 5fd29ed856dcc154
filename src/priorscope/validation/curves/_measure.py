"""One measured learning curve: nested training sets of doubling size, one set of test rows."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping

import numpy as np

from priorscope.inference import processor_seconds
from priorscope.lab import Metrics, Point
from priorscope.validation.curves._predictors import PREDICTORS
from priorscope.validation.curves._problems import rows_of

__all__ = ["measure", "sizes_of"]

SMALLEST, TESTED = 64, 2000


def sizes_of(row: Mapping[Hashable, object]) -> list[int]:
    """Sizes at which a row of the table of runs has an error.

    Example:
        >>> sizes_of({"e64": 0.3, "e128": float("nan"), "e256": 0.2, "se64": 0.1})
        [64, 256]
    """
    found = [
        int(name[1:])
        for name, value in ((str(k), v) for k, v in row.items())
        if name[1:].isdigit() and name[0] == "e" and value == value
    ]
    return sorted(found)


def measure(point: Point) -> Metrics:
    """Errors at 64, 128, … rows: shares of wrong classes, or roots of mean squared errors in units of the target's spread.

    ``se``: standard errors of the roots by the spread of the squared errors over the test rows.
    """
    x, y, task = rows_of(point["problem"], point["seed"])
    predictor = PREDICTORS[point["predictor"]]
    tested = min(TESTED, len(x) // 4)
    x_test, y_test, x, y = x[:tested], y[:tested], x[tested:], y[tested:]
    if not predictor.image:
        x, x_test = x.reshape(len(x), -1), x_test.reshape(tested, -1)
    found: dict[str, float | int | str] = {"kind": predictor.kind, "task": task, "tests": tested}
    began, n = processor_seconds(), SMALLEST
    while n <= min(point["largest"], predictor.largest, len(x)):
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # a class without rows, a solver that stops early: the error says how well it did
            guess = predictor.make(task).fit(x[:n], y[:n]).predict(x_test)
        if task == "classification":
            found[f"e{n}"] = float(np.mean(guess != y_test))
        else:
            squares = (np.asarray(guess).ravel() - y_test) ** 2 / np.var(y_test)
            root = float(np.sqrt(squares.mean()))
            found |= {f"e{n}": root, f"se{n}": float(squares.std() / len(squares) ** 0.5 / (2 * max(root, 1e-12)))}
        n *= 2
    return {**found, "seconds": processor_seconds() - began}

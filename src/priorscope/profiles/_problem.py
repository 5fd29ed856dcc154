"""What is to be predicted from what: rows and targets as estimators take them, and the structure of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priorscope.data import Dataset, Structure

__all__ = ["Problem", "problem_of"]

_FEW_ROWS = 4


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows ``x`` (n, features) and targets ``y``: codes of classes (n,), or numbers (n,) or (n, outputs) in their own unit.

    ``shape`` is that of one input, for rows that are flattened images or series. ``classes`` names the classes (empty for
    numbers), ``framed`` says that inputs came in a frame, which what is built encodes.

    Example:
        >>> import torch, priorscope as ps
        >>> made = problem_of(ps.data.from_arrays(torch.eye(6), torch.arange(6.0), test_fraction=0.0), None)
        >>> made.x.shape, made.y.tolist(), made.task
        ((6, 6), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], 'regression')
    """

    data: Dataset = field(repr=False)
    x: NDArray[np.float64] = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    shape: tuple[int, ...]
    classes: tuple[str, ...]
    structure: Structure = field(repr=False)
    framed: bool = False

    @property
    def task(self) -> str:
        """The task, "classification" or "regression"."""
        return self.data.task

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def n_classes(self) -> int | None:
        """Number of classes; None for numbers."""
        return len(self.classes) or None

    @property
    def outputs(self) -> int:
        """Number of outputs of a network: classes, or numbers per row."""
        return self.n_classes or (1 if self.y.ndim == 1 else int(self.y.shape[1]))

    @property
    def positions(self) -> bool:
        """Whether inputs have positions: images and series do, rows of a table do not."""
        return len(self.shape) > 1


def _labels(data: Dataset) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Codes of the classes that the targets stand for, and their names."""
    targets = data.targets.double().numpy()
    codes = ((targets[:, 0] > 0) if targets.shape[1] == 1 else targets.argmax(1)).astype(np.int64)
    count = max(targets.shape[1], 2)
    known = data.classes
    names = known if known is not None and len(known) == count else tuple(str(c) for c in range(count))
    if known is not None and len(known) != count and count == 2:
        names = ("negative", "positive")
    return codes, names


def problem_of(data: Dataset, given: Any) -> Problem:
    """The training rows of a data set as a problem; ``given`` is what the user handed over."""
    if len(data.input_shape) > 3:
        raise ValueError(
            "data must be flat features, signals (channels, length) or images (channels, height, width); got inputs of shape "
            f"{tuple(data.input_shape)}. Flatten them, or put one axis into the channels."
        )
    if len(data.train) < _FEW_ROWS:
        raise ValueError(
            f"a profile needs at least {_FEW_ROWS} rows, to train on some and test on others; got {len(data.train)}."
        )
    rows = data.inputs.numpy().reshape(len(data.train), -1).astype(np.float64, copy=False)
    if bool((rows == rows[:1]).all()):
        raise ValueError(
            f"all {len(rows)} training inputs are the same: any model ignores them, and nothing can be learnt. Check which "
            "columns or files were read."
        )
    if data.task == "classification":
        y, classes = _labels(data)
        targets: NDArray[Any] = y
    else:
        numbers = data.targets.double().numpy()
        targets, classes = numbers[:, 0] if numbers.shape[1] == 1 else numbers, ()
    return Problem(data, rows, targets, data.input_shape, classes, data.structure, isinstance(given, pd.DataFrame))

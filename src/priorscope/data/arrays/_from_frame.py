"""Data sets from a pandas frame with the target as one of its columns."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from priorscope.checks import SEED, checked, number
from priorscope.data._dataset import Dataset
from priorscope.data.arrays._from_arrays import from_arrays
from priorscope.data.arrays._missing import Missing
from priorscope.data.arrays._plain import Values, is_frame
from priorscope.data.tables._pandas import frame_columns, joined_frames
from priorscope.data.tables._table import make_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["from_frame"]


@checked(test_fraction=number(least=0, below=1), seed=SEED)
def from_frame(
    frame: pd.DataFrame,
    target: str | int | tuple[str, ...] | None = None,
    *,
    keep: Collection[str] = (),
    test: pd.DataFrame | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    classes: str | None = None,
    missing: Missing = "median",
    groups: Values | None = None,
    time: Values | None = None,
    name: str = "frame",
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """A data set from a frame; ``target`` is the name or the position of the target column, the last by default.

    Numbers stay, words and categories become one-hot columns, gaps in numbers are filled in with training medians
    (``missing="refuse"`` refuses them), dates are refused. ``notes`` says what was done to which column. ``groups`` and ``time``
    (an array, or the name of a column, which is no input then) say which rows belong together and which come first. Columns
    that number the rows are left out, but for those in ``keep``.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [1, 2, 3], "kind": ["a", "b", "a"], "price": [0.5, 1.5, 2.5]})
        >>> from_frame(frame, "price", test_fraction=0.0).notes[:2]
        ("target: column 'price'", 'input columns: age, kind=a, kind=b')
    """
    if not is_frame(frame) or not (test is None or is_frame(test)):
        raise TypeError(f"from_frame needs a pandas DataFrame; got {type(frame).__name__}. Use from_arrays for arrays.")
    frame, groups = taken_column(frame, groups, "groups")
    frame, time = taken_column(frame, time, "time")
    whole, n = frame, len(frame)
    if test is not None:
        whole = joined_frames(frame, test)
    columns, renamed = frame_columns(whole, "the frame")
    if not columns or not len(whole):
        raise ValueError(f"the frame is empty: it has shape {whole.shape}; a data set needs rows, inputs and a target.")
    table = make_table(columns, target, "the frame", keep=keep)
    if len(table.rows) < len(whole):
        n = int((table.rows < n).sum())
        groups, time = (None if v is None else np.asarray(v)[table.rows] for v in (groups, time))
    data = from_arrays(
        table.x[:n],
        table.y[:n],
        test=None if test is None else (table.x[n:], table.y[n:]),
        test_fraction=test_fraction,
        seed=seed,
        classes=classes,
        missing=missing,
        groups=groups,
        time=time,
        name=name,
        dtype=dtype,
    )
    return replace(data, columns=tuple(table.names)).noted(*renamed, *table.notes)


def taken_column(frame: pd.DataFrame, column: Values | None, what: str) -> tuple[pd.DataFrame, Values | None]:
    """The frame without the column of this name, and its values; an array is handed back beside the whole frame."""
    if not isinstance(column, str):
        return frame, column
    if column not in frame.columns:
        close = difflib.get_close_matches(column, [str(name) for name in frame.columns], 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{what} names the column {column!r}, which the frame does not have.{hint}")
    return frame.drop(columns=column), frame[column].to_numpy()

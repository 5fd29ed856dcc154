"""Columns of a pandas frame: by their types, and cell by cell where they hold Python objects."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priorscope.data.tables._column import Column, read_column
from priorscope.data.tables._frame import Frame
from priorscope.data.tables._table import encode_inputs, unique_names

if TYPE_CHECKING:
    import pandas as pd

__all__: list[str] = []


def frame_columns(frame: pd.DataFrame, what: str) -> tuple[list[Column], tuple[str, ...]]:
    """The columns of a frame with names that differ, and a note where some did not; dates are refused with advice.

    Example:
        >>> import pandas as pd
        >>> [c.kind for c in frame_columns(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), "the frame")[0]]
        ['numbers', 'words']
    """
    names, notes = unique_names([column_name(name) for name in frame.columns])
    if frame.columns.nlevels > 1:
        notes = (f"columns of several levels are called by their levels: {', '.join(names[:5])}", *notes)
    return [_column(frame.iloc[:, i], name, what) for i, name in enumerate(names)], notes


def column_name(name: object) -> str:
    """What a column is called: its levels with a point between them where it has several."""
    return ".".join(str(level).strip() for level in name if str(level)) if isinstance(name, tuple) else str(name)


def joined_frames(train: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    """Both frames on top of each other, so that words become the same columns; refused when their columns differ."""
    import pandas as pd

    if list(train.columns) != list(test.columns):
        raise ValueError(
            "the training frame and the test frame need the same columns in the same order; got "
            f"{', '.join(map(str, train.columns[:10]))} and {', '.join(map(str, test.columns[:10]))}."
        )
    for i, name in enumerate(train.columns):
        kinds = [frame.dtypes.iloc[i] for frame in (train, test)]
        if len({pd.api.types.is_numeric_dtype(k) for k in kinds}) > 1 and len(test):
            raise ValueError(
                f"column {name!r} is of type {kinds[0]} in training and {kinds[1]} in test; make them alike."
            )
    return pd.concat([train, test], ignore_index=True)


def encode_frame(
    frame: pd.DataFrame, keep: Collection[str] = ()
) -> tuple[NDArray[np.float64], tuple[str, ...], tuple[str, ...]]:
    """A frame without a target as inputs, the names of their columns, and notes."""
    samples = Frame.of(frame).samples(None, keep)
    if not samples.columns:
        raise ValueError(f"inputs must have at least one feature; got a frame of shape {frame.shape}.")
    x, names, told = encode_inputs(samples.columns, "the frame")
    shown = (f"input columns: {', '.join(names[:20])}",) if any(c.kind == "words" for c in samples.columns) else ()
    return x, tuple(names), (*samples.notes, *shown, *told)


def _column(values: pd.Series, name: str, what: str) -> Column:
    """A column of a pandas frame by its type: words, numbers or truth values; dates and objects are refused."""
    import pandas as pd

    kind = values.dtype
    gone = values.isna().to_numpy()
    if isinstance(kind, pd.CategoricalDtype):
        labels = np.where(gone, "", values.astype(str).to_numpy(dtype=str))
        return Column(name, "words", np.full(len(values), np.nan), labels)
    dates = pd.api.types.is_datetime64_any_dtype(kind) or isinstance(kind, (pd.PeriodDtype, pd.IntervalDtype))
    if dates or pd.api.types.is_timedelta64_dtype(kind):
        raise ValueError(
            f"column {name!r} of {what} holds dates or times ({kind}). Turn it into numbers first (days since the first, "
            "month, weekday), or drop it."
        )
    if pd.api.types.is_complex_dtype(kind):
        raise ValueError(
            f"column {name!r} of {what} holds complex numbers; give the two parts as columns of their own."
        )
    if pd.api.types.is_bool_dtype(kind):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        labels = np.where(gone, "", values.astype(str).to_numpy(dtype=str))
        return Column(name, "truth", numbers, labels)
    if pd.api.types.is_numeric_dtype(kind):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        whole = pd.api.types.is_integer_dtype(kind)
        long = whole and bool((np.abs(numbers) >= 2**53).any())  # more digits than a float has
        words = np.where(gone, "", values.astype(str).to_numpy(dtype=str)) if long else None
        return Column(name, "numbers", numbers, words, whole)
    return _objects(values, gone.tolist(), name, what)


def _objects(values: pd.Series, gone: list[bool], name: str, what: str) -> Column:
    """Python objects: numbers among themselves, else words as in a file; containers are refused."""
    cells = values.tolist()
    present = [v for v, missing in zip(cells, gone) if not missing]
    odd = next((v for v in present if not isinstance(v, (str, bytes, bool, int, float, np.generic))), None)
    if odd is not None:
        raise ValueError(
            f"column {name!r} of {what} holds objects of type {type(odd).__name__}; give numbers or words in it."
        )
    words = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in cells]
    return read_column(name, ["" if missing else word for word, missing in zip(words, gone)], ".", what)

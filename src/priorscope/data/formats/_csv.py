"""Tables: numbers stay numbers, words become one-hot columns, one column is the target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priorscope.data.formats._format import Contents, Format, ReadOptions

if TYPE_CHECKING:
    import pandas as pd

__all__: list[str] = []

MAX_CATEGORIES = 100


def read_csv(path: Path, target: str | int | None = None) -> tuple[NDArray[np.float64], NDArray, tuple[str, ...]]:
    """Inputs (n, columns), targets (n,) and the names of the input columns.

    ``target`` is the name or the position of the target column; the last column when None. A target of words, booleans
    or integers of at most 20 values is classes, any other a regression.
    """
    import pandas as pd

    frame = _frame(path, "\t" if ".tsv" in path.suffixes else ",")
    if frame.shape[1] == 1 and ";" in str(frame.columns[0]):  # as spreadsheets write it where the comma is decimal
        frame = _frame(path, ";")
    if len(frame) == 0:
        raise ValueError(f"{path.name} has a row of names and no rows of data; a table needs at least 2.")
    column = _target_column(frame, target, path.name)
    missing = frame.columns[frame.isna().any()].tolist()
    if missing:
        row = int(np.flatnonzero(frame.isna().any(axis=1))[0])
        raise ValueError(
            f"{path.name} has missing values in {', '.join(map(str, missing))} (first in data row {row + 1}). "
            "Fill them in or drop these rows first."
        )
    y = frame[column]
    inputs = frame.drop(columns=column)
    if inputs.shape[1] == 0:
        raise ValueError(f"{path.name} needs a target column and at least one input column; it has one column.")
    columns, names = [], []
    for name in inputs.columns:
        values = inputs[name]
        if pd.api.types.is_numeric_dtype(values):
            columns.append(values.to_numpy(np.float64))
            names.append(str(name))
            continue
        _check_words(values, str(name), path.name)
        found = sorted(values.astype(str).unique())
        if len(found) > MAX_CATEGORIES:
            raise ValueError(
                f"column {name!r} of {path.name} has {len(found)} different words, too many for one-hot columns "
                f"(at most {MAX_CATEGORIES}). Drop it if it is a name or an identifier, or encode it yourself."
            )
        for word in found:
            columns.append((values.astype(str) == word).to_numpy(np.float64))
            names.append(f"{name}={word}")
    return np.stack(columns, 1), _targets(y), tuple(names)


def _frame(path: Path, separator: str) -> pd.DataFrame:
    """The table as it stands; where the first row holds numbers only, columns are named by their position."""
    import pandas as pd

    try:
        frame = pd.read_csv(path, sep=separator, skipinitialspace=True)
        if frame.shape[1] > 1 and pd.to_numeric(pd.Series(list(frame.columns)), errors="coerce").notna().all():
            frame = pd.read_csv(path, sep=separator, skipinitialspace=True, header=None)
            frame.columns = [f"column {i}" for i in range(frame.shape[1])]
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} cannot be read as a table ({' '.join(str(error).split())}).") from error
    return frame


def _check_words(values: pd.Series, name: str, file: str) -> None:
    """A column of numbers with a few words in it is a column with missing values, not one of categories."""
    import pandas as pd

    numbers = pd.to_numeric(values, errors="coerce")
    if numbers.notna().mean() > 0.5:
        row = int(np.flatnonzero(numbers.isna())[0])
        raise ValueError(
            f"column {name!r} of {file} holds numbers, but {str(values.iloc[row])!r} in data row {row + 1}. If that stands "
            "for a missing value, fill it in or drop the row."
        )


def _target_column(frame: pd.DataFrame, target: str | int | None, file: str) -> str:
    names = list(frame.columns)
    if target is None:
        return names[-1]
    if isinstance(target, int) and -len(names) <= target < len(names):
        return names[target]
    if target in names:
        return str(target)
    raise ValueError(f"{file} has no column {target!r} for the target; its columns are {', '.join(map(str, names))}.")


def _targets(y: pd.Series) -> NDArray:
    """Classes as integers or words, numbers as float64."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(y) or not pd.api.types.is_numeric_dtype(y):
        return y.astype(str).to_numpy(dtype=str)
    if pd.api.types.is_integer_dtype(y) and y.nunique() <= 20:
        return y.to_numpy(np.int64)
    return y.to_numpy(np.float64)


def _read(path: Path, options: ReadOptions) -> Contents:
    x, y, columns = read_csv(path, options.target)
    shown = ", ".join(columns[:20]) + (f" and {len(columns) - 20} more" if len(columns) > 20 else "")
    return Contents(x, y, notes=(f"input columns: {shown}",))


TABLE = Format("table", ".csv or .tsv (plain or .gz)", _read, (".csv", ".tsv"))

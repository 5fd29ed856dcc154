"""Tables: numbers stay numbers, words become one-hot columns, one column is the target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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

    separator = "\t" if ".tsv" in path.suffixes else ","
    try:
        frame = pd.read_csv(path, sep=separator, skipinitialspace=True)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} cannot be read as a table ({error}).") from error
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

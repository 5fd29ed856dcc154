"""A table as a pandas frame with typed columns: for whoever needs the columns by name, now and for later rows."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from priorscope.data._memory import check_memory
from priorscope.data.formats._bytes import read_bytes
from priorscope.data.formats._text_table import decode, read_text_table
from priorscope.data.tables._column import Column, read_column
from priorscope.data.tables._table import INDEX_NAMES, counts_rows, unique_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["load_frame"]


def load_frame(
    path: str | Path,
    *,
    words: Collection[str] = (),
    keep: Collection[str] = (),
    decimal: Literal[".", ","] | None = None,
    header: bool | None = None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The columns of a table file as :func:`load` reads them, before words are coded and gaps filled in; and notes.

    Whole numbers are integers where none is missing, other numbers floats, everything else words (None for gaps). Columns
    named in ``words`` stay words whatever they hold. A column that numbers the rows is left out unless ``keep`` names it.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "t.csv"
        >>> _ = file.write_text("id;size;kind\\n1;1,5;a\\n2;2,5;b\\n3;;a\\n")
        >>> frame, notes = load_frame(file)
        >>> frame.to_dict("list"), notes[-1]
        ({'size': [1.5, 2.5, nan], 'kind': ['a', 'b', 'a']}, "column 'id' numbers the rows and is left out")
    """
    import pandas as pd

    path = Path(path).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"no file {path}.")
    text, notes = decode(read_bytes(path, times=4), path.name)
    check_memory(40 * len(text), f"{path.name}, cell by cell")
    found = read_text_table(text, path.name, header, decimal)
    names, renamed = unique_names(found.names)
    columns = {
        name: _words(name, cells) if name in words else read_column(name, cells, found.decimal, path.name)
        for name, cells in zip(names, found.columns, strict=True)
    }
    notes = (*notes, *found.notes, *renamed)
    first = next(iter(columns.values()))
    unnamed = found.index or (first.name if not found.names[0] and counts_rows(first) else None)
    for name, column in list(columns.items()):
        counting = name == unnamed or (name.lower() in INDEX_NAMES and counts_rows(column))
        if counting and name not in keep and len(columns) > 1:
            del columns[name]
            notes += (f"column {name!r} numbers the rows and is left out",)
    return pd.DataFrame({name: _values(column) for name, column in columns.items()}), notes


def _words(name: str, cells: Collection[str]) -> Column:
    labels = np.array([cell.strip() for cell in cells], dtype=str)
    return Column(name, "words", np.full(len(labels), np.nan), labels)


def _values(column: Column) -> object:
    """The cells of a column in the type that says what they are."""
    if column.kind == "numbers":
        whole = column.whole and not column.gaps.any() and np.abs(column.numbers).max() < 2**53
        return column.numbers.astype(np.int64) if whole else column.numbers
    return np.array([word or None for word in column.words], dtype=object)

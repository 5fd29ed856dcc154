"""Large tables of nothing but plain numbers, by the parser of pandas: the same answer as cell by cell, many times faster."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import islice

import numpy as np

from priorscope.data.formats._row_of_names import has_names
from priorscope.data.formats._text_table import find_separator, separator_note
from priorscope.data.tables._column import Column, read_column
from priorscope.data.tables._table import find_target, unique_names
from priorscope.data.tables._whole import whole_number

__all__: list[str] = []

LARGE = 1 << 20  # characters; smaller tables are read cell by cell
_PLAIN = b"0123456789+-.eE\r\n"
_LEADING_ZERO = re.compile(r"(?:^|[,;|\t\n])[+-]?0[0-9]")


@dataclass(frozen=True)
class PlainTable:
    """The columns of a table of numbers, the names as they stand in the file, and notes."""

    columns: list[Column]
    header: list[str]
    notes: tuple[str, ...]


def read_plain_table(text: str, file: str, header: bool | None, target: str | int | None) -> PlainTable | None:
    """The columns of a table all of whose cells below the first row are plain numbers or empty; None for any other table."""
    first, _, body = text.partition("\n")
    if '"' in first or first.startswith(("#", "sep=")) or not body:
        return None
    separator = find_separator(text, file)
    if separator == " " or not _is_plain(body, separator) or _LEADING_ZERO.search(text):
        return None
    head = next(csv.reader([first.rstrip("\r")], delimiter=separator))
    lines = (line for line in islice(io.StringIO(body), 200) if line.strip())
    rows = [head, *(line.rstrip("\r\n").split(separator) for line in lines)]
    if len({len(row) for row in rows}) != 1:
        return None
    named, why = has_names(rows, file) if header is None else (header, "")
    if not named and not _is_plain(first, separator):
        return None
    values = _numbers(body if named else text, separator, len(head))
    if values is None:
        return None
    names, told = unique_names(head if named else [f"column {i}" for i in range(len(head))])
    columns = [
        Column(name, "numbers", column, None, _whole(column)) for name, column in zip(names, values.T, strict=True)
    ]
    place = find_target(names, target, file) if target in (None, *names) or whole_number(str(target)) else -1
    columns[place] = read_column(names[place], _cells(body if named else text, separator, place), ".", file)
    notes = (*separator_note(separator), *((why,) if why else ()), *told)
    return PlainTable(columns, head if named else names, notes)


def _whole(values: np.ndarray) -> bool:
    """Whether all numbers that are there are integers."""
    known = values[~np.isnan(values)]
    return bool((known == np.rint(known)).all())


def _is_plain(text: str, separator: str) -> bool:
    """Whether nothing but the signs of plain numbers, separators and ends of lines stands in the text."""
    return text.isascii() and not text.encode().translate(None, _PLAIN + separator.encode())


def _numbers(body: str, separator: str, width: int) -> np.ndarray | None:
    """Numbers (n, width), None unless every row has as many fields and every number is held by a float."""
    import pandas as pd

    try:
        values = pd.read_csv(
            io.StringIO(body), sep=separator, header=None, dtype=np.float64, float_precision="round_trip"
        ).to_numpy()
    except (ValueError, OverflowError):  # uneven rows, signs alone; told by the slow way
        return None
    even = values.shape[1] == width and body.count(separator) == len(values) * (width - 1)
    small = bool((np.abs(np.nan_to_num(values)) < 2**53).all())
    return values if even and small and not np.isnan(values).all(1).any() else None


def _cells(body: str, separator: str, place: int) -> list[str]:
    import pandas as pd

    frame = pd.read_csv(
        io.StringIO(body), sep=separator, header=None, usecols=[place], dtype=str, keep_default_na=False
    )
    return frame.iloc[:, 0].tolist()

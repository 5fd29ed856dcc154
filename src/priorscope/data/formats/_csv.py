"""Tables as text: comma-separated values and their relatives, as spreadsheets, pandas, R and numpy write them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from priorscope.data._memory import check_memory
from priorscope.data.formats._as_pandas import compared
from priorscope.data.formats._bytes import read_bytes
from priorscope.data.formats._format import Format, ReadOptions
from priorscope.data.formats._plain_table import LARGE, read_plain_table
from priorscope.data.formats._text_table import decode, read_text_table
from priorscope.data.tables._column import Column, read_column, words_column
from priorscope.data.tables._counting import counts_from_start
from priorscope.data.tables._frame import Frame
from priorscope.data.tables._table import unique_names

__all__: list[str] = []

PEAK = 9  # bytes that reading takes for each byte of a table of plain numbers, as tests/data/formats/test_bytes.py measures
CELL = 60  # bytes of a cell as a Python string in a list, with its place there


def _read(path: Path, options: ReadOptions) -> Frame:
    """Numbers stay numbers, anything else is words; the notes say what was decided."""
    raw = read_bytes(path, times=PEAK)
    text, notes = decode(raw, path.name)
    del raw
    if len(text) >= LARGE and options.decimal != "," and not options.words:
        plain = read_plain_table(text, path.name, options.header, options.target)
        if plain is not None:
            return Frame(tuple(plain.columns), (*notes, *plain.notes), _unnamed(plain.header, plain.columns))
    n_cells = sum(text.count(sign) for sign in "\n,;\t|")
    check_memory(PEAK * len(text) + 2 * CELL * n_cells, f"{path.name}, cell by cell")
    found = read_text_table(text, path.name, options.header, options.decimal)
    names, renamed = unique_names(found.names)
    columns = tuple(
        words_column(name, cells) if name in options.words else read_column(name, cells, found.decimal, path.name)
        for name, cells in zip(names, found.columns, strict=True)
    )
    index = found.index or _unnamed(found.names, columns)
    return Frame(columns, (*notes, *found.notes, *renamed), index, compared(columns, found))


def _unnamed(header: list[str], columns: Sequence[Column]) -> str | None:
    """The first column where it has no name and counts the rows, as pandas writes the index of a frame."""
    return columns[0].name if not header[0] and counts_from_start(columns[0]) else None


TABLE = Format(
    "table", ".csv, .tsv, .txt or .data (plain or .gz)", _read, (".csv", ".tsv", ".txt", ".data", ".tab", ".dat")
)

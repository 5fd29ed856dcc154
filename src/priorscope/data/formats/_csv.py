"""Tables as text: comma-separated values and their relatives, as spreadsheets, pandas, R and numpy write them."""

from __future__ import annotations

from pathlib import Path

from priorscope.data._memory import check_memory
from priorscope.data.formats._bytes import read_bytes
from priorscope.data.formats._format import Contents, Format, ReadOptions
from priorscope.data.formats._plain_table import LARGE, read_plain_table
from priorscope.data.formats._text_table import decode, read_text_table
from priorscope.data.tables._column import read_column
from priorscope.data.tables._table import counts_rows, make_table, unique_names

__all__: list[str] = []


def _read(path: Path, options: ReadOptions) -> Contents:
    """Numbers stay numbers, words become one-hot columns, one column is the target; the notes say which."""
    text, notes = decode(read_bytes(path, times=4), path.name)
    plain = None
    if len(text) >= LARGE and options.decimal != ",":
        plain = read_plain_table(text, path.name, options.header, options.target)
    if plain is not None:
        columns, header, index, told = plain.columns, plain.header, None, plain.notes
    else:
        check_memory(40 * len(text), f"{path.name}, cell by cell")
        found = read_text_table(text, path.name, options.header, options.decimal)
        names, renamed = unique_names(found.names)
        columns = [read_column(name, cells, found.decimal, path.name) for name, cells in zip(names, found.columns)]
        header, index, told = found.names, found.index, (*found.notes, *renamed)
    if index is None and not header[0] and counts_rows(columns[0]):  # as pandas writes the index of a frame
        index = columns[0].name
    table = make_table(columns, options.target, path.name, index)
    return Contents(table.x, table.y, missing="median", notes=(*notes, *told, *table.notes), columns=tuple(table.names))


TABLE = Format(
    "table", ".csv, .tsv, .txt or .data (plain or .gz)", _read, (".csv", ".tsv", ".txt", ".data", ".tab", ".dat")
)

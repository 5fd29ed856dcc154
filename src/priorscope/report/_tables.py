"""Tables for the terminal (rich) and for a page (HTML, everything escaped)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

__all__ = ["format_value", "html_table", "rich_table"]

TableLike: TypeAlias = "pd.DataFrame | Sequence[Mapping[str, object]]"


def format_value(value: object) -> str:
    """A value as a reader wants it: four digits, nothing for None.

    Example:
        >>> format_value(0.123456), format_value(None), format_value(12)
        ('0.1235', '', '12')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def _rows(table: TableLike) -> list[Mapping[str, object]]:
    """Rows of a DataFrame or of a list of dicts."""
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
    return list(table)


def rich_table(table: TableLike, *, title: str | None = None, columns: Sequence[str] | None = None) -> Table:
    """A table for the terminal from a DataFrame or a list of dicts.

    Example:
        >>> rich_table([{"width": 64, "error": 0.25}]).row_count
        1
    """
    from rich.markup import escape as plain
    from rich.table import Table

    rows = _rows(table)
    names = list(columns) if columns is not None else list(rows[0]) if rows else []
    out = Table(title=title, title_justify="left", title_style="bold")
    for name in names:
        numeric = all(isinstance(row.get(name), (int, float)) or row.get(name) is None for row in rows)
        out.add_column(name, justify="right" if numeric else "left")
    for row in rows:
        out.add_row(*(plain(format_value(row.get(name))) for name in names))
    return out


def html_table(table: TableLike, *, columns: Sequence[str] | None = None, caption: str | None = None) -> str:
    """A table for a page; every cell is escaped.

    Example:
        >>> html_table([{"name": "<b>"}])
        '<table><thead><tr><th>name</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    rows = _rows(table)
    names = list(columns) if columns is not None else list(rows[0]) if rows else []
    head = "".join(f"<th>{escape(str(name))}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(format_value(row.get(name)))}</td>" for name in names) + "</tr>" for row in rows
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

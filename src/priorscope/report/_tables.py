"""Tables for the terminal (rich) and for a page (HTML, everything escaped)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

__all__ = ["claims_table", "format_value", "html_table", "rich_table"]

_COLOURS = {
    "holds": "green",
    "holds with changes": "yellow",
    "fails": "bold red",
    "not shown": "magenta",
    "not run": "dim",
}


def format_value(value: Any) -> str:
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


def _rows(table: Any) -> list[Mapping[str, Any]]:
    """Rows of a DataFrame or of a list of dicts."""
    return table.to_dict("records") if hasattr(table, "to_dict") else list(table)


def rich_table(table: Any, *, title: str | None = None, columns: Sequence[str] | None = None) -> Any:
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


def html_table(table: Any, *, columns: Sequence[str] | None = None, caption: str | None = None) -> str:
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


def measured_text(row: Mapping[str, Any]) -> str:
    """The measured value with its interval, as ``0.51 [0.48, 0.54]``."""
    text = format_value(row.get("measured"))
    if row.get("low") is not None and row.get("high") is not None:
        text += f" [{format_value(row['low'])}, {format_value(row['high'])}]"
    return text


def expected_text(row: Mapping[str, Any]) -> str:
    """The expected value with its tolerance, as ``-0.5 ± 0.1``."""
    text = format_value(row.get("expected"))
    if isinstance(row.get("tolerance"), (int, float)):
        text += f" ± {format_value(row['tolerance'])}"
    return text


def claims_table(rows: Sequence[Mapping[str, Any]], *, title: str | None = None) -> Any:
    """Claims with expected and measured values and coloured verdicts, for the terminal.

    Example:
        >>> row = {"id": "X.1", "says": "it falls", "expected": -0.5, "tolerance": 0.1, "measured": -0.48, "verdict": "holds"}
        >>> claims_table([row]).row_count
        1
    """
    from rich.markup import escape as plain
    from rich.table import Table

    beside = any("recorded" in row for row in rows)
    out = Table(title=title, title_justify="left", title_style="bold")
    for name in ("id", "claim", "expected", "measured", "verdict", *(["scale", "recorded"] if beside else [])):
        out.add_column(name, no_wrap=name == "id", ratio=2 if name == "claim" else None)
    for row in rows:
        verdict = str(row["verdict"])
        cells = [
            plain(str(row["id"])),
            plain(str(row["says"])),
            plain(expected_text(row)),
            plain(measured_text(row)),
            f"[{_COLOURS[verdict]}]{verdict}[/]" + (f"\n[dim]{plain(str(row['note']))}[/]" if row.get("note") else ""),
        ]
        if beside:
            mark = " [red]≠[/]" if row.get("disagrees") else ""
            cells += [plain(format_value(row.get("scale"))), plain(format_value(row.get("recorded"))) + mark]
        out.add_row(*cells)
    return out

"""A profile in about 25 lines of text, and as a small piece of HTML with the race as a picture for notebooks."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from markupsafe import Markup

from priorscope.profiles._kind import Kind
from priorscope.profiles._more_data import more_data
from priorscope.profiles._words import ended, head
from priorscope.report import render

if TYPE_CHECKING:
    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row

__all__ = ["KINDS", "as_notebook", "as_text", "cells", "table_lines"]

_WIDTH = 92
_ROWS = 8
_CARE = 2
_NAME = 16  # letters of a name at least

KINDS = {
    Kind.KERNEL: "kernel",
    Kind.NETWORK: "network",
    Kind.CLASSICAL: "classical",
    Kind.AVERAGE: "average",
    Kind.ESTIMATOR: "yours",
}
"""Kinds in a narrow column.

Example:
    >>> KINDS[Kind.NETWORK]
    'network'
"""


def _shown(result: Profile, most: int = _ROWS) -> list[Row]:
    """The first rows, the best of each kind that is not among them, and all that the user brought, in the order of the table."""
    wanted = {row.name for row in result.rows if row.offered}
    wanted |= {row.name for kind in Kind if (row := result.best_of(kind)) is not None}
    for row in result.rows:
        if len(wanted) >= most:
            break
        wanted.add(row.name)
    return [row for row in result.rows if row.name in wanted]


def cells(result: Profile, rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Names of the columns, and what stands in the rows: who, measured how, at the size asked about, told apart or not."""
    metric = result.metric
    columns = ["predictor", "kind", "measured", f"at {result.to:,} rows", "standing"]
    made = []
    for row in rows:
        n, now = row.now
        made.append(
            [
                row.name,
                "yours" if row.offered else KINDS[row.kind],
                f"{metric.number(now.value)} at {n:,}",
                f"{metric.number(row.estimate.value)} ({metric.span(row.estimate)})",
                "guesses" if row.learns is False else row.said,
            ]
        )
    return columns, made


def table_lines(result: Profile, rows: list[Row], width: int = _WIDTH) -> list[str]:
    """The table as lines of text; long names go on in the next line, nothing else is broken."""
    columns, body = cells(result, rows)
    widths = [max(len(line[i]) for line in (columns, *body)) for i in range(len(columns))]
    widths[0] = min(widths[0], max(width - sum(widths[1:]) - 2 * (len(columns) - 1), _NAME))
    lines = []
    for line in (columns, *body):
        first, *more = textwrap.wrap(line[0], widths[0], subsequent_indent="  ") or [""]
        lines.append("  ".join(cell.ljust(w) for cell, w in zip((first, *line[1:]), widths, strict=True)).rstrip())
        lines += more
    return lines


def _left_out(result: Profile, rows: list[Row]) -> str:
    more = len(result.rows) - len(rows)
    return f"… and {more} more: rep.table()" if more else ""


def _title(result: Profile) -> str:
    """What was profiled, and by what it is measured."""
    words = result.metric.words.split(" (")[0].split(", ")[0]
    return f"Profile of {result.data}: {result.task}, {result.n_train:,} rows, by {words}"


def as_text(result: Profile, width: int = _WIDTH, rows: int = _ROWS, cares: int = _CARE, *, python: bool = True) -> str:
    """Write the first sentences, the first rows, what more data would give, what to be careful about and what to do next.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
        >>> rep = ps.profile(x, x[:, 0], candidates=["linear"], budget=2, deep=False)
        >>> max(len(line) for line in as_text(rep, width=72).splitlines()) <= 72
        True
    """
    lines = [*textwrap.wrap(_title(result), width), ""]
    lines += textwrap.wrap(" ".join(head(result)), width)
    shown = _shown(result, rows)
    lines += ["", *table_lines(result, shown, width)]
    lines += [told] if (told := _left_out(result, shown)) else []
    rest = [*more_data(result), *ended(result)]
    lines += ["", *textwrap.wrap(" ".join(rest), width)] if rest else []
    for care in result.warnings[:cares]:
        lines += textwrap.wrap(textwrap.shorten(f"Take care: {care}", 2 * width, placeholder=" …"), width)
    if len(result.warnings) > cares:
        lines.append(f"{len(result.warnings) - cares} more in rep.warnings")
    done = f"{result.cpu_seconds:.0f} s of processor time."
    done += " rep.build().fit(X, y)  rep.code()  rep.to_html('report.html')  rep.table()" if python else ""
    return "\n".join([*lines, "", *textwrap.wrap(done, width)])


def _picture(result: Profile) -> Markup:
    """The race as an inline picture; nothing where it cannot be drawn."""
    import vl_convert as vlc

    from priorscope.profiles._curves_chart import curves
    from priorscope.report import styled

    chart = curves(result, key=True).properties(width=520, height=230)
    return Markup(vlc.vegalite_to_svg(styled(chart, "both"), vl_version=vlc.get_vegalite_versions()[-1]))


def as_notebook(result: Profile) -> str:
    """The same for a notebook, everything escaped, with the race as an inline picture."""
    from priorscope.profiles._page import TEMPLATES

    first, *rest = head(result)
    shown = _shown(result)
    columns, rows = cells(result, shown)
    left = _left_out(result, shown)
    return str(
        render(
            "notebook.html.j2",
            TEMPLATES,
            headline=first,
            lines=[" ".join(rest), " ".join([*more_data(result), *ended(result)])],
            picture=_picture(result),
            columns=columns,
            rows=rows,
            code=result.code(),
            notes=[*([left] if left else []), *(f"Take care: {line}" for line in result.warnings)],
        )
    )

"""A profile in about twenty lines of text, and as a small piece of HTML for notebooks."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from priorscope.profiles._headline import head
from priorscope.profiles._page_sections import need_words
from priorscope.report import render

if TYPE_CHECKING:
    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row

__all__ = ["as_notebook", "as_text"]

_WIDTH = 92
_ROWS = 7
_CARE = 2


def _shown(result: Profile) -> list[Row]:
    """The first rows, and the best of each kind that is not among them."""
    first = list(result.rows[:_ROWS])
    kinds = {row.kind for row in first}
    rest = []
    for row in result.rows[_ROWS:]:
        if row.kind not in kinds:
            rest.append(row)
            kinds.add(row.kind)
    return [*first[: _ROWS - len(rest)], *rest]


def _cells(result: Profile) -> tuple[list[str], list[list[str]]]:
    """Names of the columns and the cells of the rows that are shown."""
    metric = result.metric
    columns = ["predictor", "kind", "measured", f"at {result.to:,} samples", "standing"]
    rows = []
    for row in _shown(result):
        n, now = row.now
        rows.append(
            [
                row.name,
                row.kind.value,
                f"{metric.number(now.value)} at {n:,}",
                f"{metric.number(row.estimate.value)} ({metric.span(row.estimate)})",
                row.standing.value,
            ]
        )
    return columns, rows


def _left_out(result: Profile) -> str:
    more = len(result.rows) - len(_shown(result))
    return f"… and {more} more: rep.table()" if more else ""


def as_text(result: Profile) -> str:
    """The sentence, the first rows, what more data would bring, what to be careful about, and what to do next."""
    looked = f"a pilot of {result.pilot:,}" + (f", drawn {result.draws} times" if result.draws > 1 else "")
    lines = [f"Profile of {result.data}: {result.task}, {result.n_train:,} samples, {looked}", ""]
    lines += textwrap.wrap(" ".join(head(result)), _WIDTH)
    columns, rows = _cells(result)
    widths = [max(len(line[i]) for line in (columns, *rows)) for i in range(len(columns))]
    lines += [
        "",
        *("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in (columns, *rows)),
    ]
    lines += [told] if (told := _left_out(result)) else []
    lines += ["", *textwrap.wrap(" ".join(need_words(result)), _WIDTH)]
    for care in result.warnings[:_CARE]:
        lines.append(textwrap.shorten(f"Take care: {care}", 2 * _WIDTH, placeholder=" …"))
    if len(result.warnings) > _CARE:
        lines.append(f"{len(result.warnings) - _CARE} more in rep.warnings")
    lines += ["", "rep.build().fit(X, y)   rep.code()   rep.to_html('report.html')   rep.table()"]
    return "\n".join(lines)


def as_notebook(result: Profile) -> str:
    """The same for a notebook, everything escaped."""
    from priorscope.profiles._page import TEMPLATES

    first, *rest = head(result)
    columns, rows = _cells(result)
    left = _left_out(result)
    return str(
        render(
            "notebook.html.j2",
            TEMPLATES,
            headline=first,
            lines=[" ".join(rest), *need_words(result)],
            columns=columns,
            rows=rows,
            code=result.code(),
            notes=[*([left] if left else []), *(f"Take care: {line}" for line in result.warnings)],
        )
    )

"""A page of sections: prose, tables, interactive charts and pictures, every text escaped."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import Markup

from priorscope.report._page._document import document, specification
from priorscope.report._page._templates import part, render
from priorscope.report._tables import format_value
from priorscope.report._theme import Spec

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Figure", "Picture", "Section", "folded", "page", "table"]


@dataclass(frozen=True)
class Figure:
    """A chart (Altair) with the words that stand for it where it cannot be seen, and a caption.

    Example:
        >>> Figure("curve", chart=None, alt="a line that falls", caption="error against n").name
        'curve'
    """

    name: str
    chart: alt.TopLevelMixin
    alt: str
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """A small picture (PNG bytes) with alternative text and caption.

    Example:
        >>> Picture(b"", alt="a digit", caption="class 3").caption
        'class 3'
    """

    png: bytes
    alt: str
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """A titled part of the page; ``html`` holds parts already escaped, such as :func:`table`.

    Example:
        >>> Section("forecast", "How the error falls", text=("measured, then forecast",)).id
        'forecast'
    """

    id: str
    title: str
    text: Sequence[str] = ()
    html: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    pictures: Sequence[Picture] = field(default=())


def table(rows: Sequence[Mapping[str, object]], *, caption: str = "") -> str:
    """A scrolling table, cells escaped, numbers kept on one line.

    Example:
        >>> "&lt;b&gt;" in table([{"name": "<b>"}])
        True
    """
    names = [str(name) for name in (rows[0] if rows else ())]
    cells = [[_cell(row.get(name)) for name in (rows[0] if rows else ())] for row in rows]
    return part("table", names, cells, caption)


def _cell(value: object) -> dict[str, object]:
    short = isinstance(value, (int, float)) or (isinstance(value, str) and len(value) < 26)
    return {"text": format_value(value), "short": short}


def folded(summary: str, html: str) -> str:
    """A part that opens when its summary is clicked; ``html`` is already escaped.

    Example:
        >>> str(folded("more <b>", "<p>text</p>"))
        '<details><summary>more &lt;b&gt;</summary><p>text</p></details>'
    """
    return part("folded", summary, Markup(html))


def _section(section: Section, charts: dict[str, Spec]) -> dict[str, object]:
    """What the template needs of one section; its charts are added to ``charts``."""
    figures = []
    for figure in section.figures:
        label = f"chart-{section.id}-{figure.name}"
        charts[label] = specification(figure.chart)
        figures.append({"label": label, "alt": figure.alt, "caption": figure.caption})
    pictures = [{"png": base64.b64encode(p.png).decode(), "alt": p.alt, "caption": p.caption} for p in section.pictures]
    return {**vars(section), "figures": figures, "pictures": pictures}


def page(
    title: str,
    *,
    subtitle: str = "",
    verdict: Sequence[str] = (),
    sure: bool = True,
    warnings: Sequence[str] = (),
    sections: Sequence[Section] = (),
    footer: str = "",
    live: str | None = None,
    ways: Mapping[str, str] | None = None,
) -> str:
    """A whole HTML document: verdict first, then warnings, then the sections; nothing in it needs a network.

    A verdict that is not ``sure`` loses its green.
    ``live`` is a script of a served page, which may ask its own server (and nobody else) for news, ``ways`` names
    other pages of it by their address.

    Example:
        >>> "&lt;script&gt;" in page("<script>", verdict=["it fits"])
        True
    """
    charts: dict[str, Spec] = {}
    made = [_section(section, charts) for section in sections]
    body = render(
        "page.html.j2",
        title=title,
        subtitle=subtitle,
        places={**(ways or {}), **{f"#{s.id}": s.title for s in sections}},
        verdict=verdict,
        sure=sure,
        warnings=warnings,
        sections=made,
        footer=footer,
    )
    return document(title, body, charts=charts, live=live)

"""A page of sections: prose, tables, interactive charts and pictures, every text escaped."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from priorscope.report._page._document import document, specification
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
    names = list(rows[0]) if rows else []
    head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in names)
    body = ""
    for row in rows:
        cells = ""
        for name in names:
            value = row.get(name)
            short = isinstance(value, (int, float)) or (isinstance(value, str) and len(value) < 26)
            cells += f"{'<td class=number>' if short else '<td>'}{escape(format_value(value))}</td>"
        body += f"<tr>{cells}</tr>"
    title = f'<p class="caption">{_text(caption)}</p>' if caption else ""
    return (
        f'{title}<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption or "table")}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _text(line: str) -> str:
    """Escaped, a number and its per cent sign kept on one line."""
    return escape(line).replace(" %", "&nbsp;%")


def folded(summary: str, html: str) -> str:
    """A part that opens when its summary is clicked; ``html`` is already escaped.

    Example:
        >>> folded("more <b>", "<p>text</p>")
        '<details><summary>more &lt;b&gt;</summary><p>text</p></details>'
    """
    return f"<details><summary>{escape(summary)}</summary>{html}</details>"


def _section(section: Section, charts: dict[str, Spec]) -> str:
    """Write the HTML of one section, and add its charts to ``charts``."""
    parts = [f'<section id="{escape(section.id)}"><h2>{escape(section.title)}</h2>']
    parts += [f"<p>{_text(line)}</p>" for line in section.text]
    for figure in section.figures:
        label = f"chart-{section.id}-{figure.name}"
        charts[label] = specification(figure.chart)
        parts.append(
            f'<figure><div class="chart" id="{escape(label)}" role="img" aria-label="{escape(figure.alt)}"></div>'
            f"<figcaption>{_text(figure.caption)}</figcaption></figure>"
        )
    parts += list(section.html)
    if section.pictures:
        shown = "".join(
            f'<figure><img alt="{escape(p.alt)}" src="data:image/png;base64,{base64.b64encode(p.png).decode()}">'
            f"<figcaption>{escape(p.caption)}</figcaption></figure>"
            for p in section.pictures
        )
        parts.append(f'<div class="pictures">{shown}</div>')
    return "".join(parts) + "</section>"


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
    body = "".join(_section(section, charts) for section in sections)
    places = {**(ways or {}), **{f"#{s.id}": s.title for s in sections}}
    links = "".join(f'<li><a href="{escape(to)}">{escape(name)}</a></li>' for to, name in places.items())
    said = "".join(
        f"<p>{'<strong>' if i == 0 else ''}{_text(line)}{'</strong>' if i == 0 else ''}</p>"
        for i, line in enumerate(verdict)
    )
    if said:
        said = f'<div class="verdict{"" if sure else " open"}">{said}</div>'
    careful = "".join(f"<li>{_text(line)}</li>" for line in warnings)
    return document(
        title,
        f'<a class="skip" href="#main">Skip to the result</a><header><h1>{escape(title)}</h1>'
        f'<p class="soft">{escape(subtitle)}</p><nav aria-label="Sections"><ul>{links}</ul></nav></header>'
        f'<main id="main">{said}'
        f"{f'<div class=warnings role=note><b>Take care</b><ul>{careful}</ul></div>' if careful else ''}{body}</main>"
        f"<footer>{escape(footer)}</footer>",
        charts=charts,
        live=live,
    )

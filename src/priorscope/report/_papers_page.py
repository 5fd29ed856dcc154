"""One page of reproduced papers: the verdict of each claim and the chart, in a file that needs no network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from priorscope.report._claims import expected_text, measured_text
from priorscope.report._tables import html_table
from priorscope.report._theme import styled

__all__ = ["papers_page"]

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #8884; vertical-align: top; }
section { margin: 3rem 0; } .source { opacity: .7; } .chart { overflow-x: auto; }
"""


def papers_page(sections: Sequence[Mapping[str, Any]], *, title: str = "Reproduced results") -> str:
    """HTML from sections of ``name``, ``title``, ``source``, ``claims`` (rows of the ledger) and ``chart`` (or None).

    Example:
        >>> claim = {"id": "X.1", "says": "a < b", "verdict": "holds", "measured": 1.0}
        >>> page = papers_page([{"name": "x", "title": "X", "source": "Y", "claims": [claim], "chart": None}])
        >>> "a &lt; b" in page
        True
    """
    body, charts = [], {}
    for number, section in enumerate(sections):
        rows = [
            {
                "id": row["id"],
                "claim": row["says"],
                "expected": expected_text(row),
                "measured": measured_text(row),
                "verdict": row["verdict"],
                "note": row.get("note", ""),
                "command": row.get("command"),
            }
            for row in section["claims"]
        ]
        body.append(f'<section><h2>{escape(section["title"])}</h2><p class="source">{escape(section["source"])}</p>')
        body.append(html_table(rows))
        if section.get("chart") is not None:
            charts[f"chart{number}"] = styled(section["chart"])
            body.append(f'<div class="chart" id="chart{number}"></div>')
        body.append("</section>")
    if not sections:
        body.append("<p>No stored runs yet. Start with <code>priorscope reproduce</code>.</p>")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body><h1>{escape(title)}</h1>{''.join(body)}{_scripts(charts)}</body></html>\n"
    )


def _scripts(charts: Mapping[str, Any]) -> str:
    """The drawing library once, then each chart's data as inert JSON (``<`` escaped, so no text can end the script)."""
    if not charts:
        return ""
    import altair as alt
    import vl_convert as vlc

    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    data = json.dumps(charts).replace("<", "\\u003c")
    bundle = vlc.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version).replace(
        "</script", "<\\/script"
    )
    draw = (
        'const specs = JSON.parse(document.getElementById("charts").textContent);'
        'for (const id in specs) vegaEmbed("#" + id, specs[id], {actions: false, renderer: "svg"});'
    )
    return (
        f'<script type="application/json" id="charts">{data}</script>'
        f'<script type="module">{bundle}</script><script type="module">{draw}</script>'
    )

"""One page of reproduced papers: the verdict of each claim and the chart, in a file that needs no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from priorscope.report._claims import claims_list
from priorscope.report._page import Figure, Section, page

__all__ = ["papers_page"]

PaperSection: TypeAlias = Mapping[str, Any]  # texts, rows of claims and a chart by name


def papers_page(sections: Sequence[PaperSection], *, title: str = "Reproduced results") -> str:
    """HTML from sections of ``name``, ``title``, ``source``, ``claims`` (rows of the ledger) and ``chart`` (or None).

    Example:
        >>> claim = {"id": "X.1", "says": "a < b", "verdict": "holds", "measured": 1.0}
        >>> page = papers_page([{"name": "x", "title": "X", "source": "Y", "claims": [claim], "chart": None}])
        >>> "a &lt; b" in page
        True
    """
    parts = []
    for section in sections:
        figures = []
        chart = section.get("chart")
        if chart is not None:
            figures.append(Figure("result", chart, f"Chart of {section['title']}.", section["title"]))
        parts.append(
            Section(section["name"], section["title"], (section["source"],), (claims_list(section["claims"]),), figures)
        )
    said = () if sections else ("No stored runs yet. Start with priorscope reproduce.",)
    return page(title, verdict=said, sections=parts, footer="priorscope: judged from stored runs.")

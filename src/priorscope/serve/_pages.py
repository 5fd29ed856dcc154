"""What the served pages show: papers and their progress, claims with charts, runs filtered to the row."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from priorscope.report import ClaimRow, Figure, Section, claims_list, page, table
from priorscope.serve._progress import known_paper, progress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from priorscope.lab import Paper, Store

__all__ = ["claims_page", "index_page", "paper_page"]

_ROWS = 500  # rows shown at once; a filter reaches the others

_LIVE = """
const show = (rows) => {
  for (const row of rows) {
    const cell = document.getElementById("runs-" + row.paper);
    if (cell) cell.textContent = row.text;
  }
  const box = document.getElementById("running");
  const running = rows.filter((row) => row.running);
  box.replaceChildren(...(running.length ? running : [null]).map((row) => {
    const line = document.createElement("p");
    if (!row) { line.textContent = "No sweep is running."; return line; }
    const link = document.createElement("a");
    link.href = "paper/" + encodeURIComponent(row.paper);
    link.textContent = row.paper;
    const bar = document.createElement("progress");
    bar.max = row.wanted; bar.value = row.done;
    line.append(link, ` ${row.scale} ${row.done} of ${row.wanted} `, bar, ` last result ${row.ago}`);
    return line;
  }));
};
const refresh = async () => {
  try {
    show(await (await fetch("progress.json")).json());
    document.documentElement.dataset.live = "yes";
  } catch (error) { document.documentElement.dataset.live = "no"; }
};
refresh(); setInterval(refresh, 2000);
"""


def _title(name: str) -> str:
    paper = known_paper(name)
    return "" if paper is None else str(paper.title)


def _ledger() -> list[ClaimRow]:
    from priorscope.lab import read_ledger

    rows = [record.as_json() for record in read_ledger().values()]
    return [{**row, "judged_from": None if row["verdict"] == "not run" else "ledger"} for row in rows]


def _recorded() -> dict[str, str]:
    """For each paper of the ledger: how many claims have which verdict, in words."""
    from priorscope.report import claims_summary

    by_paper: dict[str, list[ClaimRow]] = {}
    for row in _ledger():
        if row.get("paper"):
            by_paper.setdefault(str(row["paper"]), []).append(row)
    return {name: claims_summary(rows).partition(": ")[2] for name, rows in by_paper.items()}


def index_page(runs: Store) -> str:
    """All papers with the state of their sweeps, kept fresh every two seconds."""
    recorded = _recorded()
    rows = "".join(
        f'<tr><td class=number><a href="paper/{quote(row["paper"], safe="")}">{escape(row["paper"])}</a></td>'
        f'<td id="runs-{escape(row["paper"])}">{escape(row["text"])}</td>'
        f"<td>{escape(_title(row['paper']))}</td>"
        f"<td>{escape(recorded.get(row['paper'], ''))}</td></tr>"
        for row in progress(runs)
    )
    html = (
        '<div class="scroll" tabindex="0" role="region" aria-label="Papers"><table><thead><tr><th scope="col">paper</th>'
        '<th scope="col">stored runs</th><th scope="col">what it shows</th><th scope="col">recorded verdicts</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    return page(
        "Papers and runs",
        subtitle="Read-only view of the store; this page follows sweeps in progress.",
        sections=[
            Section("sweeps", "Sweeps in progress", (), ('<div id="running" aria-live="polite"></div>',)),
            Section("papers", "Papers", (), (html,)),
        ],
        live=_LIVE,
        ways={"claims": "All claims"},
    )


def _matches(row: Mapping[str, object], query: str) -> bool:
    """Whether a row fits every word of the query: ``column=value`` exactly, other words anywhere in a cell."""
    for word in query.split():
        name, equals, value = word.partition("=")
        if equals and name in row:
            if str(row[name]).lower() != value.lower():
                return False
        elif not any(word.lower() in str(v).lower() for v in row.values()):
            return False
    return True


def _form(query: str, example: str) -> str:
    return (
        f'<form method="get" role="search"><label>Rows that contain <input name="q" value="{escape(query)}" '
        f'placeholder="{escape(example)}"></label> <button>Filter</button></form>'
    )


def claims_page(query: str = "") -> str:
    """Every recorded claim with its verdict; ``query`` keeps some."""
    from priorscope.report import claims_summary

    every = _ledger()
    kept = [row for row in every if _matches(row, query)]
    papers = dict.fromkeys(str(row["paper"]) for row in kept if row.get("paper"))
    parts = []
    for name in papers:
        rows = [row for row in kept if row.get("paper") == name]
        link = f'<p><a href="paper/{quote(name, safe="")}">Chart and runs of {escape(name)}</a></p>'
        parts.append(Section(name, _title(name) or name, (), (link, claims_list(rows))))
    told = f"{len(kept)} of {claims_summary(every)}." if every else "Nothing is recorded yet."
    head = Section("find", "Claims", (told,), (_form(query, "verdict=fails"),))
    about, ways = "From the record of reproduced claims.", {"./": "All papers"}
    return page("Claims and verdicts", subtitle=about, sections=[head, *parts], live="", ways=ways)


def _scale_of(paper: Paper, runs: Store) -> str | None:
    there = runs.keys(paper.name, paper.version)
    complete = [s for s in paper.scales if all(paper.key(point) in there for point in paper.points(s))]
    return complete[-1] if complete else None


def paper_page(runs: Store, name: str, query: str = "") -> str:
    """One paper: claims, chart, and its runs; ``query`` keeps the rows that fit every word of it."""
    from priorscope.lab import judge_paper

    paper = known_paper(name)
    if name not in runs.papers() and paper is None:
        raise LookupError(f"no paper {name!r} in this store")
    sections = []
    if paper is not None:
        scale, text = _scale_of(paper, runs), [paper.source]
        judged = [record.as_json() for record in judge_paper(paper, runs)]
        figures = []
        if scale is not None and paper.chart is not None:
            chart = paper.chart(runs.table(paper, scale))
            figures.append(Figure("result", chart, f"Chart of {paper.title} at scale {scale}.", f"Scale {scale}."))
        else:
            text.append("No scale is complete yet; the chart follows when one is.")
        sections.append(Section("claims", "Claims", text, (claims_list(judged),), figures))
    rows = runs.table(name).to_dict("records")
    plain = [{str(k): v for k, v in r.items() if not (isinstance(v, np.ndarray) and v.ndim)} for r in rows]
    kept = [r for r in plain if _matches(r, query)]
    text = [f"{len(kept)} of {len(rows)} runs" + (f"; the first {_ROWS} are shown" if len(kept) > _ROWS else "")]
    form = _form(query, "seed=0")
    sections.append(Section("runs", "Runs", text, (form, table(kept[:_ROWS], caption="Stored runs, without arrays"))))
    title = name if paper is None else paper.title
    ways = {"../": "All papers", "../claims": "All claims"}
    return page(title, subtitle=f"paper {name}", sections=sections, live="", ways=ways)

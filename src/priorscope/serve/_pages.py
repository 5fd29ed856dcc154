"""What the served pages show: papers and their progress, claims with charts, runs filtered to the row."""

from __future__ import annotations

from html import escape
from typing import Any
from urllib.parse import quote

from priorscope.report._page import Figure, Section, page, table

__all__ = ["index_page", "paper_page", "progress"]

_ROWS = 500  # rows shown at once; a filter reaches the others

_BACK = '<p><a href="../">All papers</a></p>'

_LIVE = """
const refresh = async () => {
  try {
    for (const row of await (await fetch("progress.json")).json()) {
      const cell = document.getElementById("runs-" + row.paper);
      if (cell) cell.textContent = row.text;
    }
    document.documentElement.dataset.live = "yes";
  } catch (error) { document.documentElement.dataset.live = "no"; }
};
refresh(); setInterval(refresh, 2000);
"""


def _paper(name: str) -> Any:
    from priorscope.papers import REGISTRY, load

    return load(name) if name in REGISTRY else None


def progress(runs: Any) -> list[dict[str, Any]]:
    """For each paper: stored runs, failures, and the share of each scale that is there."""
    from priorscope.lab import SCALES
    from priorscope.papers import REGISTRY

    stored = runs.papers()
    rows = []
    for name in sorted({*stored, *REGISTRY}):
        count = len(runs.keys(name, stored[name])) if name in stored else 0
        parts = []
        if count and name in REGISTRY:
            paper = _paper(name)
            there = runs.keys(name, paper.version)
            for scale in SCALES:
                wanted = {paper.key(point) for point in paper.points(scale)}
                if wanted & there:
                    parts.append(f"{scale} {len(wanted & there)}/{len(wanted)}")
        failed = len(runs.failures(name)) if count else 0
        text = f"{count} runs" + (f" ({', '.join(parts)})" if parts else "") + (f", {failed} failed" if failed else "")
        rows.append({"paper": name, "runs": count, "failed": failed, "text": text})
    return rows


def _title(name: str) -> str:
    paper = _paper(name)
    return "" if paper is None else str(paper.title)


def _recorded() -> dict[str, str]:
    """For each paper of the ledger: how many claims have which verdict, in words."""
    from priorscope.lab import read_ledger
    from priorscope.report import claims_summary

    by_paper: dict[str, list[dict[str, Any]]] = {}
    for record in read_ledger().values():
        if record.paper is not None:
            by_paper.setdefault(record.paper, []).append(record.as_json())
    return {name: claims_summary(rows).partition(": ")[2] for name, rows in by_paper.items()}


def index_page(runs: Any) -> str:
    """All papers with the state of their sweeps, kept fresh every two seconds."""
    recorded = _recorded()
    rows = "".join(
        f'<tr><td class=number><a href="paper/{quote(row["paper"], safe="")}">{escape(row["paper"])}</a></td>'
        f"<td>{escape(_title(row['paper']))}</td>"
        f'<td id="runs-{escape(row["paper"])}">{escape(row["text"])}</td>'
        f"<td>{escape(recorded.get(row['paper'], ''))}</td></tr>"
        for row in progress(runs)
    )
    html = (
        '<div class="scroll" tabindex="0" role="region" aria-label="Papers"><table><thead><tr><th scope="col">paper</th>'
        '<th scope="col">what it shows</th><th scope="col">stored runs</th><th scope="col">recorded verdicts</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    return page(
        "Papers and runs",
        subtitle="Read-only view of the store; counts follow sweeps in progress.",
        sections=[Section("papers", "Papers", (), (html,))],
        live=_LIVE,
    )


def _claims(paper: Any, runs: Any) -> str:
    from priorscope.lab import judge_paper
    from priorscope.report._claims import expected_text, measured_text

    rows = []
    for record in judge_paper(paper, runs):
        row = record.as_json()
        rows.append(
            {
                "id": row["id"],
                "verdict": row["verdict"],
                "measured": measured_text(row),
                "expected": expected_text(row),
                "claim": row["says"],
                "note": row.get("note") or "",
                "scale": row.get("scale") or "",
                "command": row.get("command") or "",
            }
        )
    return table(rows, caption="Claims, judged from the stored runs")


def _scale_of(paper: Any, runs: Any) -> str | None:
    from priorscope.lab import SCALES

    there = runs.keys(paper.name, paper.version)
    complete = [s for s in SCALES if all(paper.key(point) in there for point in paper.points(s))]
    return complete[-1] if complete else None


def paper_page(runs: Any, name: str, query: str = "") -> str:
    """One paper: claims, chart, and its runs; ``query`` keeps the rows in which some cell contains it."""
    if name not in runs.papers() and _paper(name) is None:
        raise LookupError(f"no paper {name!r} in this store")
    paper = _paper(name)
    sections = []
    if paper is not None:
        scale = _scale_of(paper, runs)
        figures = []
        if scale is not None and paper.chart is not None:
            chart = paper.chart(runs.table(paper, scale))
            figures.append(Figure("result", chart, f"Chart of {paper.title} at scale {scale}.", f"Scale {scale}."))
        sections.append(Section("claims", "Claims", (paper.source,), (_BACK, _claims(paper, runs)), figures))
    rows = runs.table(name).to_dict("records")
    kept = [r for r in rows if not query or any(query.lower() in str(v).lower() for v in r.values())]
    form = (
        f'<form method="get" role="search"><label>Rows that contain <input name="q" value="{escape(query)}"></label> '
        "<button>Filter</button></form>"
    )
    shown = [
        {k: v for k, v in r.items() if not hasattr(v, "shape") or getattr(v, "shape", ()) == ()} for r in kept[:_ROWS]
    ]
    text = f"{len(kept)} of {len(rows)} runs" + (f"; the first {_ROWS} are shown" if len(kept) > _ROWS else "")
    sections.append(Section("runs", "Runs", (text,), (form, table(shown, caption="Stored runs"))))
    return page(name if paper is None else paper.title, subtitle=f"paper {name}", sections=sections, live="")

"""``priorscope report``: a page of every reproduced paper in the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priorscope.cli._options import JsonOption, StoreOption, open_store, print_json
from priorscope.writing import write_whole

if TYPE_CHECKING:
    from priorscope.lab import Store
    from priorscope.report import PaperSection

__all__ = ["report"]


def report(
    out: Annotated[Path, typer.Option("--out", help="The page to write.")] = Path("report") / "papers.html",
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Write one page with the verdicts and the chart of every paper that has stored runs.

    The page is a single file that needs no network. Run papers first:  priorscope reproduce NAME
    """
    from priorscope.report import papers_page

    runs = open_store(store)
    sections = _sections(runs) if runs is not None else []
    if not sections:
        raise ValueError("there are no stored runs to report; run `priorscope reproduce NAME --scale small` first.")
    write_whole(out, papers_page(sections))
    names = [section["name"] for section in sections]
    if json:
        print_json({"file": str(out), "papers": names})
    else:
        typer.echo(f"wrote {out}: {', '.join(names)}")


def _sections(runs: Store) -> list[PaperSection]:
    """A section for each paper with a complete set of runs, at the largest scale that is complete."""
    from priorscope.lab import judge_paper
    from priorscope.papers import REGISTRY, load

    sections: list[PaperSection] = []
    for name in runs.papers():
        if name not in REGISTRY:
            continue
        paper = load(name)
        there = runs.keys(name, paper.version)
        for scale in reversed(paper.scales):
            if all(paper.key(point) in there for point in paper.points(scale)):
                table = runs.table(paper, scale)
                sections.append(
                    {
                        "name": name,
                        "title": f"{paper.title} ({scale})",
                        "source": paper.source,
                        "claims": [record.as_json() for record in judge_paper(paper, runs, scale)],
                        "chart": paper.chart(table) if paper.chart is not None else None,
                    }
                )
                break
    return sections

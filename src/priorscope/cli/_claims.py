"""``priorscope claims``: every claim, what was measured, and the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from priorscope.cli._options import JsonOption, StoreOption, complete_paper, open_store, print_json

__all__ = ["claims"]


def claims(
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER|ID]",
            help="Only this paper, or the claims whose id is or begins with this.",
            autocompletion=complete_paper,
        ),
    ] = None,
    paper: Annotated[
        str | None, typer.Option("--paper", help="Only the claims of this paper.", autocompletion=complete_paper)
    ] = None,
    long: Annotated[bool, typer.Option("--long", "-l", help="All that is known of each claim.")] = False,
    json: JsonOption = False,
    record: Annotated[
        bool, typer.Option("--record", help="Write the verdicts of the stored runs into the ledger.")
    ] = False,
    scale: Annotated[str | None, typer.Option("--scale", help="Judge runs of this scale: small or paper.")] = None,
    store: StoreOption = None,
    ledger: Annotated[Path | None, typer.Option("--ledger", help="The ledger. Default: claims/ledger.json.")] = None,
) -> None:
    """List every claim, a line each by paper: id, verdict, measured value, the claim.

    Verdicts come from stored runs at scale small or above only; where nothing ran here, the recorded ones of the ledger are
    shown. [red]≠[/red] marks a claim on which your own runs disagree with the ledger.

    Examples:  priorscope claims   |   priorscope claims jamming --long   |   priorscope claims S0.4
    """
    from priorscope.lab import judge_paper, read_ledger, record_ledger
    from priorscope.lab._ledger import natural_order
    from priorscope.papers import REGISTRY, load, load_all, unclaimed

    if scale not in (None, "small", "paper"):
        raise ValueError(f"verdicts are judged at scale small or paper; got {scale!r}.")
    if which is not None and paper is not None:
        raise ValueError(f"give the paper once: as {which!r} or as --paper {paper}.")
    if which in REGISTRY:
        which, paper = None, which
    if record and (paper is not None or which is not None):
        raise ValueError("--record writes the whole ledger; leave --paper away.")
    papers = [load(paper)] if paper is not None else load_all()
    others = [] if paper is not None else unclaimed(papers)
    if which is not None:
        papers, others = _with_id(papers, which), [line for line in others if _matches(line.id, which)]
        if not papers and not others:
            raise ValueError(
                f"no paper and no claim {which!r}; papers are {', '.join(REGISTRY)}, ids look like S0.4 or J.2."
            )
    runs = open_store(store)
    records = [line for each in papers for line in judge_paper(each, runs, scale)] + others
    if which is not None:
        records = [line for line in records if _matches(line.id, which)]
    records.sort(key=lambda line: natural_order(line.id))
    if record:
        file = record_ledger(records, ledger)
        typer.echo(f"wrote {file}", err=True)
    recorded = read_ledger(ledger)
    rows = [_beside(line, recorded.get(line.id)) for line in records]
    if json:
        print_json(rows)
        return
    _show(rows, {each.name: each.title for each in papers}, long or (which is not None and len(rows) <= 3))
    differ = [row["id"] for row in rows if row["disagrees"]]
    if differ:
        typer.echo(f"your runs and the ledger disagree on: {', '.join(differ)}", err=True)


def _matches(name: str, which: str) -> bool:
    """S0.4 is S0.4 and S0.4a, never S0.40; S0 and S0. are all of that series."""
    rest = name.lower().removeprefix(which.lower())
    return name.lower().startswith(which.lower()) and not (rest[:1].isdigit() and which[-1:].isdigit())


def _with_id(papers: list[Any], which: str) -> list[Any]:
    return [paper for paper in papers if any(_matches(claim.id, which) for claim in paper.claims)]


def _show(rows: list[dict[str, Any]], titles: dict[str, str], long: bool) -> None:
    """Claims by paper, in the order in which papers first appear; then how many there are of each verdict."""
    from rich.console import Console

    from priorscope.report import claims_long, claims_summary, claims_table

    console = Console()
    for name in dict.fromkeys(row["paper"] for row in rows):
        mine = [row for row in rows if row["paper"] == name]
        title = "no paper of the library yet" if name is None else f"{name}: {titles.get(name, name)}"
        if long:
            console.print(title, style="bold underline", markup=False, highlight=False)
            console.print(claims_long(mine))
        else:
            console.print(claims_table(mine, title=title))
            console.print()
    hint = "" if long else ". One in full: priorscope claims ID; all: --long"
    console.print(f"{claims_summary(rows)}{hint}", highlight=False)


def _beside(line: Any, recorded: Any) -> dict[str, Any]:
    """A claim's record with the ledger's verdict beside it; shown values are the ledger's where nothing ran here."""
    row = line.as_json()
    recorded = None if recorded is not None and recorded.outdated_by(line) else recorded
    row["local"] = line.verdict
    row["recorded"] = recorded.verdict if recorded is not None else "not run"
    row["disagrees"] = "not run" not in (row["local"], row["recorded"]) and row["local"] != row["recorded"]
    if line.verdict == "not run" and recorded is not None and recorded.verdict != "not run":
        measured = ("measured", "low", "high", "verdict", "scale", "note", "commit", "seconds", "seeds")
        row |= {name: value for name, value in recorded.as_json().items() if name in (*measured, "checks")}
    return row

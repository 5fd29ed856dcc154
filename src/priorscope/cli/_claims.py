"""``priorscope claims``: every claim, what was measured, and the verdict."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from priorscope.cli._options import JsonOption, StoreOption, complete_paper, open_store, print_json

__all__ = ["claims"]


def claims(
    paper: Annotated[
        str | None, typer.Option("--paper", help="Only the claims of this paper.", autocompletion=complete_paper)
    ] = None,
    json: JsonOption = False,
    record: Annotated[
        bool, typer.Option("--record", help="Write the verdicts of the stored runs into the ledger.")
    ] = False,
    scale: Annotated[str | None, typer.Option("--scale", help="Judge runs of this scale: small or paper.")] = None,
    store: StoreOption = None,
    ledger: Annotated[Path | None, typer.Option("--ledger", help="The ledger. Default: claims/ledger.json.")] = None,
) -> None:
    """List every claim with its expected and measured value and its verdict.

    Verdicts come from stored runs at scale small or above only. The last column is the recorded verdict of the ledger;
    [red]≠[/red] marks a claim on which your own runs disagree with it.

    Examples:  priorscope claims --paper sphere-spectrum   |   priorscope claims --json
    """
    from priorscope.lab import judge_paper, read_ledger, record_ledger
    from priorscope.lab._ledger import natural_order
    from priorscope.papers import load, load_all, unclaimed

    if scale not in (None, "small", "paper"):
        raise ValueError(f"verdicts are judged at scale small or paper; got {scale!r}.")
    if record and paper is not None:
        raise ValueError("--record writes the whole ledger; leave --paper away.")
    papers = [load(paper)] if paper is not None else load_all()
    runs = open_store(store)
    records = [line for each in papers for line in judge_paper(each, runs, scale)]
    if paper is None:
        records += unclaimed(papers)
    records.sort(key=lambda line: natural_order(line.id))
    if record:
        file = record_ledger(records, ledger)
        typer.echo(f"wrote {file}", err=True)
    recorded = read_ledger(ledger)
    rows = [_beside(line, recorded.get(line.id)) for line in records]
    if json:
        print_json(rows)
        return
    from rich.console import Console

    from priorscope.report import claims_table

    Console().print(claims_table(rows))
    differ = [row["id"] for row in rows if row["disagrees"]]
    if differ:
        typer.echo(f"your runs and the ledger disagree on: {', '.join(differ)}", err=True)


def _beside(line: Any, recorded: Any) -> dict[str, Any]:
    """A claim's record with the ledger's verdict beside it; shown values are the ledger's where nothing ran here."""
    row = line.as_json()
    row["local"] = line.verdict
    row["recorded"] = recorded.verdict if recorded is not None else "not run"
    row["disagrees"] = "not run" not in (row["local"], row["recorded"]) and row["local"] != row["recorded"]
    if line.verdict == "not run" and recorded is not None and recorded.verdict != "not run":
        measured = ("measured", "low", "high", "verdict", "scale", "note", "commit", "seconds", "seeds")
        row |= {name: value for name, value in dataclasses.asdict(recorded).items() if name in measured}
    return row

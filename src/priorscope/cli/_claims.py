"""``priorscope claims``: every claim, what was measured, and the verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from priorscope.cli._options import JsonOption, StoreOption, complete_paper, open_store, print_json

if TYPE_CHECKING:
    from priorscope.lab import Paper, Record, Store
    from priorscope.report import ClaimRow

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
    findings: Annotated[
        bool, typer.Option("--findings", help="Only claims in whose place something else was found, in full.")
    ] = False,
    json: JsonOption = False,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Write the tables of stored runs (unfinished sweeps apart), and the verdicts into the ledger.",
        ),
    ] = False,
    rejudge: Annotated[
        bool, typer.Option("--rejudge", help="Judge the tables of runs kept beside the ledger, not the store.")
    ] = False,
    scale: Annotated[str | None, typer.Option("--scale", help="Judge runs of this scale: small or paper.")] = None,
    store: StoreOption = None,
    ledger: Annotated[Path | None, typer.Option("--ledger", help="The ledger. Default: claims/ledger.json.")] = None,
) -> None:
    """List every claim, one line per claim, by paper: id, verdict, measured value, the claim.

    Verdicts come from stored runs at scale small or above only; where nothing ran here, the recorded ones of the ledger are
    shown, as long as the claim has not changed since. [red]≠[/red] marks a claim on which your own runs disagree with the ledger.
    The runs behind the ledger are tables in claims/runs: --rejudge judges them again, and ends with code 1 if a verdict differs.

    Examples:  priorscope claims   |   priorscope claims jamming --long   |   priorscope claims S0.4
               priorscope claims --findings
    """
    from priorscope.lab import (
        judge_evidence,
        judge_paper,
        keep_unfinished,
        natural_order,
        read_ledger,
        record_ledger,
        runs_folder,
    )
    from priorscope.papers import REGISTRY, load, load_all

    if scale not in (None, "small", "overnight", "paper"):
        raise ValueError(f"verdicts are judged at scale small, overnight or paper; got {scale!r}.")
    if which is not None and paper is not None:
        raise ValueError(f"give the paper once: as {which!r} or as --paper {paper}.")
    if which in REGISTRY:
        which, paper = None, which
    if record and (paper is not None or which is not None):
        raise ValueError("--record writes the whole ledger; leave --paper away.")
    papers = [load(paper)] if paper is not None else load_all()
    if which is not None:
        papers = _with_id(papers, which)
        if not papers:
            raise ValueError(
                f"no paper and no claim {which!r}; papers are {', '.join(REGISTRY)}, ids look like S0.4 or J.2."
            )
    tables = runs_folder(ledger)
    if rejudge:
        if record:
            _tell(keep_unfinished(each, None, tables) for each in papers)
        judged = [line for each in papers for line in judge_evidence(each, tables)]
    else:
        runs = open_store(store)
        if record:
            judged = [line for each in papers for line in _write_and_judge(each, runs, scale, tables)]
        else:
            judged = [line for each in papers for line in judge_paper(each, runs, scale)]
    records = [line for line in judged if which is None or _matches(line.id, which)]
    records.sort(key=lambda line: natural_order(line.id))
    if record:
        file = record_ledger(records, ledger)
        _remove_others(tables, [each.name for each in papers])
        typer.echo(f"wrote {file}", err=True)
    recorded = read_ledger(ledger)
    rows = [_beside(line, recorded.get(line.id), rejudge) for line in records if line.finding or not findings]
    if json:
        print_json(rows)
    else:
        _show(
            rows, {each.name: each.title for each in papers}, long or findings or (which is not None and len(rows) <= 3)
        )
    differ = [row["id"] for row in rows if row["disagrees"]]
    if differ:
        whose = "the tables of runs" if rejudge else "your runs"
        typer.echo(f"{whose} and the ledger disagree on: {', '.join(differ)}", err=True)
    if rejudge:
        raise typer.Exit(1 if differ else 0)


def _write_and_judge(paper: Paper, runs: Store | None, scale: str | None, tables: Path) -> list[Record]:
    """Verdicts from the table of a paper's runs, written first when the store has a complete set of its own.

    Runs of a sweep that is not complete are kept in ``tables/unfinished``.
    Complete runs at the published sizes in the tables are not replaced by small ones, unless ``scale`` asks for it.
    Where the table lacks a long array that a measure needs, the verdict is that of the store, without evidence.
    """
    from priorscope.lab import (
        complete_scale,
        judge_evidence,
        judge_paper,
        keep_unfinished,
        read_evidence,
        write_evidence,
    )

    complete, _ = complete_scale(paper, runs, scale)
    kept = read_evidence(paper.name, tables)
    order = paper.scales.index
    larger = kept is not None and kept.version == paper.version and complete and order(kept.scale) > order(complete)
    if runs is None or complete is None or (larger and scale is None):
        _tell([keep_unfinished(paper, runs, tables)])
        return judge_evidence(paper, tables)
    write_evidence(paper, runs, complete, tables)
    _tell([keep_unfinished(paper, runs, tables)])
    full = {line.id: line for line in judge_paper(paper, runs, complete)}
    return [full[line.id] if line.raised else line for line in judge_evidence(paper, tables)]


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        if line:
            typer.echo(line, err=True)


def _remove_others(tables: Path, names: list[str]) -> None:
    """Tables of papers that are no more leave with their claims."""
    for file in tables.rglob("*.jsonl"):
        if file.stem not in names:
            file.unlink()


def _matches(name: str, which: str) -> bool:
    """S0.4 is S0.4 and S0.4a, never S0.40; S0 and S0. are all of that series."""
    rest = name.lower().removeprefix(which.lower())
    return name.lower().startswith(which.lower()) and not (rest[:1].isdigit() and which[-1:].isdigit())


def _with_id(papers: list[Paper], which: str) -> list[Paper]:
    return [paper for paper in papers if any(_matches(claim.id, which) for claim in paper.claims)]


def _show(rows: Sequence[ClaimRow], titles: dict[str, str], long: bool) -> None:
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


def _beside(line: Record, recorded: Record | None, rejudge: bool = False) -> dict[str, Any]:
    """A claim's record with the ledger's verdict beside it; what is shown is the ledger's where nothing ran here."""
    from priorscope.lab import standing

    shown = standing(line, recorded)
    if shown.verdict == "not run" and recorded is not None and recorded.version == shown.version:
        shown = dataclasses.replace(shown, progress=shown.progress or recorded.progress)
    row = shown.as_json()
    row["local"] = line.verdict
    stands = recorded is not None and not recorded.stale_beside(line)
    row["recorded"] = recorded.verdict if recorded is not None and stands else "not run"
    if rejudge:  # what the ledger says with evidence, the tables must say
        row["disagrees"] = recorded is not None and bool(recorded.evidence) and line.verdict != recorded.verdict
    else:
        row["disagrees"] = "not run" not in (row["local"], row["recorded"]) and row["local"] != row["recorded"]
    row["judged_from"] = None if shown.verdict == "not run" else "ledger" if line.verdict == "not run" else "runs"
    return row

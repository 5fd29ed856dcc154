"""``priorscope reproduce``: run a published experiment here and judge its claims."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priorscope.cli._options import JsonOption, StoreOption, complete_paper, print_json

if TYPE_CHECKING:
    import pandas as pd

    from priorscope.lab import Paper, Store, SweepSummary
    from priorscope.report import ClaimRow

__all__ = ["reproduce"]


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            help="The paper, or one of your own as package.module:PAPER; without it, a list of papers.",
            autocompletion=complete_paper,
        ),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            "--scale", help="tiny (seconds, no verdicts), small (minutes), overnight, paper (published sizes)."
        ),
    ] = "small",
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Local processes. Default: the cores at hand.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="Address of a Dask scheduler, as in tcp://host:8786.")
    ] = None,
    store: StoreOption = None,
    retries: Annotated[int, typer.Option("--retries", help="More attempts for a point that fails.")] = 1,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run every point here: take up no runs of an unfinished sweep elsewhere.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", help="Folder for the chart.")] = Path("report"),
    chart: Annotated[bool, typer.Option("--chart/--no-chart", help="Write the chart as HTML and PNG.")] = True,
    queue: Annotated[
        bool,
        typer.Option("--queue", help="Run all papers whose runs are not complete, most claims per CPU minute first."),
    ] = False,
    minutes: Annotated[
        float | None, typer.Option("--minutes", help="Stop the queue after so long; 0 only lists what waits.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run a published experiment and say which of its claims hold here.

    Every result is stored as it comes: stop with Ctrl-C, or lose the machine, and the same command goes on. Runs that another
    machine left unfinished in claims/runs/unfinished are taken up first, and told; so are recorded runs of a grid that has grown.

    Examples:  priorscope reproduce sphere-spectrum --scale tiny   |   priorscope reproduce mine.py:PAPER -j 8
               priorscope reproduce --queue --minutes 60   |   priorscope reproduce --queue --minutes 0
    """
    from priorscope.lab import Store, dask_executor, judge_paper, sweep
    from priorscope.papers import REGISTRY, load

    if minutes is not None and not queue:
        raise ValueError("--minutes is for the queue; give --queue too.")
    if queue:
        _work_off(name, scale, store, minutes, json)
        return
    if name is None:
        _list_papers(json)
        return
    if cluster is not None and jobs is not None:
        raise ValueError("--jobs is for local processes; a cluster brings its own workers: give one of the two.")
    paper = load(name)
    points = paper.points(scale)
    with Store(store) as runs, contextlib.ExitStack() as stack:
        if scale != "tiny" and name in REGISTRY and not fresh:
            _take_up(paper, runs, scale)
        executor = stack.enter_context(dask_executor(cluster)) if cluster is not None else None
        try:
            with _interruptible():
                summary = sweep(paper, points, runs, executor, scale=scale, jobs=jobs, retries=retries)
        except (
            KeyboardInterrupt
        ) as stop:  # Interrupted says what is stored; before its first point a sweep has nothing to say
            typer.echo(str(stop) or "stopped; nothing was lost. Run the same command to start again.", err=True)
            raise typer.Exit(130) from None
        records = [record.as_json() for record in judge_paper(paper, runs, scale)]
        files = _write_chart(paper, runs.table(paper, scale), out) if chart and summary.complete else []
        failures = runs.failures(paper.name) if not summary.complete else None
    if json:
        print_json({"paper": name, "scale": scale, "claims": records, "files": files, **_counts(summary)})
    else:
        _print(paper, scale, records, files, summary)
    if failures is not None:
        last = failures["traceback"].iloc[-1].strip().splitlines()[-1]
        typer.echo(
            f"{summary.failed} of {len(points)} points failed after {retries + 1} attempts; the last said: {last}\n"
            "The others are stored. Mend the cause and run the same command to go on.",
            err=True,
        )
        raise typer.Exit(1)


def _work_off(name: str | None, scale: str, store: Path | None, minutes: float | None, json: bool) -> None:
    """Work off the queue of all papers (or of one), say what runs, and list what is left with its cost."""
    import dataclasses
    import os

    from rich.console import Console

    from priorscope.lab import Store, Waiting, runs_folder, waiting, work_off
    from priorscope.papers import REGISTRY, load, load_all
    from priorscope.report import rich_table

    def tell(line: Waiting) -> None:
        cost = "cost not known" if line.seconds is None else f"about {line.seconds / 60:.1f} CPU minutes left"
        typer.echo(f"{line.paper}: {line.of - line.missing} of {line.of} points, {cost}", err=True)

    papers = load_all() if name is None else [load(name)]
    with Store(store) as runs:
        for paper in papers:
            if scale != "tiny" and paper.name in REGISTRY and minutes != 0:
                _take_up(paper, runs, scale)
        if minutes == 0:
            left = waiting(papers, runs, runs_folder(), scale)
        else:
            os.nice(10)
            seconds = None if minutes is None else 60 * minutes
            try:
                with _interruptible():
                    left = work_off(papers, runs, runs_folder(), scale=scale, seconds=seconds, told=tell)
            except KeyboardInterrupt as stop:
                typer.echo(str(stop) or "stopped; nothing was lost. Run the same command to go on.", err=True)
                raise typer.Exit(130) from None
    if json:
        print_json([dataclasses.asdict(line) for line in left])
        return
    rows = [
        {
            "paper": line.paper,
            "claims": line.claims,
            "points missing": f"{line.missing} of {line.of}",
            "CPU minutes": "not known" if line.seconds is None else f"{line.seconds / 60:.1f}",
        }
        for line in left
    ]
    Console().print(rich_table(rows, title="In the queue") if rows else "nothing waits: every paper is complete")


def _take_up(paper: Paper, runs: Store, scale: str) -> None:
    """Go on from the recorded runs of a grid that has grown, and from those that an unfinished sweep left beside the ledger."""
    from priorscope.lab import read_runs, runs_folder, take_up, take_up_evidence, unfinished_file

    recorded = take_up_evidence(paper, runs, scale, runs_folder())
    if recorded:
        typer.echo(f"{recorded} recorded runs taken: the grid has grown since", err=True)

    file = unfinished_file(paper.name, runs_folder())
    if not file.exists():
        return
    try:
        found = read_runs(file)
    except ValueError as error:
        raise ValueError(f"{error} --fresh runs every point here.") from error
    done = take_up(found, paper, runs)
    if done.taken or done.strangers:
        typer.echo(f"{file}: {done}", err=True)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt, which a sweep answers by storing what is finished."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _counts(summary: SweepSummary) -> dict[str, float]:
    return {"ran": summary.ran, "skipped": summary.skipped, "failed": summary.failed, "seconds": summary.seconds}


def _list_papers(json: bool) -> None:
    """Print every paper with its source and its numbers of claims and points."""
    from rich.console import Console

    from priorscope.papers import load_all
    from priorscope.report import rich_table

    rows = [
        {
            "name": p.name,
            "title": p.title,
            "source": p.source,
            "claims": len(p.claims),
            "points": len(p.points("small")),
        }
        for p in load_all()
    ]
    if json:
        print_json(rows)
    else:
        Console().print(rich_table(rows, title="Papers: priorscope reproduce NAME"))


def _write_chart(paper: Paper, table: pd.DataFrame, out: Path) -> list[str]:
    """The paper's chart as HTML and PNG in ``out``; gives the paths."""
    if paper.chart is None:
        return []
    from priorscope.report import save_chart

    figure = paper.chart(table)
    return [str(save_chart(figure, out / f"{paper.name}.{suffix}")) for suffix in ("html", "png")]


def _print(paper: Paper, scale: str, records: Sequence[ClaimRow], files: list[str], summary: SweepSummary) -> None:
    from rich.console import Console

    from priorscope.report import claims_long

    console = Console()
    console.print(f"{paper.title} · scale {scale}", style="bold", markup=False, highlight=False)
    console.print(claims_long(records))
    if scale == "tiny":
        console.print("Scale tiny tests the code and gives no verdicts. Run --scale small for verdicts.")
    console.print(f"{summary.ran} points ran in {summary.seconds:.1f} s, {summary.skipped} were stored before.")
    for file in files:
        console.print(f"wrote {file}", soft_wrap=True)

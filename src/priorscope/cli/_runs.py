"""``priorscope runs``: move the stored runs of a paper to another machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from priorscope.cli._options import StoreOption, complete_paper

app = typer.Typer(
    no_args_is_help=True,
    help="Write the stored runs of a paper, complete or not, to a text file, and take them up on another machine.",
)

Name = Annotated[
    str,
    typer.Argument(help="The paper, or one of your own as package.module:PAPER.", autocompletion=complete_paper),
]


@app.command("export")
def export(
    name: Name,
    file: Annotated[Path, typer.Argument(help="The text file to write, as in circles.jsonl.")],
    scale: Annotated[str, typer.Option("--scale", help="tiny, small, overnight or paper.")] = "small",
    store: StoreOption = None,
) -> None:
    """Write the stored runs of a paper to a text file, whole: one line per run, with its arrays and its checksum."""
    from priorscope.cli._options import open_store
    from priorscope.lab import default_store_path, stored_runs, write_runs
    from priorscope.papers import load

    paper = load(name)
    paper.points(scale)  # a scale that is none is told before the store is looked at
    runs = open_store(store)
    if runs is None:
        raise ValueError(f"there is no store at {default_store_path()}, so there are no runs to write; give --store.")
    with runs:
        found = stored_runs(paper, runs, scale)
    if not found.rows:
        raise ValueError(
            f"{runs.path} has no runs of {paper.name!r}, version {paper.version}, at scale {scale}; nothing was written."
        )
    typer.echo(f"{found} of {paper.name!r} written to {write_runs(found, file)}")


@app.command("import")
def import_runs(
    name: Name,
    file: Annotated[Path, typer.Argument(help="A text file that `priorscope runs export` wrote.")],
    store: StoreOption = None,
) -> None:
    """Take up the runs of a text file: `priorscope reproduce` then goes on from them.

    Only runs of the paper's version and of points in its grid are taken; a file with a changed line is refused.
    """
    from priorscope.lab import Store, read_runs, take_up
    from priorscope.papers import load

    paper, found = load(name), read_runs(file)
    with Store(store) as runs:
        typer.echo(f"{file}: {take_up(found, paper, runs)}")

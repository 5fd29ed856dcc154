"""``priorscope data``: fetch, list and look at data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from typing import Literal

app = typer.Typer(no_args_is_help=True, help="Fetch published data sets, list the cache, look at your own files.")

PUBLISHED = {
    "digits": "1,797 digits of 8×8, bundled",
    "mnist": "70,000 digits of 28×28, about 12 MB to fetch",
    "fashion_mnist": "70,000 clothes of 28×28, about 31 MB to fetch",
    "cifar10": "60,000 colour images of 32×32, about 139 MB to fetch",
    "g2": "162 atoms and small molecules with their energies, about 3 MB to fetch",
}


@app.command("get")
def get(name: Annotated[str, typer.Argument(help="mnist, fashion_mnist, cifar10 or g2")]) -> None:
    """Fetch a data set into the cache (once), checking every file."""
    from priorscope import data

    if name == "digits":
        typer.echo("digits is bundled with scikit-learn: nothing to fetch")
        return
    try:
        folder = data.get(name)
    except (data.FetchError, ValueError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2 if isinstance(error, ValueError) else 1) from error
    typer.echo(f"{name} is in {folder}")


@app.command("list")
def list_sets(as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False) -> None:
    """List the data sets with a name, and whether each is in the cache."""
    from priorscope.data.published import cached

    rows = [{"name": n, "what": w, "here": n == "digits" or cached(n)} for n, w in PUBLISHED.items()]
    if as_json:
        typer.echo(json.dumps(rows))
        return
    for row in rows:
        typer.echo(f"{row['name']:<14} {'here  ' if row['here'] else 'absent'}  {row['what']}")


@app.command("show")
def show(
    path: Annotated[Path, typer.Argument(help="a file or folder that priorscope.data.load reads")],
    target: Annotated[str | None, typer.Option(help="target column (name or position) or array")] = None,
    classes: Annotated[str | None, typer.Option(help="label scheme: classes, parity, one-vs-rest:NAME, real")] = None,
    layout: Annotated[str | None, typer.Option(help="channels_first, channels_last or grey")] = None,
    decimal: Annotated[str | None, typer.Option(help="decimal sign of a table: '.' or ','")] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="whether a table has a row of names")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Read a file or folder as ``priorscope profile`` would, and say what is in it."""
    from priorscope import data

    try:
        found = data.load(
            path,
            target=target,
            classes=classes,
            size="common",
            layout=cast("data.Layout | None", layout),  # load refuses any other word
            decimal=cast("Literal['.', ','] | None", decimal),
            header=header,
        )
    except (ValueError, TypeError, OSError) as error:
        typer.echo(f"error: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2) from error
    x = found.train.inputs
    facts = {
        "name": found.name,
        "task": found.task,
        "train": len(found.train),
        "test": len(found.test),
        "input_shape": list(found.input_shape),
        "outputs": found.n_outputs,
        "classes": None if found.classes is None else list(found.classes),
        "mean": round(float(x.mean()), 6),
        "std": round(float(x.std()), 6),
        "notes": list(found.notes) or None,
    }
    if as_json:
        typer.echo(json.dumps(facts))
        return
    notes = facts.pop("notes")
    for key, value in facts.items():
        if value is not None:
            typer.echo(f"{key:<12} {value}")
    for note in found.notes if notes else ():
        typer.echo(f"note         {' '.join(note.split())}")

"""``priorscope profile``: the flagship from the command line."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from priorscope.profiles import Profile

__all__ = ["profile"]

_FORMATS = ("png", "svg", "pdf")
_FILES = (".html", ".htm", ".json", ".csv", ".png", ".svg", ".pdf")  # endings of a file; "v1.0" is a fine folder


def _check_out(out: Path | None, static: str | None) -> None:
    """Say what is wrong with the output before any work is done."""
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out wants a folder; {out} is a file. The page is written as index.html inside it.")
    if out is not None and out.suffix.lower() in _FILES and not out.is_dir():
        raise ValueError(f"--out wants a folder, not a file name like {out.name!r}; the page becomes index.html in it.")
    if static is not None and static not in _FORMATS:
        raise ValueError(f"--static takes {', '.join(_FORMATS)}; got {static!r}.")
    if static is not None and out is None:
        raise ValueError("--static writes charts into the folder of --out; give --out FOLDER as well.")
    there = next((part for part in (out, *out.parents) if part.exists()), None) if out is not None else None
    if there is not None and not (there.is_dir() and os.access(there, os.W_OK)):
        raise ValueError(f"--out cannot use {str(out)!r}: {there} is not a folder that can be written into.")


def profile(
    data: Annotated[str, typer.Argument(help="digits, mnist, fashion-mnist, cifar10, or a file or folder.")] = "digits",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for index.html and profile.json.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", help="Also profile a model: gap, package.module:factory, file.py:factory, timm:name."
        ),
    ] = None,
    only_models: Annotated[bool, typer.Option("--only-models", help="Leave the default candidates out.")] = False,
    to: Annotated[int | None, typer.Option(help="Size asked about (default: the rows there are).")] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="misclassification, balanced-error, auc, f1, log-loss, rmse, mae, mape, r2, or scikit-learn's names."
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Processor time: seconds, or words such as '2 min' (default: a minute).")
    ] = None,
    jobs: Annotated[int, typer.Option(help="1: everything is measured in one process so far.")] = 1,
    groups: Annotated[
        str | None, typer.Option(help="Column that says which rows belong together: errors of new groups.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Column that says which rows come first: errors of later times.")
    ] = None,
    pilot: Annotated[
        int | None, typer.Option(help="Rows of the first rung, which doubles up to all rows (default: 64).")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Target column of a table (name or number).")] = None,
    classes: Annotated[str | None, typer.Option(help="Label scheme: classes, parity, one-vs-rest:K, real.")] = None,
    error: Annotated[float | None, typer.Option(help="Value of the metric whose sample cost is asked.")] = None,
    resize: Annotated[int | None, typer.Option(help="Side to which larger images are averaged.")] = None,
    trials: Annotated[bool, typer.Option(help="Let networks take part.")] = True,
    static: Annotated[str | None, typer.Option(help="Also write each chart as png, svg or pdf.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the profile as JSON.")] = False,
    open_page: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
) -> None:
    """What to deploy for this data, and how wrong will it be? Kernel machines, networks and classical models in a race.

    Ctrl-C ends the race and prints the answer so far.

    Example: priorscope profile digits --budget "2 min" --out report
    """
    _check_out(out, static)
    if only_models and not model:
        raise ValueError("--only-models leaves the default candidates out; name a model of yours with --model.")
    if error is not None and not error > 0:
        raise ValueError(f"--error must be above 0; got {error}.")
    if resize is not None and resize < 2:
        raise ValueError(f"--resize must be at least 2 pixels; got {resize}.")
    from rich.console import Console

    from priorscope.cli._data_argument import named_data
    from priorscope.profiles import profile as make

    console = Console(stderr=True)
    loaded = named_data(data, target=target, classes=classes, test_fraction=0.0, groups=groups, time=time)
    try:
        result = make(
            loaded,
            models=model,
            candidates=[] if only_models else None,
            to=to,
            metric=metric,
            budget=budget,
            jobs=jobs,
            pilot=pilot,
            target_error=error,
            resize=resize,
            trials=trials,
            seed=seed,
            progress=True,
        )
    except KeyboardInterrupt:
        console.print("stopped before there was an answer: nothing is kept of it", markup=False)
        raise typer.Exit(130) from None
    if json:
        print(result.to_json())
    else:
        _show(result, Console())
    folder = out if out is not None or not open_page else Path(tempfile.mkdtemp(prefix="priorscope-"))
    if folder is None:
        return
    result.to_html(folder / "index.html")
    result.to_json(folder / "profile.json")
    if static is not None:
        from priorscope.report import save_chart

        for name, chart in result.charts().items():
            wide = getattr(chart, "width", None) == "container"  # a file has no window to fill
            save_chart(chart.properties(width=640) if wide else chart, folder / f"{name}.{static}")
    console.print(f"wrote {folder / 'index.html'}", highlight=False, markup=False)
    if open_page:
        webbrowser.open((folder / "index.html").resolve().as_uri())


def _show(result: Profile, screen: Console) -> None:
    """The result as text: sentences, the whole table, what to be careful about, notes."""
    width = max(min(screen.width, 92), 60)
    screen.print(
        result.text(width=width, rows=len(result.rows), cares=len(result.warnings), python=False),
        markup=False,
        highlight=False,
    )
    for line in result.notes:
        screen.print(f"note: {line}", markup=False, highlight=False, style="dim")

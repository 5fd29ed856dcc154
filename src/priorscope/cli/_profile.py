"""``priorscope profile``: the flagship from the command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

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


def _screen_table(result: Profile) -> Table:
    """The profile's table as a terminal of 80 columns can show it."""
    from rich import box

    from priorscope.report import rich_table

    metric, rows = result.metric, []
    kinds = {
        "kernel machine": "kernel",
        "network": "network",
        "classical model": "classical",
        "your estimator": "yours",
    }
    for row in result.rows:
        n, now = row.now
        rows.append(
            {
                "predictor": row.name.removesuffix(" network"),
                "kind": kinds[row.kind.value],
                "measured\n(at n)": f"{metric.number(now.value)} ({n})",
                f"{metric.axis[:18]}\nat {result.to:,}": f"{metric.number(row.estimate.value)} ({metric.span(row.estimate)})",
                f"samples\nto {metric.number(result.target_error)}": row.samples,
                "standing": row.standing.value,
            }
        )
    made = rich_table(rows, title=f"Profile of {result.data}: {result.task}, pilot of {result.pilot}")
    made.box, made.show_edge, made.pad_edge, made.padding = box.SIMPLE_HEAD, False, False, (0, 1, 0, 0)
    return made


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
    to: Annotated[int | None, typer.Option(help="Size asked about (default: the samples there are).")] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="misclassification, balanced-error, auc, log-loss, squared-error, rmse or r2."),
    ] = None,
    pilot: Annotated[int, typer.Option(help="Samples of one draw to look at.")] = 300,
    target: Annotated[str | None, typer.Option(help="Target column of a table (name or number).")] = None,
    classes: Annotated[str | None, typer.Option(help="Label scheme: classes, parity, one-vs-rest:K, real.")] = None,
    error: Annotated[float | None, typer.Option(help="Value of the metric whose sample cost is asked.")] = None,
    resize: Annotated[int | None, typer.Option(help="Side to which larger images are averaged.")] = None,
    trials: Annotated[bool, typer.Option(help="Train networks on parts of the pilot.")] = True,
    static: Annotated[str | None, typer.Option(help="Also write each chart as png, svg or pdf.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the pilot's draw.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the profile as JSON.")] = False,
) -> None:
    """What to deploy for this data, and how wrong will it be? Kernel machines, networks and classical models compared.

    Example: priorscope profile digits --out report
    """
    _check_out(out, static)
    if only_models and not model:
        raise ValueError("--only-models leaves the default candidates out; name a model of yours with --model.")
    if error is not None and not error > 0:
        raise ValueError(f"--error must be above 0; got {error}.")
    if resize is not None and resize < 2:
        raise ValueError(f"--resize must be at least 2 pixels; got {resize}.")
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    from priorscope.cli._data_argument import named_data
    from priorscope.profiles import Step
    from priorscope.profiles import profile as make

    console = Console(stderr=True)
    loaded = named_data(data, target=target, classes=classes, test_fraction=0.0)  # all may be looked at
    candidates: list[str] | None = [] if only_models else None
    with Bar(TextColumn("{task.description}"), BarColumn(), console=console, transient=True) as bar:
        task = bar.add_task("profiling", total=1.0)

        def show(step: Step) -> None:
            bar.update(task, completed=step.done, description=str(step))

        result = make(
            loaded,
            models=model,
            candidates=candidates,
            to=to,
            metric=metric,
            pilot=pilot,
            target_error=error,
            resize=resize,
            trials=trials,
            seed=seed,
            progress=show,
        )
    if json:
        print(result.to_json())
    else:
        screen = Console()
        screen.print(_screen_table(result))
        for line in result.verdict():
            screen.print(line, markup=False, highlight=False)
        for line in result.warnings:
            screen.print(f"* take care: {line}", markup=False, highlight=False, style="yellow")
        for line in result.notes:
            screen.print(f"note: {line}", markup=False, highlight=False, style="dim")
        screen.print(f"{result.seconds:.0f} s, {result.cpu_seconds:.0f} s of processor time", style="dim")
    if out is not None:
        result.to_html(out / "index.html")
        result.to_json(out / "profile.json")
        if static is not None:
            from priorscope.report import save_chart

            for name, chart in result.charts().items():
                wide = getattr(chart, "width", None) == "container"  # a file has no window to fill
                save_chart(chart.properties(width=640) if wide else chart, out / f"{name}.{static}")
        console.print(f"wrote {out / 'index.html'}", highlight=False, markup=False)

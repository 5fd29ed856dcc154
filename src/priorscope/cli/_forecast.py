"""``priorscope forecast``: the learning curve of one architecture on data, from a pilot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from priorscope.cli._options import check_ending
from priorscope.writing import write_whole

__all__ = ["forecast"]

_ARCHITECTURES = ("fcn", "lcn", "vec", "lap", "gap")
_KERNELS = ("laplace", "gaussian", "matern")
_ENDINGS = (".html", ".png", ".svg", ".pdf", ".json", ".csv")


def _ridge(text: str | None) -> float | str | None:
    if text in (None, "tuned"):
        return text
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError(f"--ridge must be a number of at least 0, or 'tuned'; got {text!r}.")
    return value


def forecast(
    data: Annotated[str, typer.Argument(help="digits, mnist, fashion-mnist, cifar10, or a file or folder.")],
    arch: Annotated[
        str,
        typer.Option(
            "--arch", "-a", help="fcn, lcn, vec, lap, gap, laplace, gaussian or matern; gap/p4m averages over p4m."
        ),
    ] = "fcn",
    depth: Annotated[int, typer.Option(help="Hidden layers of an architecture.")] = 3,
    to: Annotated[int, typer.Option(help="Largest number of training samples asked about.")] = 10000,
    pilot: Annotated[int, typer.Option(help="Samples to look at.")] = 300,
    kind: Annotated[str, typer.Option(help="Kernel: ntk or nngp.")] = "ntk",
    ridge: Annotated[
        str | None,
        typer.Option(help="Ridge added to the kernel's diagonal, or 'tuned'. Default: tuned, 0 with --time."),
    ] = None,
    time: Annotated[float | None, typer.Option(help="Stop gradient flow at this time.")] = None,
    error: Annotated[float | None, typer.Option(help="Also say how many samples reach this error.")] = None,
    target: Annotated[str | None, typer.Option(help="Target column of a table.")] = None,
    classes: Annotated[str | None, typer.Option(help="Label scheme: classes, parity, one-vs-rest:K, real.")] = None,
    resize: Annotated[int | None, typer.Option(help="Side to which larger images are averaged.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the pilot's draw.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Chart (.html .png .svg .pdf) or table (.csv).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read.")] = False,
) -> None:
    """Forecast the test error at more data than you have, with an interval: the numbers of the profile's row of that name.

    Example: priorscope forecast digits --arch gap --to 10000
    """
    check_ending(out, _ENDINGS)
    base, stroke, group = arch.partition("/")
    if base not in (*_ARCHITECTURES, *_KERNELS):
        raise ValueError(
            f"--arch must be one of {', '.join((*_ARCHITECTURES, *_KERNELS))}, or one with a group such as gap/p4m; got {arch!r}."
        )
    strength = _ridge(ridge)
    if time is not None and (time <= 0 or strength == "tuned"):
        raise ValueError(f"--time must be above 0 and cannot go with --ridge tuned; got {time} and {ridge}.")
    if to < 2 or (error is not None and not error > 0):
        raise ValueError(f"--to must be at least 2 and --error above 0; got {to} and {error}.")
    from rich.console import Console

    import priorscope as ps
    from priorscope.cli._data_argument import named_data
    from priorscope.cli._options import print_json
    from priorscope.probes.curves.forecast import REACH, standard_model
    from priorscope.probes.curves.pilot import prepare

    loaded = named_data(data, target=target, classes=classes, test_fraction=0.0)  # all may be looked at
    ready = prepare(loaded, pilot, resize=resize)
    if to > REACH * ready.pilot:
        raise ValueError(f"--to reaches at most {REACH:.0f} times the pilot of {ready.pilot} samples; got {to}.")
    start = min(ready.pilot, to)
    sizes = sorted({round(start * (to / start) ** (i / 5)) for i in range(6)})
    shape = tuple(ready.data.input_shape)
    model: object = ps.models.load(arch) if base in _KERNELS else standard_model(base, depth, shape)
    if stroke and base not in _KERNELS:
        model = ps.models.invariant(standard_model(base, depth, shape), group)
    with Console(stderr=True).status(f"kernel of {arch} on {ready.pilot} samples"):
        result = ps.forecast(
            loaded, model, sizes, pilot=pilot, kind=kind, ridge=strength, time=time, resize=resize, seed=seed
        )
    needed = None if error is None else result.samples_needed(error)
    if json:
        print_json(
            {
                "data": ready.data.name,
                "arch": arch,
                "pilot": ready.pilot,
                "forecast": result.table().to_dict("records"),
                "exponents": result.exponents,
                "samples_needed": None if needed is None else vars(needed),
                "warnings": list(result.warnings),
                "notes": list(result.notes),
            }
        )
    else:
        from priorscope.report import rich_table

        screen = Console()
        shown = result.table().rename(columns={"spectral theory": "spectral", "misclassified": "wrong"})
        shown = shown.map(
            lambda value: f"{value:.3g}" if isinstance(value, float) else value
        )  # as narrow as a terminal
        screen.print(rich_table(shown, title=f"Forecast of {arch} on {ready.data.name}, pilot {ready.pilot}"))
        if needed is not None and needed.reached:
            screen.print(f"error {error:g} at about {needed.value:.0f} samples [{needed.low:.0f}, {needed.high:.0f}]")
        elif needed is not None:
            screen.print(f"error {error:g} is out of reach of this forecast")
        for line in (*result.notes, *result.warnings):
            screen.print(f"take care: {line}", style="yellow", markup=False, highlight=False)
    if out is not None:
        from priorscope.report import save_chart

        if out.suffix.lower() == ".csv":
            write_whole(out, result.table().to_csv(index=False))
        else:
            save_chart(result.chart(), out)

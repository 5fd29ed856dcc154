"""``priorscope geometry``: the average geometry of a model at initialisation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

FORMATS = (".html", ".png", ".svg", ".pdf")


def find_shape(text: str) -> tuple[int, ...]:
    """1x32x32 as (1, 32, 32)."""
    parts = text.lower().split("x")
    if not all(p.isdigit() and int(p) > 0 for p in parts):
        raise ValueError(f"a shape looks like 1x32x32 or 100; got {text!r}.")
    return tuple(int(p) for p in parts)


def geometry(
    model: Annotated[str, typer.Option(help="gap, lenet, …, package.module:factory, file.py:factory or timm:name")],
    shape: Annotated[str, typer.Option(help="input shape, such as 1x32x32")],
    n_models: Annotated[int, typer.Option("--models", help="initialisations to average over")] = 1000,
    precision: Annotated[float | None, typer.Option(help="stop when G is known to this relative error")] = None,
    probe_std: Annotated[float, typer.Option(help="standard deviation of the Gaussian probes")] = 1.0,
    seed: Annotated[int, typer.Option(help="seed of every draw")] = 0,
    chart: Annotated[Path | None, typer.Option(help="write pictures here (.html, .png, .svg, .pdf)")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Which directions of the input a family of networks sees: spectrum, effective rank, pictures.

    Example: priorscope geometry --model lenet --shape 1x16x16 --models 500
    """
    from priorscope.models import RadialKernel, load
    from priorscope.probes import average_geometry
    from priorscope.report import save_chart

    try:
        if chart is not None and chart.suffix not in FORMATS:
            raise ValueError(f"a chart ends in {', '.join(FORMATS)}; got {chart.name!r}.")
        loaded = load(model)
        if isinstance(loaded, RadialKernel):
            raise ValueError(f"geometry is that of networks; {model} is a kernel without one.")
        result = average_geometry(
            loaded, find_shape(shape), n_models=n_models, probe_std=probe_std, precision=precision, seed=seed
        )
    except ValueError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error
    facts = {
        "model": model,
        "input_shape": list(result.input_shape),
        "models": result.n_models,
        "engine": result.engine,
        "readout": result.readout,
        "relative_error": result.relative_error,
        "effective_rank": result.effective_rank,
        "condition_number": result.condition_number if result.condition_number < 1e300 else None,
        "eigenvalues": result.eigenvalues[:10].tolist(),
        "notes": list(result.notes),
        "seconds": round(result.seconds, 3),
    }
    if chart is not None:
        import altair as alt

        rows = [alt.hconcat(result.chart(), result.picture()).resolve_scale(color="independent")]
        if len(result.input_shape) == 3:
            rows.append(result.modes_picture())
        save_chart(rows[0] if len(rows) == 1 else alt.vconcat(*rows).resolve_scale(color="independent"), chart)
    if as_json:
        typer.echo(json.dumps(facts))
        return
    for key, value in facts.items():
        if value == []:
            continue
        if isinstance(value, list) and value and isinstance(value[0], float):
            value = "  ".join(f"{v:.3g}" for v in value)
        typer.echo(f"{key:<17} {f'{value:.4g}' if isinstance(value, float) else value}")

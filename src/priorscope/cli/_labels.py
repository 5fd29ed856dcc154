"""``priorscope labels``: how many labels of a data set look wrong, and which."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from priorscope.cli._options import check_ending
from priorscope.writing import write_whole

__all__ = ["labels"]


def labels(
    data: Annotated[str, typer.Argument(help="digits, mnist, fashion-mnist, cifar10, or a file or folder.")],
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="A kernel to compare, such as fcn or laplace; may be repeated."),
    ] = None,
    n: Annotated[int, typer.Option("-n", min=40, help="Samples at most that are looked at.")] = 1000,
    show: Annotated[int, typer.Option(min=0, help="How many of the most suspicious labels are listed.")] = 20,
    target: Annotated[str | None, typer.Option(help="Target column of a table.")] = None,
    classes: Annotated[str | None, typer.Option(help="Label scheme: classes, parity, one-vs-rest:K.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="All labels (.csv) or the chart (.html .png .svg .pdf).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read.")] = False,
) -> None:
    """How many labels look wrong, which ones, and when to stop training because of them.

    Rows count from 0 in the order of the file. Example: priorscope labels data.csv --target kind -o suspects.csv
    """
    check_ending(out)
    import priorscope as ps
    from priorscope.cli._data_argument import named_data
    from priorscope.cli._options import print_json

    loaded = named_data(data, target=target, classes=classes, test_fraction=0.0)
    found = ps.probes.label_noise(loaded, models=model, n=n, seed=seed)
    first = found.worst(min(show, found.n)) if show < len(found.flagged()) else found.worst()
    if json:
        print_json(
            {
                "data": loaded.name,
                "looked_at": found.n,
                "rate": vars(found.rate),
                "kernels": list(found.kernels),
                "information": found.information,
                "dimension": found.dimension,
                "stop": found.stopping.worth_it,
                "labels_met_when_stopping": found.stopping.met,
                "stop_measured_at": found.stopping.n_train,
                "suspects": found.worst().to_dict("records"),
                "notes": list(found.notes),
            }
        )
    else:
        typer.echo(str(found))
        if len(first):
            typer.echo(f"\nThe {len(first)} most suspicious labels:")
            typer.echo(first.assign(wrong=[f"{100 * w:.0f} %" for w in first["wrong"]]).to_string(index=False))
    if out is None:
        return
    if out.suffix.lower() == ".csv":
        write_whole(out, found.table().to_csv(index=False))
    else:
        from priorscope.report import save_chart

        save_chart(found.chart(), out)

"""``priorscope stability``: is a model less sensitive to deformations of your images than to noise of the same size?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from priorscope.cli._options import check_ending
from priorscope.writing import write_whole

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from priorscope.data import Dataset
    from priorscope.probes import Stability

__all__ = ["stability"]


def stability(
    data: Annotated[str, typer.Argument(help="digits, mnist, fashion-mnist, cifar10, or a file or folder of images.")],
    model: Annotated[
        str,
        typer.Option("--model", "-m", help="lenet, resnet18, fcn, …, package.module:name, file.py:name or timm:name"),
    ] = "lenet",
    move: Annotated[
        str, typer.Option(help="deformation, shift, turn, zoom, or one move: mirror, quarter turn, …")
    ] = "deformation",
    delta: Annotated[float, typer.Option(help="Mean displacement of pixels.")] = 1.0,
    cutoff: Annotated[float, typer.Option(help="Half waves of a deformation per side.")] = 3,
    average: Annotated[str, typer.Option(help="Over images: median or mean.")] = "median",
    layers: Annotated[bool, typer.Option("--layers", help="Measure after every layer.")] = False,
    train: Annotated[
        int, typer.Option(help="Train for this many steps first (Adam, 128 images each), and compare.")
    ] = 0,
    images: Annotated[int, typer.Option(help="Images to measure on.")] = 500,
    seeds: Annotated[int, typer.Option(help="Draws of networks, moves and noise.")] = 3,
    target: Annotated[str | None, typer.Option(help="Target column of a table.")] = None,
    classes: Annotated[str | None, typer.Option(help="Label scheme: classes, parity, one-vs-rest:K, real.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of every draw.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Chart (.html .png .svg .pdf) or table (.csv).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read.")] = False,
) -> None:
    """Compare how much a model's output changes when images are deformed, and when noise of the same size is added.

    Example: priorscope stability mnist --model lenet --train 300
    """
    check_ending(out)
    if train < 0:
        raise ValueError(f"--train counts steps and cannot be negative; got {train}.")
    import warnings

    from rich.console import Console

    from priorscope.cli._data_argument import named_data
    from priorscope.cli._options import print_json
    from priorscope.data.deformations import FoldWarning
    from priorscope.models import load
    from priorscope.probes import stability as probe

    loaded, subject = load(model), named_data(data, target=target, classes=classes).standardised()
    settings: dict[str, Any] = {"delta": delta, "cutoff": cutoff, "average": average, "layers": layers, "seed": seed}
    settings |= {"n_images": images, "n_seeds": seeds, "name": model}
    found: dict[str, Stability] = {}
    with warnings.catch_warnings(), Console(stderr=True).status(f"{model} on {subject.name}"):
        warnings.simplefilter("ignore", FoldWarning)  # the notes say so
        found["as it is"] = probe(loaded, subject, move, **settings)
        if train:
            trained = [_trained(loaded, subject, train, seed + s) for s in range(seeds)]
            found["trained"] = probe(trained, subject, move, **settings | {"name": f"trained {model}"})
    if json:
        print_json({when: _facts(result) for when, result in found.items()})
    else:
        _show(found, Console())
    if out is not None:
        _save(found, out)


def _trained(model: Any, data: Dataset, steps: int, seed: int) -> Any:
    """One network of the model after some steps of Adam."""
    from priorscope.inference import GradientDescent
    from priorscope.probes.stability import networks_of

    _, networks = networks_of(model, tuple(data.input_shape), data.n_outputs, 1, seed)
    loss = "logistic" if data.task == "classification" else "squared"
    descent = GradientDescent(1e-3, steps, batch_size=128, optimiser="adam", loss=loss, record=1)
    return descent.fit(networks[0], data, seed=seed).network()


def _facts(result: Stability) -> dict[str, object]:
    return {
        "sentence": result.sentence,
        "family": result.family,
        "average": result.average,
        "noise_radius": result.radius,
        "images": result.n_images,
        "draws": len(result.values),
        "layers": result.table().to_dict("records"),
        "notes": list(result.notes),
    }


def _show(found: dict[str, Stability], screen: Console) -> None:
    from priorscope.report import rich_table

    for result in found.values():
        title = f"{result.subject}: {result.average} over {result.n_images} images, {len(result.values)} draws"
        screen.print(rich_table(_narrow(result), title=title))
    for result in found.values():
        screen.print(result.sentence, markup=False, highlight=False, soft_wrap=True)
    for note in dict.fromkeys(note for result in found.values() for note in result.notes):
        screen.print(f"take care: {note}", style="yellow", markup=False, highlight=False)


def _narrow(result: Stability) -> pd.DataFrame:
    """The table with intervals in brackets, as narrow as a terminal."""
    table = result.table()
    shown = table[["layer"]].copy()
    for name in ("D", "G", "R"):
        ends = zip(table[name], table[f"{name}_low"], table[f"{name}_high"])
        shown[name] = [f"{v:.3g}" + (f" [{a:.3g}, {b:.3g}]" if b < float("inf") else "") for v, a, b in ends]
    return shown


def _save(found: dict[str, Stability], out: Path) -> None:
    import altair as alt
    import pandas as pd

    from priorscope.report import save_chart

    if out.suffix.lower() == ".csv":
        table = pd.concat([result.table().assign(when=when) for when, result in found.items()])
        write_whole(out, table.to_csv(index=False))
        return
    rows: list[Any] = [result.chart() for result in found.values()]
    first = next(iter(found.values()))
    if first.examples is not None:
        rows.append(first.pictures())
    save_chart(alt.vconcat(*rows).resolve_scale(color="independent"), out)

"""``priorscope margin``: is a trained network a classifier of largest margin, to first order?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priorscope.cli._options import check_ending
from priorscope.writing import write_whole

if TYPE_CHECKING:
    from torch import nn

    from priorscope.data import Dataset

__all__ = ["margin"]


def margin(
    data: Annotated[str, typer.Argument(help="digits, mnist, fashion-mnist, cifar10, or a file or folder.")],
    model: Annotated[
        str,
        typer.Option(
            "--model", "-m", help="fcn, gap, …, package.module:name, file.py:name (a network or its factory)."
        ),
    ] = "fcn",
    weights: Annotated[
        Path | None, typer.Option(help="Weights of the trained network: a state dict saved by torch.save.")
    ] = None,
    train: Annotated[
        int, typer.Option(min=0, help="Train so many steps first (normalised descent on the exponential loss).")
    ] = 0,
    parameters: Annotated[
        list[str] | None,
        typer.Option(help="Weights that count, by name; may be repeated. Others are held. Default: all."),
    ] = None,
    n: Annotated[int, typer.Option("-n", min=2, help="Samples at most.")] = 500,
    target: Annotated[str | None, typer.Option(help="Target column of a table.")] = None,
    classes: Annotated[str | None, typer.Option(help="Label scheme: classes, parity, one-vs-rest:K.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of network and samples.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="All samples (.csv) or the chart (.html .png .svg .pdf).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read.")] = False,
) -> None:
    """How close a network is to a solution of its margin problem, and which samples carry it.

    The network must be homogeneous in its weights (ReLU layers without biases) and classify every sample rightly; both
    are checked. Example: priorscope margin data.csv --model mine.py:network --weights trained.pt
    """
    check_ending(out)
    from priorscope.cli._data_argument import named_data
    from priorscope.cli._options import print_json
    from priorscope.probes import margin as probe

    loaded = named_data(data, target=target, classes=classes, seed=seed, test_fraction=0.0)
    if loaded.task != "classification":
        raise ValueError(f"margin needs classes; the targets of {loaded.name} are numbers.")
    if len(loaded.inputs) > n:
        loaded = loaded.subset(n, seed=seed)
    network = _network(model, loaded, weights, seed)
    if train:
        network = _trained(network, loaded, train, seed)
    found = probe(network, loaded.inputs, loaded.targets, parameters=parameters)
    if json:
        names = ("degree", "margin", "ratio", "gap", "stationarity", "complementarity", "n_support", "weight_norm")
        print_json(
            {"data": loaded.name, "samples": len(found.margins)}
            | {name: getattr(found, name) for name in names}
            | {"parameters": list(found.parameters), "notes": list(found.notes)}
        )
    else:
        typer.echo(str(found))
    if out is None:
        return
    if out.suffix.lower() == ".csv":
        write_whole(out, found.table().to_csv(index=False))
    else:
        from priorscope.report import save_chart

        save_chart(found.chart(), out)


def _network(model: str, data: Dataset, weights: Path | None, seed: int) -> nn.Module:
    """The network of that name for this data, with stored weights where a file is given."""
    import torch

    from priorscope.models import load
    from priorscope.probes.stability import networks_of

    _, (network,) = networks_of(load(model), tuple(data.input_shape), data.n_outputs, 1, seed)
    if weights is not None:
        network.load_state_dict(torch.load(weights, weights_only=True, map_location="cpu"))
    return network


def _trained(network: nn.Module, data: Dataset, steps: int, seed: int) -> nn.Module:
    """The network after steps of a length in proportion to its first weights, which shrink like the root of time."""
    import torch

    from priorscope.inference import GradientDescent, Steepest

    size = float(torch.cat([p.detach().flatten() for p in network.parameters()]).norm())
    descent = GradientDescent(
        0.01 * size,
        steps,
        optimiser=Steepest("l2", normalised=True),
        schedule=lambda step: (1 + step / 100) ** -0.5,
        loss="log-exponential",
        record=1,
        dtype=torch.float64,
    )
    return descent.fit(network, data, seed=seed).network()

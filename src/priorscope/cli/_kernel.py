"""``priorscope kernel``: the infinite-width kernel of a named architecture on a data set, written to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from priorscope.cli._data_argument import named_data

__all__ = ["kernel"]

NAMES = ("fcn", "lcn", "vec", "gap", "lap")


def kernel(
    arch: Annotated[str, typer.Option(help="fcn, lcn, vec, gap or lap; gap/p4m averages over p4m.")] = "gap",
    depth: Annotated[int, typer.Option(min=1, help="Hidden layers.")] = 3,
    data: Annotated[str, typer.Option(help="A data set by name (digits, …) or a file.")] = "digits",
    out: Annotated[Path | None, typer.Option(help="A .npy or .zarr file; a killed run goes on where it was.")] = None,
    n: Annotated[int | None, typer.Option(min=1, help="Only so many training inputs.")] = None,
    kind: Annotated[str, typer.Option(help="ntk, nngp or both.")] = "both",
    activation: Annotated[str, typer.Option(help="Nonlinearity by name.")] = "relu",
    weight_variance: Annotated[float, typer.Option(help="Of every layer.")] = 2.0,
    bias_variance: Annotated[float, typer.Option(help="Of every layer.")] = 0.0,
    block: Annotated[int | None, typer.Option(help="Inputs a block; from the free memory unless given.")] = None,
    seed: Annotated[int, typer.Option(help="Which inputs, when --n is given.")] = 0,
    estimate: Annotated[bool, typer.Option("--estimate", help="Only say what it would cost.")] = False,
) -> None:
    """Infinite-width kernels (NNGP and NTK) of a data set's training inputs."""
    import priorscope as ps

    base, stroke, group = arch.partition("/")
    if base not in NAMES:
        raise ValueError(
            f"--arch must be one of {', '.join(NAMES)}, or one with a group such as gap/p4m; got {arch!r}."
        )
    kinds: Any = ("nngp", "ntk") if kind == "both" else (kind,)
    plain = getattr(ps.models, base)(
        depth=depth, activation=activation, weight_variance=weight_variance, bias_variance=bias_variance
    )
    architecture = ps.models.invariant(plain, group) if stroke else plain
    dataset = named_data(data)
    if n is not None:
        dataset = dataset.subset(n, seed=seed)
    x = dataset.inputs
    guess = architecture.estimate(len(x), None, tuple(x.shape[1:]), on_disk=out is not None, block=block)
    typer.echo(f"{arch} depth {depth} on {data}: {len(x)} inputs {tuple(x.shape[1:])}; {guess}")
    if estimate:
        return
    import time

    start = time.perf_counter()
    result = architecture.kernel(x, kinds=kinds, out=out, block=block)
    seconds = time.perf_counter() - start
    for name in kinds:
        matrix = getattr(result, name)
        diagonal = [float(matrix[i, i]) for i in range(min(len(x), 1000))]
        typer.echo(f"{name}: {tuple(matrix.shape)}, mean diagonal {sum(diagonal) / len(diagonal):.6g}")
    typer.echo(f"{seconds:.2f} s" + (f", written to {out}" if out is not None else ""))

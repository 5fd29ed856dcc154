"""``priorscope dimension``: the effective dimension of data, and the exponents that kernels should reach on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from priorscope.cli._options import check_ending
from priorscope.writing import write_whole

__all__ = ["dimension"]


def dimension(
    data: Annotated[str, typer.Argument(help="digits, mnist, fashion-mnist, cifar10, or a file or folder.")],
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="A model whose exponent is wanted; may be repeated.")
    ] = None,
    n: Annotated[int, typer.Option(min=100, help="Samples at most that kernels look at.")] = 1500,
    target: Annotated[str | None, typer.Option(help="Target column of a table.")] = None,
    classes: Annotated[str | None, typer.Option(help="Label scheme: classes, parity, one-vs-rest:K, real.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the subsets.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Chart (.html .png .svg .pdf) or table (.csv).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read.")] = False,
) -> None:
    """The dimension in which the data look uniform, and with --model the exponent its learning curve should reach.

    Example: priorscope dimension digits --model laplace --model fcn
    """
    check_ending(out)
    import priorscope as ps
    from priorscope.cli._data_argument import named_data
    from priorscope.cli._options import print_json
    from priorscope.contracts import is_kernel_model, kernel_matrix, settled

    loaded = named_data(data, target=target, classes=classes, test_fraction=0.0)
    found = ps.probes.effective_dimension(loaded, seed=seed)
    grams = {}
    part = loaded.subset(min(n, len(loaded.train)), seed=seed)
    for name in model or []:
        made = ps.models.load(name)
        if not is_kernel_model(made):
            raise ValueError(f"--model must have a kernel of its own, such as fcn or laplace; {name!r} has none.")
        grams[name] = kernel_matrix(settled(made, part.inputs), part.inputs).double().numpy()
    expected = ps.probes.expected_exponents(part.inputs, part.targets.numpy(), grams, dimension=found)
    if json:
        print_json(
            {
                "data": loaded.name,
                "dimension": found.overlay,
                "slope": vars(found.slope),
                "ambient": found.ambient,
                "sizes": found.sizes.tolist(),
                "distances": found.distances.mean(0).tolist(),
                "exponents": expected.table().to_dict("records"),
            }
        )
    else:
        for line in expected.sentences():
            typer.echo(line)
    if out is None:
        return
    if out.suffix.lower() == ".csv":
        write_whole(out, found.table().to_csv(index=False))
    else:
        from priorscope.report import save_chart

        save_chart(found.chart(), out)

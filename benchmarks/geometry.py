"""Average geometry against the obvious loop, at equal Monte-Carlo standard error.

The loop builds a network, takes the gradient at 16 probes and accumulates G. Both sides report the time they would need
for the same standard error (Frobenius norm of the errors of G): CPU seconds of one thread × error². CPU seconds suffer
less from other work on the machine, but not nothing: the loop took 8 to 15 ms a dense network in different runs. The
ratio of the dense net grows with the number of networks here (5 at 100, 15 at 400: larger blocks); that of ResNet18 rests
on a handful of networks (1.6, 3.7 and 2.6 in three runs). Models are the published ones on
1×32×32: a dense net of two layers of 100, LeNet and ResNet18 of width 64, with GELU and without normalisation.
Run: python benchmarks/geometry.py
"""

from __future__ import annotations

import argparse
import resource
import time

import torch
from _results import row, write

from priorscope import models
from priorscope.probes import average_geometry

CASES = {
    "MLP 2×100": (models.fcn(2, "gelu"), {"width": 100}, 60, 400),
    "LeNet": (models.lenet(activation="gelu"), {}, 20, 80),
    "ResNet18": (models.resnet18(activation="gelu", normalisation=False), {}, 4, 7),
}


def loop(model, options: dict, n_models: int, shape: tuple[int, ...], n_probes: int = 16) -> tuple[float, float]:
    """Seconds and standard error (Frobenius) of the loop."""
    D = shape[0] * shape[1] * shape[2]
    total, squares = torch.zeros(D, D, dtype=torch.float64), torch.zeros(D, D, dtype=torch.float64)
    start = time.process_time()
    for seed in range(n_models):
        net = model.network(shape, seed=seed, **options)
        x = torch.randn(n_probes, *shape, requires_grad=True)
        (g,) = torch.autograd.grad(net(x).sum(), x)
        rows = g.flatten(1)
        estimate = (rows.mT @ rows / n_probes).double()
        total += estimate
        squares += estimate**2
    seconds = time.process_time() - start
    mean = total / n_models
    return seconds, float(((squares / n_models - mean**2).clamp(min=0) / (n_models - 1)).sqrt().norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=32, help="side of the input")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the numbers of networks")
    parser.add_argument("--json", help="file for the rows of the performance page")
    parser.add_argument("--only", help="one model: MLP, LeNet or ResNet18")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    shape = (1, arguments.size, arguments.size)
    print(
        f"{'model':<12}{'loop s/net':>12}{'here s/net':>12}{'error²·n':>22}{'ratio':>8}  engine, readout, peak memory"
    )
    rows = []
    for name, (model, options, n_loop, n_here) in CASES.items():
        if arguments.only and not name.startswith(arguments.only):
            continue
        n_loop, n_here = max(4, int(n_loop * arguments.scale)), max(5, int(n_here * arguments.scale))
        if n_here >= 20:  # warm up; where a network takes seconds it does not matter
            loop(model, options, 1, shape)
            average_geometry(model, shape, n_models=2, n_probes=16, **options)
        seconds, error = loop(model, options, n_loop, shape)
        start = time.process_time()
        here = average_geometry(model, shape, n_models=n_here, n_probes=16, **options)
        own_seconds = time.process_time() - start
        own = float(here.standard_error.norm())
        cost, own_cost = seconds * error**2, own_seconds * own**2
        noise = f"{error**2 * n_loop:.3g} / {own**2 * n_here:.3g}"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name:<12}{seconds / n_loop:>12.4f}{own_seconds / n_here:>12.4f}{noise:>22}{cost / own_cost:>8.1f}",
            end="  ",
        )
        print(f"{here.engine}, {here.readout}, {memory:.0f} MB", flush=True)
        target = float(here.matrix.norm()) / 10  # seconds to a relative error of 10 %
        note = f"to 10 % error of G; {n_loop} and {n_here} networks; {here.engine}; peak {memory:.0f} MB"
        rows.append(
            row(
                f"{name}, {shape[1]}×{shape[2]}",
                own_cost / target**2,
                cost / target**2,
                "the obvious loop",
                unit="CPU s",
                note=note,
            )
        )
    if arguments.json:
        write(arguments.json, "geometry", rows)


if __name__ == "__main__":
    main()

"""Average geometry against the obvious loop, at equal Monte-Carlo standard error.

The loop builds a network, takes the gradient at 16 probes and accumulates G. Both sides report the time they would need
for the same standard error (Frobenius norm of the errors of G): seconds × error². Run: python benchmarks/geometry.py
"""

from __future__ import annotations

import argparse
import resource
import time

import torch

from priorscope import models
from priorscope.probes import average_geometry

CASES = {
    "mlp 2x100": (models.fcn(2, "gelu"), {"width": 100}, 150, 400),
    "lenet": (models.lenet(activation="gelu"), {}, 60, 200),
    "resnet18": (models.resnet18(activation="gelu", normalisation=False), {"width": 16}, 10, 20),
}


def loop(model, options: dict, n_models: int, shape: tuple[int, ...], n_probes: int = 16) -> tuple[float, float]:
    """Seconds and standard error (Frobenius) of the loop."""
    D = shape[0] * shape[1] * shape[2]
    total, squares = torch.zeros(D, D, dtype=torch.float64), torch.zeros(D, D, dtype=torch.float64)
    start = time.perf_counter()
    for seed in range(n_models):
        net = model.network(shape, seed=seed, **options)
        x = torch.randn(n_probes, *shape, requires_grad=True)
        (g,) = torch.autograd.grad(net(x).sum(), x)
        rows = g.flatten(1)
        estimate = (rows.mT @ rows / n_probes).double()
        total += estimate
        squares += estimate**2
    seconds = time.perf_counter() - start
    mean = total / n_models
    return seconds, float(((squares / n_models - mean**2).clamp(min=0) / (n_models - 1)).sqrt().norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=32, help="side of the input")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the numbers of networks")
    arguments = parser.parse_args()
    shape = (1, arguments.size, arguments.size)
    print(f"{'model':<12}{'loop s/net':>12}{'here s/net':>12}{'error²·n':>22}{'ratio':>8}  engine, readout")
    for name, (model, options, n_loop, n_here) in CASES.items():
        n_loop, n_here = max(4, int(n_loop * arguments.scale)), max(20, int(n_here * arguments.scale))
        loop(model, options, 2, shape)  # warm up
        seconds, error = loop(model, options, n_loop, shape)
        here = average_geometry(model, shape, n_models=n_here, n_probes=16, **options)
        own = float(here.standard_error.norm())
        ratio = (seconds * error**2) / (here.seconds * own**2)
        noise = f"{error**2 * n_loop:.3g} / {own**2 * n_here:.3g}"
        print(f"{name:<12}{seconds / n_loop:>12.4f}{here.seconds / n_here:>12.4f}{noise:>22}{ratio:>8.1f}", end="  ")
        print(f"{here.engine}, {here.readout}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()

"""Leading singular values of a Jacobian: Lanczos iteration on its products, beside torch.func.jacrev and an SVD.

Run: python benchmarks/information.py [--json PATH] [--n 128]

A residual network on images of three classes. Either runs in a process of its own; peak memory is that of the process beyond what
it had before the Jacobian was asked for. The 50 leading values must agree to 1e-4.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np
import torch
from _results import row, write
from torch import nn

from priorscope import models
from priorscope.probes import information_split

LEADING = 50


def problem(n: int) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """The network and its inputs, with labels."""
    draw = torch.Generator().manual_seed(0)
    network = models.resnet18(normalisation="group").network((3, 16, 16), width=16, outputs=3, seed=0)
    return network.eval(), torch.randn(n, 3, 16, 16, generator=draw), torch.randint(3, (n,), generator=draw)


def peak() -> float:
    """Peak memory of this process, megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def alone(which: str, n: int) -> dict[str, object]:
    """Values, CPU seconds and memory of one way, in this process."""
    torch.set_num_threads(1)
    network, x, y = problem(n)
    with torch.no_grad():
        network(x[:2])
    before, start = peak(), time.process_time()
    if which == "lanczos":
        found = information_split(network, x, y, dimension=LEADING, block=32, tolerance=1e-7)
        values = found.singular_values[:LEADING]
    else:
        params = {name: p.detach() for name, p in network.named_parameters()}

        def outputs(weights: dict[str, torch.Tensor]) -> torch.Tensor:
            return torch.func.functional_call(network, weights, (x,)).reshape(-1)

        slopes = torch.func.jacrev(outputs, chunk_size=32)(params)
        jacobian = torch.cat([s.reshape(len(x) * 3, -1) for s in slopes.values()], 1)
        values = torch.linalg.svdvals(jacobian @ jacobian.T).sqrt()[:LEADING].numpy()
    return {
        "values": np.asarray(values, dtype=float).tolist(),
        "seconds": time.process_time() - start,
        "megabytes": peak() - before,
        "parameters": sum(p.numel() for p in network.parameters()),
    }


def main() -> None:
    """Print memory and time of both, and how far their values are apart."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--n", type=int, default=128)
    parser.add_argument("--only", choices=("lanczos", "jacrev"))
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(alone(arguments.only, arguments.n)))
        return
    found = {}
    for which in ("lanczos", "jacrev"):
        done = subprocess.run(
            [sys.executable, __file__, "--only", which, "--n", str(arguments.n)],
            capture_output=True,
            text=True,
            check=True,
        )
        found[which] = json.loads(done.stdout.splitlines()[-1])
    ours, theirs = found["lanczos"], found["jacrev"]
    apart = float(np.max(np.abs(np.array(ours["values"]) / np.array(theirs["values"]) - 1)))
    print(f"{arguments.n} images, {ours['parameters']} parameters; values apart by {apart:.1e}")
    for which, one in found.items():
        print(f"{which}: {one['megabytes']:.0f} MB, {one['seconds']:.1f} s of processor time")
    assert apart < 1e-4, apart
    if arguments.json:
        case = f"50 leading singular values of a Jacobian, {arguments.n} images, {ours['parameters']} parameters"
        rows = [
            row(f"{case}, memory", ours["megabytes"], theirs["megabytes"], "torch.func.jacrev", unit="MB"),
            row(f"{case}, time", ours["seconds"], theirs["seconds"], "torch.func.jacrev"),
        ]
        write(arguments.json, "information", rows)


if __name__ == "__main__":
    main()

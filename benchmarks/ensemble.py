"""Training 32 small networks together against a plain torch loop over them, side by side in one run.

The loop is an honest one: full-batch descent with the optimiser's fused foreach path, gradients set to None, no
logging. Both train the same networks on the same data for the same steps; the largest difference of their outputs is
printed beside the ratio.
"""

from __future__ import annotations

import argparse
import time
from types import SimpleNamespace

import torch
from _results import row, write
from torch import Tensor, nn

import priorscope as ps


def train_loop(networks: list[nn.Module], x: Tensor, y: Tensor, rate: float, steps: int) -> Tensor:
    """Train one network after the other."""
    outputs = []
    for net in networks:
        optimiser = torch.optim.SGD(net.parameters(), lr=rate, foreach=True)
        for _ in range(steps):
            optimiser.zero_grad(set_to_none=True)
            ((net(x) - y).square().sum(-1).mean() / 2).backward()
            optimiser.step()
        outputs.append(net(x).detach())
    return torch.stack(outputs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=32)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", help="file for the rows of the performance page")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    data = ps.data.digits(classes="parity").subset(128, seed=0)
    x, y = data.inputs.flatten(1), data.targets
    train = SimpleNamespace(inputs=x, targets=y)
    print(f"{'width':>6} {'depth':>6} {'together s':>11} {'loop s':>8} {'ratio':>6} {'largest difference':>19}")
    rows = []
    for width, depth in ((16, 1), (16, 2), (32, 2), (64, 2)):
        arch = ps.models.fcn(depth)
        ensemble = arch.ensemble((64,), width=width, outputs=1, seeds=range(options.members))
        method = ps.inference.GradientDescent(learning_rate=0.05, steps=options.steps, record=2)
        method.fit(ensemble, train)  # once before the clock starts, as the loop's first network is
        train_loop([ensemble.member(0)], x, y, 0.05, options.steps)
        start = time.perf_counter()
        together = method.fit(ensemble, train).predict(x)
        seconds = time.perf_counter() - start
        networks = [ensemble.member(i) for i in range(options.members)]
        start = time.perf_counter()
        alone = train_loop(networks, x, y, 0.05, options.steps)
        loop = time.perf_counter() - start
        difference = float((together - alone).abs().max())
        print(f"{width:6} {depth:6} {seconds:11.3f} {loop:8.3f} {loop / seconds:6.1f} {difference:19.2e}")
        case = f"{options.members} networks, width {width}, {depth} hidden layers, {options.steps} steps"
        rows.append(row(case, seconds, loop, "a loop over them", note=f"outputs {difference:.0e} apart"))
    if options.json:
        write(options.json, "ensemble", rows)


if __name__ == "__main__":
    main()

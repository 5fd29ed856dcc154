"""Regimes: one vectorised flow against one member at a time; split Hessian against autograd's; memory of the matrix-free one.

Run: ``python benchmarks/regimes.py`` for the L = 2 sweep (27 output scales, 8 seeds; minutes), ``--quick`` for a small one.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time

import numpy as np
import torch
from torch.nn.utils import parameters_to_vector

from priorscope.inference import GradientFlow, QuadraticHinge
from priorscope.papers._lazy_feature_runs import split
from priorscope.papers._lazy_networks import DenseStack
from priorscope.probes import hessian_operators, hessian_split, plain_network, random_patterns


def flows(width: int, scales: int, seeds: int, single: int) -> dict[str, float]:
    """Seconds of all members at once, and of one by one (``single`` of them, spread evenly, scaled to all)."""
    train, _ = split(100, 1, 0)
    alphas = np.repeat(np.geomspace(1e-4, 1e4, scales) / math.sqrt(width), seeds)
    flow = GradientFlow(loss="soft-hinge", stop="fitted", max_turn=1e-3, max_steps=6000, time=1e9, record=1)
    started = time.perf_counter()
    stack = DenseStack(64, width, 2, [s for _ in range(scales) for s in range(seeds)])
    fitted = flow.with_alpha(alphas.tolist()).fit(stack, train)
    together = time.perf_counter() - started
    chosen = np.unique(np.linspace(0, len(alphas) - 1, single).round().astype(int))
    started, worst = time.perf_counter(), 0.0
    for i in chosen:
        alone = flow.with_alpha([float(alphas[i])]).fit(DenseStack(64, width, 2, [int(i) % seeds]), train)
        gap = (alone.params[0] - fitted.params[i]).norm() / alone.params[0].norm()
        worst = max(worst, float(gap))
    apart = (time.perf_counter() - started) * len(alphas) / len(chosen)
    return {
        "width": width,
        "members": len(alphas),
        "together_s": together,
        "one_by_one_s": apart,
        "measured_one_by_one": len(chosen),
        "speedup": apart / together,
        "largest_difference": worst,
    }


def hessian(width: int) -> dict[str, float]:
    """Seconds of H₀ and H_p, and of autograd's full Hessian of the loss, which gives only their sum."""
    net = plain_network(width, width, 2, seed=0, gain=0.5)
    n = 2 * width**2 + width
    data, loss = random_patterns(3 * n // 2 * 2, width, seed=0), QuadraticHinge(0.5)
    started = time.perf_counter()
    parts = hessian_split(net, data.inputs, data.targets, loss)
    ours = time.perf_counter() - started
    names = [name for name, _ in net.named_parameters()]
    shapes = [p.shape for p in net.parameters()]

    def whole(flat: torch.Tensor) -> torch.Tensor:
        pieces = flat.split([s.numel() for s in shapes])
        params = {k: piece.view(s) for k, piece, s in zip(names, pieces, shapes)}
        return loss(torch.func.functional_call(net, params, (data.inputs,)), data.targets)

    flat = parameters_to_vector(net.parameters()).detach()
    started = time.perf_counter()
    full = torch.autograd.functional.hessian(whole, flat)
    theirs = time.perf_counter() - started
    gap = float((parts.total - full).abs().max() / full.abs().max())
    return {
        "parameters": len(flat),
        "patterns": len(data),
        "split_s": ours,
        "autograd_s": theirs,
        "speedup": theirs / ours,
        "largest_difference": gap,
    }


def matrix_free(width: int) -> dict[str, float]:
    """Seconds of one product with H at about 10⁵ parameters, and the process's largest memory so far."""
    net = plain_network(width, width, 2, seed=0)
    data = random_patterns(1000, width, seed=0)
    total = hessian_operators(net, data.inputs, data.targets, QuadraticHinge()).total
    v = np.random.default_rng(0).standard_normal(total.shape[0])
    started = time.perf_counter()
    for _ in range(3):
        v = total @ v
        v = v / np.linalg.norm(v)
    seconds = (time.perf_counter() - started) / 3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"parameters": total.shape[0], "product_s": seconds, "peak_gb": peak}


def main() -> None:
    """Print one JSON line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer scales, one width, a small Hessian")
    quick = parser.parse_args().quick
    print(json.dumps({"matrix-free": matrix_free(223)}), flush=True)
    print(json.dumps({"hessian": hessian(8 if quick else 15)}), flush=True)
    for width in (16,) if quick else (16, 50, 150):
        print(json.dumps({"flow": flows(width, *((5, 4, 4) if quick else (27, 8, 27)))}), flush=True)


if __name__ == "__main__":
    main()

"""Regimes: one vectorised flow against one member at a time; split Hessian against autograd's; memory of the matrix-free one.

Run: ``python benchmarks/regimes.py`` for the L = 2 sweep (27 output scales, 8 seeds, three widths; minutes), ``--quick`` for a
small one, ``--part`` for one measurement. The flow's peer is the same integrator, called for each member by itself: once
with the same hand-written passes, once on a plain module through autograd; each with the threads torch has and with one
thread, whichever is faster for one of them: small products lose by a second thread. The Hessian's peers are
``torch.autograd.functional.hessian`` and ``torch.func.hessian`` of the loss; they give the sum of the two parts only.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time
from typing import Any

import numpy as np
import torch
from _results import row, write
from torch.nn.utils import parameters_to_vector

from priorscope.data import random_patterns
from priorscope.inference import GradientFlow, QuadraticHinge
from priorscope.models import DenseStack, plain_network
from priorscope.papers.lazy_feature._runs import split
from priorscope.probes import hessian_operators, hessian_split


def flows(width: int, turn: float, scales: int, seeds: int, single: int, traced: int) -> dict[str, float]:
    """Seconds a step of all members at once, and of one by one (``single`` and ``traced`` of them, spread evenly).

    Times are a trial step, so that members which take more steps do not weigh on the comparison; ``speedup`` is the time of
    the whole sweep, one by one over together, with the steps the sweep took.
    """
    train, _ = split(100, 1, 0)
    threads = torch.get_num_threads()
    alphas = np.repeat(np.geomspace(1e-4, 1e4, scales) / math.sqrt(width), seeds)
    flow = GradientFlow(loss="soft-hinge", stop="fitted", max_turn=turn, max_steps=6000, time=1e9, record=1)
    started = time.perf_counter()
    stack = DenseStack(64, width, 2, [s for _ in range(scales) for s in range(seeds)])
    fitted = flow.with_alpha(alphas.tolist()).fit(stack, train)
    together = time.perf_counter() - started
    steps = int(fitted.steps.sum())
    result = {"width": width, "members": len(alphas), "together_s": together, "steps": steps, "threads": threads}
    for name, count in (("one_by_one", single), ("traced", traced)):
        chosen = np.unique(np.linspace(0, len(alphas) - 1, count).round().astype(int))

        def alone(i: int, name: str = name) -> tuple[float, Any]:
            member = DenseStack(64, width, 2, [i % seeds])
            started = time.perf_counter()
            found = flow.with_alpha([float(alphas[i])]).fit(member if name == "one_by_one" else member.member(0), train)
            return time.perf_counter() - started, found

        trial = {}
        for used in {threads, 1}:
            torch.set_num_threads(used)
            trial[used] = alone(int(chosen[-1]))[0]
        best = min(trial, key=lambda used: trial[used])
        torch.set_num_threads(best)
        spent, taken, worst = 0.0, 0, 0.0
        for i in chosen:
            took, one = alone(int(i))
            spent, taken = spent + took, taken + int(one.steps.sum())
            worst = max(worst, float((one.params[0] - fitted.params[i]).norm() / one.params[0].norm()))
        torch.set_num_threads(threads)
        seconds = spent / taken * steps
        result |= {f"{name}_s": seconds, f"{name}_measured": len(chosen), f"{name}_threads": best}
        result |= {f"{name}_speedup": seconds / together, f"{name}_difference": worst}
    return result


def hessian(width: int) -> dict[str, float]:
    """Seconds of H₀ and H_p by hand, and of the peers' full Hessian of the loss; the best of three and of one."""
    net = plain_network(width, width, 2, seed=0, gain=0.5)
    n = 2 * width**2 + width
    data, loss = random_patterns(3 * n // 2 * 2, width, seed=0), QuadraticHinge(0.5)
    names, shapes = zip(*((name, p.shape) for name, p in net.named_parameters()))

    def whole(flat: torch.Tensor) -> torch.Tensor:
        pieces = flat.split([s.numel() for s in shapes])
        params = {k: piece.view(s) for k, piece, s in zip(names, pieces, shapes)}
        return loss(torch.func.functional_call(net, params, (data.inputs,)), data.targets)

    flat = parameters_to_vector(net.parameters()).detach()

    def best(call: object, times: int) -> tuple[float, object]:
        found = []
        for _ in range(times):
            started = time.perf_counter()
            value = call()  # type: ignore[operator]
            found.append(time.perf_counter() - started)
        return min(found), value

    ours, parts = best(lambda: hessian_split(net, data.inputs, data.targets, loss), 3)
    autograd, full = best(lambda: torch.autograd.functional.hessian(whole, flat), 1)
    func, _ = best(lambda: torch.func.hessian(whole)(flat), 1)
    return {
        "parameters": len(flat),
        "patterns": len(data),
        "split_s": ours,
        "autograd_s": autograd,
        "torch_func_s": func,
        "speedup": min(autograd, func) / ours,
        "largest_difference": float((parts.total - full).abs().max() / full.abs().max()),
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
    """Print one JSON line a measurement; with ``--json`` leave the rows of the performance page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer scales, one width, a small Hessian")
    parser.add_argument("--part", choices=["matrix-free", "hessian", "16", "50", "150"], help="one measurement only")
    parser.add_argument("--seeds", type=int, default=8, help="of each output scale of a flow")
    parser.add_argument(
        "--turn", type=float, default=1e-3, help="the flow's max_turn; ten times it takes a third of the steps"
    )
    parser.add_argument("--json", help="file for the rows of the performance page")
    options = parser.parse_args()
    quick, only, rows = options.quick, options.part, []
    if only in (None, "matrix-free"):
        found = matrix_free(223)
        print(json.dumps({"matrix-free": found}), flush=True)
        case = f"memory with matrix-free Hessian products, {found['parameters']:,} parameters"
        rows.append(
            row(case, found["peak_gb"], unit="GB", note=f"{found['product_s']:.2g} s a product; aim below 2 GB")
        )
    if only in (None, "hessian"):
        found = hessian(8 if quick else 15)
        print(json.dumps({"hessian": found}), flush=True)
        case = f"Hessian in its two parts, {found['parameters']} parameters, {found['patterns']} patterns"
        peer = min(found["autograd_s"], found["torch_func_s"])
        note = f"the peer gives their sum only; apart {found['largest_difference']:.0e}; aim 10×"
        rows.append(row(case, found["split_s"], peer, "torch, autograd's or func's, the faster", note=note))
    total = {"together_s": 0.0, "one_by_one_s": 0.0, "traced_s": 0.0}
    for width in (16,) if quick and only is None else (16, 50, 150):
        if only in (None, str(width)):
            sizes = (5, 4, 4, 1) if quick else (27, options.seeds, 9, 2)
            found = flows(width, options.turn, *sizes)
            print(json.dumps({"flow": found}), flush=True)
            total = {name: value + found[name] for name, value in total.items()}
            rows += _flow_rows(f"gradient flow, L = 2, h = {width}, {found['members']} members", found)
            if options.json:  # the widest takes minutes: what there is, is kept
                write(options.json, "regimes", rows)
    if total["together_s"]:
        print(json.dumps({"sweep": total | {"speedup": total["one_by_one_s"] / total["together_s"]}}))
        rows += _flow_rows("gradient flow, the whole sweep", total)
    if options.json:
        write(options.json, "regimes", rows)


def _flow_rows(case: str, found: dict[str, float]) -> list[dict[str, object]]:
    peers = {"one_by_one_s": "the same passes, one by one", "traced_s": "plain modules, one by one"}
    counts = {"one_by_one_s": 9, "traced_s": 2}  # members of the peer that are timed at each width
    notes = {key: f"peer: {n} members per width, scaled by steps; aim 5×" for key, n in counts.items()}
    return [row(case, found["together_s"], found[key], name, note=notes[key]) for key, name in peers.items()]


if __name__ == "__main__":
    main()

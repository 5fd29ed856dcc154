"""Empirical tangent kernels: priorscope beside the PyTorch tutorial's method, nngeometry and neural-tangents.

Run: PRIORSCOPE_PEERS=<folder of virtual environments> python benchmarks/ntk.py [--case mlp|conv|all]

Every method runs in a process of its own on the same weights and inputs (float32, from one numpy seed), so peak memory is
its own; kernels are compared by their norms. Peers are looked for in $PRIORSCOPE_PEERS/<name>/bin/python and left out,
with a word, where absent.

mlp:  784-512-512-1, ReLU, n = 200. conv: three 3x3 layers of 32 channels on 3x32x32, dense to 10 outputs, n = 100, summed
over outputs and in full.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

CASES = {"mlp": ["priorscope", "tutorial", "nngeometry", "neural-tangents"], "conv": ["priorscope", "tutorial"]}
WIDTHS = (784, 512, 512, 1)
CHANNELS = (3, 32, 32, 32)


def arrays(case: str) -> tuple[list[tuple[Any, Any]], Any]:
    """Weights (in PyTorch's order of axes) and biases of every layer, and the inputs."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return (rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    if case == "mlp":
        layers = [(draw(b, a), 0.1 * draw(b, 1)[:, 0]) for a, b in pairwise(WIDTHS)]
        return layers, rng.normal(size=(200, 784)).astype(np.float32)
    layers = [(draw(b, a, 3, 3), 0.1 * draw(b, 1)[:, 0]) for a, b in pairwise(CHANNELS)]
    layers.append((draw(10, 32 * 26 * 26), 0.1 * draw(10, 1)[:, 0]))
    return layers, rng.normal(size=(100, 3, 32, 32)).astype(np.float32)


def torch_network(case: str) -> tuple[Any, Any]:
    """The network as plain torch modules, and the inputs."""
    import torch
    from torch import nn

    layers, x = arrays(case)
    modules: list[nn.Module] = []
    for i, (weight, bias) in enumerate(layers):
        if weight.ndim == 4:
            module: nn.Module = nn.Conv2d(weight.shape[1], weight.shape[0], 3)
        else:
            modules += [nn.Flatten()] if case == "conv" else []
            module = nn.Linear(weight.shape[1], weight.shape[0])
        module.weight.data, module.bias.data = torch.as_tensor(weight), torch.as_tensor(bias)  # type: ignore[assignment]
        modules += [module] + ([nn.ReLU()] if i + 1 < len(layers) else [])
    return nn.Sequential(*modules), torch.as_tensor(x)


def priorscope(case: str) -> dict[str, Callable[[], Any]]:
    """Ours."""
    from priorscope.probes import empirical_ntk

    network, x = torch_network(case)
    kinds = {"": "sum"} if case == "mlp" else {" sum": "sum", " full": "full"}
    return {name: lambda kind=kind: empirical_ntk(network, x, outputs=kind) for name, kind in kinds.items()}  # type: ignore[misc]


def tutorial(case: str) -> dict[str, Callable[[], Any]]:
    """Per-sample Jacobians of all parameters by torch.func, contracted parameter by parameter."""
    import torch
    from torch.func import functional_call, jacrev, vmap

    network, x = torch_network(case)
    params = {name: p.detach() for name, p in network.named_parameters()}

    def single(values: Any, one: Any) -> Any:
        return functional_call(network, values, (one.unsqueeze(0),)).squeeze(0)

    def kernel(pattern: str) -> Any:
        rows = vmap(jacrev(single), (None, 0))(params, x)
        left = [row.flatten(2) for row in rows.values()]
        rows = vmap(jacrev(single), (None, 0))(
            params, x
        )  # of the second batch, which the tutorial does not know is the first
        right = [row.flatten(2) for row in rows.values()]
        return torch.stack([torch.einsum(pattern, a, b) for a, b in zip(left, right)]).sum(0)

    patterns = {"": "naf,maf->nm"} if case == "mlp" else {" sum": "naf,maf->nm", " full": "naf,mbf->nmab"}
    return {name: lambda pattern=pattern: kernel(pattern) for name, pattern in patterns.items()}  # type: ignore[misc]


def nngeometry(case: str) -> dict[str, Callable[[], Any]]:
    """nngeometry's Gram matrix."""
    from nngeometry import GramMatrix
    from nngeometry.layercollection import LayerCollection
    from torch.utils.data import DataLoader, TensorDataset

    network, x = torch_network(case)
    loader = DataLoader(TensorDataset(x), batch_size=len(x))
    layers = LayerCollection.from_model(network)

    def kernel() -> Any:
        found = GramMatrix(network, loader, layer_collection=layers).to_torch()
        return found.reshape(len(x), len(x)) if found.numel() == len(x) ** 2 else found

    return {"": kernel}


def neural_tangents(case: str) -> dict[str, Callable[[], Any]]:
    """neural-tangents' structured derivatives, compiled."""
    import types

    sys.modules["neural_tangents.experimental"] = types.ModuleType("experimental")  # it would import TensorFlow
    import jax
    import jax.numpy as jnp
    import neural_tangents as nt

    layers, x = arrays(case)
    params = [(jnp.asarray(w.T), jnp.asarray(b)) for w, b in layers]  # as its rules know a dense layer

    def forward(values: Any, inputs: Any) -> Any:
        for i, (w, b) in enumerate(values):
            inputs = inputs @ w + b
            inputs = jax.nn.relu(inputs) if i + 1 < len(values) else inputs
        return inputs

    kernel = nt.empirical_ntk_fn(
        forward,
        trace_axes=(-1,),
        vmap_axes=0,
        implementation=nt.NtkImplementation.STRUCTURED_DERIVATIVES,
    )
    compiled = jax.jit(lambda values, inputs: kernel(inputs, None, values))
    data = jnp.asarray(x)
    return {"": lambda: np.asarray(compiled(params, data).block_until_ready())}


WORKERS = {
    "priorscope": priorscope,
    "tutorial": tutorial,
    "nngeometry": nngeometry,
    "neural-tangents": neural_tangents,
}


def work(method: str, case: str) -> list[dict[str, Any]]:
    """Times, peak memory beyond the start, and norm of the kernel, of one method in this process."""
    calls = WORKERS[method](case)
    rows = []
    for name, call in calls.items():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        kernel = call()  # compile, allocate
        times: list[float] = []
        while len(times) < 3 or (sum(times) < 3 and len(times) < 50):
            started = time.perf_counter()
            kernel = call()
            times.append(time.perf_counter() - started)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        norm = float(np.linalg.norm(np.asarray(kernel.detach() if hasattr(kernel, "detach") else kernel).ravel()))
        rows.append(
            {
                "method": method,
                "case": case + name,
                "ms": 1e3 * statistics.median(times),
                "best_ms": 1e3 * min(times),
                "peak_mb": peak / 1024,
                "norm": norm,
            }
        )
    return rows


def interpreter(method: str) -> str | None:
    """Where a method runs: here, or in a peer's own environment."""
    if method in ("priorscope", "tutorial"):
        return sys.executable
    folder = os.environ.get("PRIORSCOPE_PEERS")
    python = Path(folder) / method / "bin" / "python" if folder else None
    return str(python) if python is not None and python.exists() else None


def measure(method: str, case: str) -> list[dict[str, Any]]:
    """One method in a process of its own; nothing where the peer is absent or fails."""
    python = interpreter(method)
    if python is None:
        print(f"{case:10} {method:16} absent: set PRIORSCOPE_PEERS to a folder with {method}/bin/python")
        return []
    command = [python, __file__, "--worker", method, "--case", case]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        print(f"{case:10} {method:16} failed: {done.stderr.strip().splitlines()[-1] if done.stderr else 'no message'}")
        return []
    return json.loads(done.stdout.strip().splitlines()[-1])


def main(cases: list[str]) -> list[dict[str, Any]]:
    """Prints every method's time and memory, and what multiple of ours they are."""
    rows = [row for case in cases for method in CASES[case] for row in measure(method, case)]
    ours = {row["case"]: row for row in rows if row["method"] == "priorscope"}
    for row in rows:
        base = ours.get(row["case"], row)
        agree = abs(row["norm"] / base["norm"] - 1)
        print(
            f"{row['case']:10} {row['method']:16} {row['ms']:9.2f} ms (best {row['best_ms']:.2f}), "
            f"{row['ms'] / base['ms']:7.1f} x ours, peak {row['peak_mb']:7.0f} MB "
            f"({row['peak_mb'] / max(base['peak_mb'], 1e-3):.1f} x), norm differs by {agree:.0e}"
        )
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="all", choices=["mlp", "conv", "all"])
    parser.add_argument("--worker", choices=list(WORKERS))
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(work(options.worker, options.case)))
    else:
        main(list(CASES) if options.case == "all" else [options.case])

"""Infinite-width kernels: priorscope beside neural-tangents, or beside the torch reference where that is absent.

Run: PRIORSCOPE_PEERS=<folder of virtual environments> python benchmarks/kernels.py [--case gap8 …] [--growth] [--json file]

Every method runs in a process of its own on the same inputs (float32, from one numpy seed); times are the best of as many
repetitions as take 2.5 s, after one that compiles. neural-tangents is looked for in
$PRIORSCOPE_PEERS/neural-tangents/bin/python; its kernel function is jitted. The last line of a case gives the ratio, how
far the two kernels lie apart, and the error of our float32 against our float64.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

# name: readout, hidden layers, inputs, input shape (channels first), words
CASES: dict[str, tuple[str, int, int, tuple[int, ...], str]] = {
    "gap8": ("gap", 3, 64, (3, 8, 8), "GAP, depth 3, 3×8×8, 64 images"),
    "gap16": ("gap", 3, 8, (3, 16, 16), "GAP, depth 3, 3×16×16, 8 images"),
    "gap32": ("gap", 3, 2, (3, 32, 32), "GAP, depth 3, 3×32×32, 2 images"),
    # 21 layers with the readout, the archived library's own example: a pair of different images, and one with itself
    "deep": ("gap", 20, 2, (3, 32, 32), "GAP, 21 layers, 3×32×32, a pair of images"),
    "deep-self": ("gap", 20, 1, (3, 32, 32), "GAP, 21 layers, 3×32×32, 1 image"),
    "vec": ("vec", 3, 500, (3, 8, 8), "VEC, depth 3, 3×8×8, 500 images"),
    "fcn": ("fcn", 3, 2000, (784,), "FCN, depth 3, 784 inputs, 2000 points"),
}
# of one ReLU layer on one pixel pair: 3x3 filters of K and T (12; none for fcn), angle (27, or 44 in the general loops), the rest
FLOPS = {"gap": 58, "vec": 75, "fcn": 63}
PAIRED = ("deep",)  # the first input against the second, instead of all with all


def inputs(case: str) -> Any:
    """Two batches, or one and None."""
    _, _, n, shape, _ = CASES[case]
    x = np.random.default_rng(0).standard_normal((n, *shape)).astype(np.float32)
    return (x[:1], x[1:]) if case in PAIRED else (x, None)


def best(run: Any, budget: float = 2.5, clock: Any = time.perf_counter) -> float:
    """The least time of as many repetitions as take ``budget`` seconds, two at least, after one that compiles."""
    run()
    times: list[float] = []
    while len(times) < 2 or sum(times) < budget:
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def ours(case: str, path: str = "auto") -> dict[str, Any]:
    import torch

    import priorscope as ps

    kind, depth, *_ = CASES[case]
    arch = getattr(ps.models, kind)(depth=depth)
    x, y = (None if v is None else torch.as_tensor(v) for v in inputs(case))
    assert x is not None
    seconds = best(lambda: arch.kernel(x, y, path=path))
    ntk = arch.kernel(x, y, path=path).ntk
    exact = arch.kernel(x.double(), None if y is None else y.double(), path=path).ntk
    error = float((ntk.double() - exact).abs().max() / exact.abs().max())
    return {"seconds": seconds, "error32": error, "corner": exact[:4, :4].tolist()}


def neural_tangents(case: str) -> dict[str, Any]:
    import types

    sys.modules["neural_tangents.experimental"] = types.ModuleType("neural_tangents.experimental")
    import jax
    from neural_tangents import stax

    kind, depth, *_ = CASES[case]
    x, y = inputs(case)
    dense = stax.Dense(1, 2.0**0.5, 0.0)
    if kind == "fcn":
        layers = [dense, stax.Relu()] * depth
    else:
        layers = [stax.Conv(1, (3, 3), (1, 1), "CIRCULAR", 2.0**0.5, 0.0), stax.Relu()] * depth
        layers.append(stax.GlobalAvgPool() if kind == "gap" else stax.Flatten())
        x, y = np.moveaxis(x, 1, -1), None if y is None else np.moveaxis(y, 1, -1)
    kernel = jax.jit(stax.serial(*layers, dense)[2], static_argnums=(2,))
    values: list[Any] = []

    def run() -> None:
        values[:] = [jax.block_until_ready(kernel(x, y, "ntk"))]

    return {"seconds": best(run), "corner": np.asarray(values[0])[:4, :4].tolist()}


def in_process(python: str, method: str, case: str) -> dict[str, Any] | None:
    run = subprocess.run(
        [python, __file__, "--worker", method, "--case", case], capture_output=True, text=True, timeout=1800
    )
    if run.returncode:
        print(f"  {method} failed: {run.stderr.strip().splitlines()[-1:]}")
        return None
    return json.loads(run.stdout.strip().splitlines()[-1])


def peak_gflops() -> float:
    """Double-precision products of matrices: what the cores reach at best."""
    import torch

    a = torch.randn(1500, 1500, dtype=torch.float64)
    return 2 * 1500**3 / best(lambda: a @ a, 1.0) / 1e9


def compare(case: str, peer: Path | None, peak: float) -> dict[str, Any]:
    kind, depth, n, shape, words = CASES[case]
    print(f"{case}: {kind}, depth {depth}, n = {n}, inputs {shape}")
    mine = in_process(sys.executable, "ours", case)
    if mine is None:
        raise SystemExit("priorscope itself failed")
    name = "neural-tangents" if peer is not None else "reference"
    other = in_process(str(peer), "neural_tangents", case) if peer is not None else None
    if other is None and case not in ("gap32", "deep", "deep-self", "gap8"):  # the reference would not fit there
        name, other = "reference", in_process(sys.executable, "reference", case)
    pairs = 1 if case in PAIRED else n * (n + 1) / 2
    pixels = int(np.prod(shape[1:])) if len(shape) > 1 else 1
    numbers = pairs * depth * (pixels**2 if kind == "gap" else pixels)
    gflops = numbers * FLOPS[kind] / mine["seconds"] / 1e9
    row: dict[str, Any] = {
        "case": words,
        "seconds": mine["seconds"],
        "error32": mine["error32"],
        "entries_per_second": pairs / mine["seconds"],
        "seconds_per_entry": mine["seconds"] / pairs,
        "gflops": gflops,
        "peak_gflops": peak,
    }
    print(
        f"  priorscope {mine['seconds']:.4g} s, {row['entries_per_second']:.4g} entries/s, {gflops:.3g} of {peak:.3g} GFLOP/s"
    )
    if other is not None:
        a, b = np.array(mine["corner"]), np.array(other["corner"])
        row |= {"peer": name, "peer_seconds": other["seconds"], "ratio": other["seconds"] / mine["seconds"]}
        row["apart"] = float(np.abs(a - b).max() / np.abs(a).max())
        row["note"] = f"apart {row['apart']:.0e}, own error {mine['error32']:.0e}, {gflops:.3g} of {peak:.3g} GFLOP/s"
        print(f"  {name} {other['seconds']:.4g} s: ratio {row['ratio']:.3g}, {row['note']}")
    else:
        row["note"] = f"own error {mine['error32']:.0e}, {gflops:.3g} of {peak:.3g} GFLOP/s"
        print(f"  no peer ran here; float32 error {mine['error32']:.1e}, {row['seconds_per_entry']:.3g} s an entry")
    return row


def growth() -> list[dict[str, Any]]:
    """Exponents of CPU time in inputs, pixels and depth, fitted over three sizes each."""
    import torch

    import priorscope as ps

    def seconds(depth: int, n: int, size: int) -> float:
        x = torch.randn(n, 3, size, size, generator=torch.Generator().manual_seed(0))
        return best(lambda: ps.models.gap(depth=depth).kernel(x), 0.5, time.process_time)

    plans = {
        "n": [(3, n, 8) for n in (32, 64, 128)],
        "d": [(3, 8, s) for s in (8, 16, 24)],
        "depth": [(k, 32, 8) for k in (2, 4, 8)],
    }
    rows = []
    for name, sizes in plans.items():
        along = [{"n": n, "d": size**2, "depth": depth}[name] for depth, n, size in sizes]
        times = [seconds(*size) for size in sizes]
        slope = float(np.polyfit(np.log(along), np.log(times), 1)[0])
        rows.append({"growth": name, "sizes": along, "seconds": times, "exponent": slope})
        print(f"time ~ {name}^{slope:.2f} over {along}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--growth", action="store_true", help="also fit how time grows")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", choices=["ours", "reference", "neural_tangents"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        run = {"ours": ours, "reference": lambda case: ours(case, "reference"), "neural_tangents": neural_tangents}
        print(json.dumps(run[options.worker](options.case[0])))
        return
    folder = os.environ.get("PRIORSCOPE_PEERS")
    python = Path(folder) / "neural-tangents" / "bin" / "python" if folder else None
    peer = python if python is not None and python.exists() else None
    if peer is None:
        print("neural-tangents not found (PRIORSCOPE_PEERS); beside the torch reference instead")
    peak = peak_gflops()
    rows = [compare(case, peer, peak) for case in options.case]
    if options.growth:
        rows += growth()
    if options.json:
        record(rows, options.json)


def record(rows: list[dict[str, Any]], path: Path) -> None:
    """Add the rows to a file of results; those of the same case are replaced, so a run may go in parts."""
    from _results import row, write

    lines = []
    for found in rows:
        if "growth" in found:
            note = f"exponent of CPU time over {found['sizes']}"
            lines.append(row(f"GAP, growth with {found['growth']}", found["exponent"], unit="", note=note))
        else:
            peer = {"neural-tangents": "neural-tangents 0.6.5", "reference": "torch reference"}.get(
                found.get("peer", "")
            )
            lines.append(row(found["case"], found["seconds"], found.get("peer_seconds"), peer, note=found["note"]))
    before = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    kept = [line for line in before if line["case"] not in {new["case"] for new in lines}]
    write(path, "kernels", kept + lines, versions={"neural-tangents": "0.6.5", "jax": "0.4.25"})


if __name__ == "__main__":
    main()

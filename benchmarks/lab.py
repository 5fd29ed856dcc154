"""What the lab costs and gains: overhead per point, and the speed-up of two processes over one.

Run ``python benchmarks/lab.py`` on a quiet machine with two cores or more. Aims: less than 10 ms per point, 1.8 times or more.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from _results import row, write

from priorscope.lab import Paper, Store, process_executor, sweep


def empty(point: dict) -> dict:
    """Nothing but what a usual result carries: a few numbers and a small array."""
    import numpy as np

    return {"loss": 0.5, "accuracy": 0.9, "curve": np.zeros(100)}


def compute(point: dict) -> dict:
    """A compute-bound point: products of matrices that fit the cache, in this process' own threads."""
    import torch

    generator = torch.Generator().manual_seed(point["seed"])
    matrix = torch.randn(256, 256, generator=generator, dtype=torch.float64) / 16
    start = time.perf_counter()
    state = matrix
    for _ in range(point["products"]):
        state = matrix @ state
        state = state / state.norm()
    return {"norm": float(state.norm()), "inner": time.perf_counter() - start}


def timed(paper: Paper, points: list[dict], jobs: int, folder: Path) -> float:
    """Seconds to sweep the points into a fresh store with warm workers."""
    with Store(folder / f"{paper.name}-{jobs}-{time.monotonic_ns()}.sqlite") as store, process_executor(jobs) as pool:
        warm = [{**points[0], "seed": -1 - i, "products": 1} for i in range(4 * jobs)]
        sweep(paper, warm, store, pool)
        start = time.perf_counter()
        summary = sweep(paper, points, store, pool)
        seconds = time.perf_counter() - start
    assert summary.ran == len(points)
    return seconds


def products_for(seconds: float) -> int:
    """How many products take about this long here, on one thread."""
    import torch

    torch.set_num_threads(1)
    compute({"seed": 0, "products": 50})
    return max(50, int(50 * seconds / compute({"seed": 0, "products": 50})["inner"]))


def main() -> None:
    """Measure both and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=500, help="points for the overhead")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a compute-bound point")
    parser.add_argument("--tasks", type=int, default=24, help="compute-bound points")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", help="file for the rows of the performance page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        nothing = Paper("nothing", "", "", 1, lambda scale: [], empty)
        cheap = [{"seed": seed} for seed in range(options.points)]
        overhead = min(timed(nothing, cheap, 1, place) for _ in range(options.repeats)) / options.points
        products = products_for(options.seconds)
        work = Paper("work", "", "", 1, lambda scale: [], compute)
        heavy = [{"seed": seed, "products": products} for seed in range(options.tasks)]
        one, two = [], []
        for _ in range(options.repeats):  # in turn, so that a change of load hits both
            one.append(timed(work, heavy, 1, place))
            two.append(timed(work, heavy, 2, place))
    result = {"overhead_ms": 1e3 * overhead, "one_s": min(one), "two_s": min(two), "speed_up": min(one) / min(two)}
    if options.json:
        rows = [
            row("overhead a point", overhead, note=f"{options.points} empty points, one process; aim below 10 ms"),
            row("compute-bound points, two processes", min(two), min(one), "one process", note="aim 1.8×"),
        ]
        write(options.json, "lab", rows)
    print(f"overhead per point: {result['overhead_ms']:.2f} ms (aim < 10 ms), {options.points} points, one process")
    print(f"two processes: {result['one_s']:.2f} s -> {result['two_s']:.2f} s, {result['speed_up']:.2f}x (aim >= 1.8x)")


if __name__ == "__main__":
    main()

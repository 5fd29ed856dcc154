"""Kernel machines that learn features beside xRFM (Beaglehole et al. 2025, arXiv 2508.10053): seconds at equal accuracy.

2,000 rows of 50 numbers, a target of four columns, or of four random directions (the same rows rotated), noise of one tenth.
xRFM runs with its defaults in a process of its own, with the interpreter ``$PRIORSCOPE_PEERS/xrfm/bin/python``, on one thread,
400 of the 2,000 rows as its validation part; where there is no such interpreter this is said. Ours runs with settings given
(those named below, found on a seed that takes no part: a diagonal M for columns, a full one for directions), and with all
settings chosen by itself. Seconds are of the processor, fit and 2,000 predictions; errors are means over seeds.

    python benchmarks/features.py --json benchmarks/results/features.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from _results import row, shown

import priorscope as ps
from priorscope.data import Split
from priorscope.inference import FeatureMachine

N, D, TEST = 2000, 50, 2000
GIVEN = {
    "four columns": FeatureMachine(
        rounds=2, power=0.5, diagonal=True, bandwidth=2.0, ridge=1e-3, share=0.3, landmarks=400
    ),
    "four directions": FeatureMachine(rounds=2, power=0.25, diagonal=False, bandwidth=4.0, ridge=0.1, share=0.4),
}
PEER = """
import json, sys, time
import numpy as np, torch
torch.set_num_threads(1)
from xrfm import xRFM
data = np.load(sys.argv[1])
x, y, new, wanted = (torch.tensor(data[k], dtype=torch.float32) for k in ("x", "y", "new", "wanted"))
found = []
for _ in range(2):  # the first is to warm up
    began = time.process_time()
    model = xRFM(device=torch.device("cpu"), tuning_metric="mse", verbose=False)
    model.fit(x[:1600], y[:1600], x[1600:], y[1600:])
    guess = np.asarray(model.predict(new)).reshape(-1)
    found = [time.process_time() - began, float(((guess - wanted.numpy().reshape(-1)) ** 2).mean())]
print(json.dumps(found))
"""


def problem(seed: int, rotated: bool) -> dict[str, np.ndarray]:
    """Standard normal rows and a standardised target of four columns; ``rotated`` turns the rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N + TEST, D))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + 0.1 * rng.normal(size=len(X))
    y = ((y - y.mean()) / y.std())[:, None]
    if rotated:
        X = X @ np.linalg.qr(rng.normal(size=(D, D)))[0]
    return {"x": X[:N], "y": y[:N], "new": X[N:], "wanted": y[N:]}


def ours(machine: FeatureMachine, given: dict[str, np.ndarray]) -> tuple[float, float]:
    """Processor seconds of fit and predictions, and the squared error."""
    x, y, new, wanted = (torch.from_numpy(given[k]) for k in ("x", "y", "new", "wanted"))
    began = time.process_time()
    guess = machine.fit(ps.models.laplace(), Split(x, y)).predict(new)
    return time.process_time() - began, float((guess - wanted).square().mean())


def peer(given: dict[str, np.ndarray], folder: Path) -> tuple[float, float] | None:
    """The same by xRFM in its own interpreter; None where there is none."""
    python = Path(os.environ.get("PRIORSCOPE_PEERS", "")) / "xrfm" / "bin" / "python"
    if not python.exists():
        return None
    file = folder / "problem.npz"
    np.savez(file, **given)
    one = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": ""}
    done = subprocess.run([str(python), "-c", PEER, str(file)], capture_output=True, text=True, check=True, env=one)
    seconds, error = json.loads(done.stdout.strip().splitlines()[-1])
    return seconds, error


def main() -> None:
    """Print the table, and write it where ``--json`` says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    ours(FeatureMachine(), {k: v[:200] for k, v in problem(0, False).items()})  # compile what is compiled
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for rotated in (False, True):
            case = "four directions" if rotated else "four columns"
            each: dict[str, list[tuple[float, float]]] = {"given": [], "chosen": [], "xrfm": []}
            for seed in range(options.seeds):
                given = problem(seed, rotated)
                each["given"].append(ours(GIVEN[case], given))
                each["chosen"].append(ours(FeatureMachine(), given))
                other = peer(given, Path(folder))
                each["xrfm"] += [] if other is None else [other]
            means = {name: np.mean(values, 0) for name, values in each.items() if values}
            for name, told in (("given", "settings given"), ("chosen", "settings chosen")):
                seconds, error = means[name]
                if "xrfm" in means:
                    note = f"squared error {error:.3f}, xRFM {means['xrfm'][1]:.3f}"
                    rows.append(
                        row(f"{case} of {D}, {N:,} rows, {told}", seconds, means["xrfm"][0], "xrfm 0.4.5", note=note)
                    )
                else:
                    rows.append(
                        row(
                            f"{case} of {D}, {N:,} rows, {told}",
                            seconds,
                            note=f"squared error {error:.3f}; no xRFM here",
                        )
                    )
    shown(rows, options.json, "features")


if __name__ == "__main__":
    main()

"""Kernel machines that learn features beside xRFM (Beaglehole et al. 2025, arXiv 2508.10053): seconds at equal accuracy.

2,000 rows of 50 numbers, a target of four columns, or of four random directions (the same rows rotated), noise of one tenth.
xRFM runs with its defaults in a process of its own, with the interpreter ``$PRIORSCOPE_PEERS/xrfm/bin/python``, on one thread,
400 of the 2,000 rows as its validation part; where there is no such interpreter this is said. Ours runs with settings given
(those named below, found on a seed that takes no part: a diagonal M for columns, a full one for directions), and with all
settings chosen by itself. Seconds are of the processor, fit and 2,000 predictions; errors are means over seeds.

    python benchmarks/features.py --json benchmarks/results/features.json

``--tables`` runs the 20 KEEL tables of the paper ``feature-machines`` instead, both folds of each: our machine as it comes,
the same kernel without features, tangent kernels, random forests, boosted trees, and xRFM at its defaults with a fifth of the
training rows as its validation part. Accuracies are means over tables; seconds are of the processor, fit and predictions of all
folds, each predictor once to warm up before.

    python benchmarks/features.py --tables --json benchmarks/results/feature_tables.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from _results import row, write

import priorscope as ps
from priorscope.data import Split
from priorscope.inference import FeatureMachine
from priorscope.papers.features._machines import TABLES, TableFold, table_fold, tangent_scores

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


TABLE_PEER = """
import json, sys, time
import numpy as np, torch
torch.set_num_threads(1)
from xrfm import xRFM
data = np.load(sys.argv[1])
found = []
for i in [0, *range(int(data["n"]))]:  # the first is to warm up
    x, y, new, val = (data[f"{k}{i}"] for k in ("x", "y", "new", "val"))
    tensors = lambda at: (torch.tensor(x[at], dtype=torch.float32), torch.tensor(y[at], dtype=torch.long))
    part = (*tensors(~val), *tensors(val))
    began = time.process_time()
    model = xRFM(device=torch.device("cpu"), verbose=False)
    model.fit(*part)
    guess = np.asarray(model.predict(torch.tensor(new, dtype=torch.float32))).reshape(-1)
    found.append([time.process_time() - began, guess.tolist()])
print(json.dumps(found[1:]))
"""


def own_scores(fold: TableFold) -> dict[str, Callable[[], np.ndarray]]:
    """Labels for the test half by each predictor of ours and of scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    inside, outside = fold.split.inputs.numpy(), fold.new.numpy()

    def machine(rounds: int) -> np.ndarray:
        return FeatureMachine(rounds=rounds).fit(ps.models.laplace(), fold.split).predict(fold.new).numpy().argmax(1)

    return {
        "features": lambda: machine(4),
        "Laplace without features": lambda: machine(0),
        "tangent kernel, depth and ridge tuned": lambda: tangent_scores(fold.split, fold.new).argmax(1),
        "random forest, 300 trees": lambda: (
            RandomForestClassifier(300, random_state=0).fit(inside, fold.labels).predict(outside)
        ),
        "boosted trees": lambda: (
            HistGradientBoostingClassifier(random_state=0).fit(inside, fold.labels).predict(outside)
        ),
    }


def peer_on_tables(folds: list[TableFold], folder: Path) -> list[tuple[float, np.ndarray]] | None:
    """Seconds and labels of xRFM on each fold; None where there is no interpreter with it."""
    from sklearn.model_selection import train_test_split

    python = Path(os.environ.get("PRIORSCOPE_PEERS", "")) / "xrfm" / "bin" / "python"
    if not python.exists():
        return None
    given: dict[str, object] = {"n": len(folds)}
    for i, fold in enumerate(folds):
        classes = fold.labels if np.bincount(fold.labels).min() >= 2 else None
        _, at = train_test_split(np.arange(len(fold.labels)), test_size=0.2, random_state=0, stratify=classes)
        val = np.isin(np.arange(len(fold.labels)), at)
        given |= {f"x{i}": fold.split.inputs.numpy(), f"y{i}": fold.labels, f"new{i}": fold.new.numpy(), f"val{i}": val}
    np.savez(folder / "tables.npz", **given)
    one = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": ""}
    done = subprocess.run(
        [str(python), "-c", TABLE_PEER, str(folder / "tables.npz")], capture_output=True, text=True, check=True, env=one
    )
    return [(seconds, np.array(guess)) for seconds, guess in json.loads(done.stdout.strip().splitlines()[-1])]


def on_tables(folder: Path) -> list[dict[str, object]]:
    """One row per predictor beside ours: mean accuracy over tables with its standard error, and seconds of all folds."""
    points = [{"table": t, "fold": f, "rows": 400, "seed": 0} for t in TABLES for f in (0, 1)]
    folds = [table_fold(point) for point in points]
    right: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    for i, fold in enumerate([folds[0], *folds]):
        for name, labels in own_scores(fold).items():
            began = time.process_time()
            guess = labels()
            if i:
                seconds[name] = seconds.get(name, 0.0) + time.process_time() - began
                right.setdefault(name, []).append(float((guess == fold.wanted).mean()))
    found = peer_on_tables(folds, folder)
    if found is not None:
        seconds["xrfm 0.4.5"] = sum(s for s, _ in found)
        right["xrfm 0.4.5"] = [float((g == fold.wanted).mean()) for (_, g), fold in zip(found, folds, strict=True)]
    means = {name: np.array(values).reshape(-1, 2).mean(1) for name, values in right.items()}  # (tables,)
    rows = []
    for name in means:
        if name == "features":
            continue
        gap = means["features"] - means[name]
        note = (
            f"accuracy {100 * means['features'].mean():.1f} %, {name} {100 * means[name].mean():.1f} %; "
            f"{100 * gap.mean():+.1f} ± {100 * gap.std(ddof=1) / len(gap) ** 0.5:.1f} points over {len(gap)} tables"
        )
        rows.append(row(f"{len(gap)} KEEL tables, two folds each", seconds["features"], seconds[name], name, note=note))
    return rows


def main() -> None:
    """Print the table, and write it where ``--json`` says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tables", action="store_true", help="the tables of feature-machines instead")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.tables:
        with tempfile.TemporaryDirectory() as folder:
            rows = on_tables(Path(folder))
        shown(rows, options.json, "feature_tables")
        return
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


def shown(rows: list[dict[str, object]], path: Path | None, name: str) -> None:
    """Print the rows, and write them where there is a path."""
    for line in rows:
        beside = "" if line["peer"] is None else f", {line['peer_name']} {line['peer']:.3g} s, {line['ratio']:.3g}×"
        print(f"{line['case']}: {line['ours']:.3g} s{beside}; {line['note']}")
    if path:
        peers = {str(line["peer_name"]).split(" ")[0] for line in rows}
        write(path, name, rows, versions={"xrfm": "0.4.5"} if "xrfm" in peers else None)


if __name__ == "__main__":
    main()

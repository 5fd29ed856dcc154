"""Kernel machines that learn features on tables, beside xRFM (Beaglehole et al. 2025, arXiv 2508.10053) and others.

The 20 KEEL tables of the paper ``feature-machines``, both folds of each: our machine as it comes, the same kernel without
features, tangent kernels, random forests, boosted trees, and xRFM at its defaults with a fifth of the training rows as its
validation part, in a process of its own (``$PRIORSCOPE_PEERS/xrfm/bin/python``; left out where there is none). Accuracies are
means over tables; seconds are of the processor, fit and predictions of all folds, each predictor once to warm up before.

    python benchmarks/feature_tables.py --json benchmarks/results/feature_tables.json
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
from _results import row, shown

import priorscope as ps
from priorscope.inference import FeatureMachine
from priorscope.papers.features._machines import TABLES, TableFold, table_fold, tangent_scores

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
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        rows = on_tables(Path(folder))
    shown(rows, options.json, "feature_tables")


if __name__ == "__main__":
    main()

"""Wrong labels put in on purpose: average precision of our ranking and of cleanlab's.

Run: python benchmarks/label_noise.py [--json PATH] [--peer PYTHON] [--draws 2]

The peer is cleanlab in an environment of its own, whose Python is given by --peer or $PRIORSCOPE_CLEANLAB. It ranks labels twice:
by our left-out predictions (as probabilities), and by its own (logistic regression, five folds, its default). One label in ten
and one in five are flipped on data sets that took no part in making the estimator.
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
from _results import row, write

from priorscope.probes import label_noise
from priorscope.validation.label_noise._label_noise import JUDGED, average_precision, flipped, samples

PEER = """
import json, sys
import numpy as np
import cleanlab
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
with np.load(sys.argv[1]) as case:
    x, y, p = case["x"], case["y"], case["p"]
own = cross_val_predict(make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)), x, y, cv=5, method="predict_proba")
told = {"version": cleanlab.__version__}
for name, q in (("same", p), ("own", own)):
    issues = find_label_issues(y, q)
    told[name] = {"quality": get_label_quality_scores(y, q).tolist(), "rate": float(issues.mean())}
print(json.dumps(told))
"""
RATES = (0.1, 0.2)


def probabilities(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Scores of regression as probabilities: clipped at zero and divided by their sum."""
    kept = np.clip(scores, 1e-6, None)
    return kept / kept.sum(1, keepdims=True)


def main() -> None:
    """Print average precision by data set, rate and ranking."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--peer", default=os.environ.get("PRIORSCOPE_CLEANLAB"))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--rows", type=int, default=500)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[tuple[float, str], list[float]] = {}
    version, cpu = "absent", 0.0
    for name in JUDGED:
        for seed in range(100, 100 + arguments.draws):
            x, y = samples(name, arguments.rows, seed)
            for rate in RATES:
                given = flipped(y, rate, seed)
                start = time.process_time()
                ours = label_noise(torch.from_numpy(x), [f"c{c:02d}" for c in given], n=len(x), seed=seed)
                cpu += time.process_time() - start
                wrong = given != y
                found.setdefault((rate, "priorscope"), []).append(average_precision(wrong[ours.rows], -ours.suspicion))
                if arguments.peer is None:
                    continue
                told = beside(arguments.peer, x, given, ours.rows, probabilities(ours.scores, given))
                version = str(told["version"])
                for which in ("same", "own"):
                    score = -np.asarray(told[which]["quality"])
                    found.setdefault((rate, which), []).append(average_precision(wrong, score))
        print(
            name,
            {f"{k[1]} {k[0]:g}": round(float(np.mean(v[-arguments.draws :])), 3) for k, v in found.items()},
            flush=True,
        )
    rows = []
    for rate in RATES:
        mine = float(np.mean(found[rate, "priorscope"]))
        print(f"{rate:.0%} flipped: priorscope {mine:.3f}", end="")
        for which, words in (("same", "on our predictions"), ("own", "on its own")):
            if (rate, which) in found:
                theirs = float(np.mean(found[rate, which]))
                print(f", cleanlab {version} {words} {theirs:.3f}", end="")
                note = f"{len(JUDGED)} data sets, {arguments.draws} draws"
                rows.append(
                    row(f"wrong labels, {rate:.0%} flipped", mine, theirs, f"cleanlab {version} {words}", ratio=mine / theirs,
                        unit="average precision", note=note)
                )  # fmt: skip
        print()
    print(f"{cpu / (len(JUDGED) * arguments.draws * len(RATES)):.2f} s of processor time per data set for ours")
    if arguments.peer is None:
        print("cleanlab was not measured: name its Python by --peer")
    if arguments.json and rows:
        write(arguments.json, "label_noise", rows)


def beside(python: str, x: np.ndarray, given: np.ndarray, order: np.ndarray, p: np.ndarray) -> dict:
    """What cleanlab says in its own process, in the order of the data."""
    whole = np.empty_like(p)
    whole[order] = p
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.npz"
        np.savez(file, x=x.reshape(len(x), -1), y=given, p=whole)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(
            [python, "-W", "ignore", "-c", PEER, str(file)], capture_output=True, text=True, check=True, env=environment
        )
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()

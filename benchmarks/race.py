"""The profile beside what people use to choose a model, at equal CPU seconds, on real tables and images.

For each problem of ``race_problems.csv`` the profile chooses, builds and fits (``ps.profile(X, y).build().fit(X, y)``); each
peer is then given as many CPU seconds as that took. Peers: five-fold cross-validation over ten classical rows, learning-curve
cross-validation (lccv) over the same, FLAML, AutoGluon's quickest preset, LazyPredict. Errors are those of rows that took no
part: share misclassified, 1 - AUC where one of two classes is rare, or root mean square.

Each peer lives in a virtual environment of its own under ``$PRIORSCOPE_PEERS`` (or ``--peers``); absent ones are told::

    cd $PRIORSCOPE_PEERS
    python -m venv flaml && flaml/bin/pip install flaml==2.7 lightgbm xgboost-cpu "scikit-learn<1.8" lccv==0.2.2 lazypredict==0.3
    python -m venv autogluon && autogluon/bin/pip install "autogluon.tabular[lightgbm]==1.6"
    python benchmarks/race.py --runs race_runs.json --json benchmarks/results/race.json

Every run is kept in ``--runs`` as it ends, and not done again by the same version of the library; ``--only`` takes a part of the
list.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from _race_problems import Entry, Task, entries, load
from _references import error_of
from _results import row, write
from ordinary import commit, limited, rounded, spent

OURS = "priorscope"
ROOM = {"cross-validation": None, "lccv": "flaml", "FLAML": "flaml", "AutoGluon": "autogluon", "LazyPredict": "flaml"}
VERSIONS = {"lccv": "lccv", "FLAML": "flaml", "AutoGluon": "autogluon.tabular", "LazyPredict": "lazypredict"}
LIMIT = 1_200.0  # CPU seconds of our profile, and of its fit, before they are stopped
NEAR = 0.1  # within a tenth of the best, or a quarter of a point where errors are shares
Found = dict[str, Any]


def scored(metric: str, wanted: Any, guess: Any) -> float:
    """The error of predictions, or one minus the area under the curve of scores."""
    if metric == "auc":
        from sklearn.metrics import roc_auc_score

        return 1 - float(roc_auc_score(wanted == np.unique(wanted)[1], guess))
    return error_of({"error": "misclassification", "rmse": "rmse"}[metric], wanted, guess)


def put(task: Task, folder: Path) -> None:
    """Write the rows for an interpreter of another environment: text and plain arrays, no pickle."""
    frame = hasattr(task.x, "to_csv")
    about = {"frame": frame, "metric": task.metric, "task": "regression" if task.metric == "rmse" else "classification"}
    if frame:
        words = {str(c) for c in task.x.columns if task.x[c].dtype.kind in "OTU"}  # type: ignore[attr-defined]
        about["kinds"] = {str(c): "str" if str(c) in words else "float64" for c in task.x.columns}  # type: ignore[attr-defined]
    for name, rows in (("x", task.x), ("new", task.new)):
        if frame:
            rows.astype({c: float for c, k in about["kinds"].items() if k == "float64"}).to_csv(  # type: ignore[attr-defined]
                folder / f"{name}.csv", index=False
            )
        else:
            np.save(folder / f"{name}.npy", rows)
    np.save(folder / "y.npy", task.y if task.metric == "rmse" else np.asarray(task.y).astype(str))
    (folder / "about.json").write_text(json.dumps(about))


def ours(name: str, file: Path, budget: str | None) -> None:
    """Choose, build and fit, in a process of its own; what is known is written after every step."""
    import inspect

    import priorscope as ps

    task = load(entries()[name])
    metric = {"error": "misclassification", "auc": "auc", "rmse": "rmse"}[task.metric]
    more = {"budget": budget} if budget and "budget" in inspect.signature(ps.profile).parameters else {}
    began = spent()
    with limited(LIMIT):
        report: Any = ps.profile(task.x, task.y, metric=metric, **more)
    found: Found = {"chosen": report.best.name, "said": float(report.best.estimate.value), "profile s": spent() - began}
    file.write_text(json.dumps(found))
    with limited(LIMIT):
        model = report.build().fit(task.x, task.y)
    found["seconds"] = spent() - began
    guess = np.asarray(model.predict_proba(task.new))[:, 1] if task.metric == "auc" else model.predict(task.new)
    file.write_text(json.dumps({**found, "error": scored(task.metric, task.wanted, guess)}))


def run_ours(name: str, folder: Path, budget: str | None) -> Found:
    file = folder / "ours.json"
    command = [sys.executable, str(Path(__file__)), "--work", name, "--file", str(file)]
    done = subprocess.run(
        [*command, *(["--budget", budget] if budget else [])], capture_output=True, text=True, check=False
    )
    found: Found = json.loads(file.read_text()) if file.exists() else {}
    if done.returncode:
        found["trouble"] = (done.stderr.strip().splitlines() or ["no word"])[-1][:300]
    return found


def run_peer(method: str, python: str, task: Task, folder: Path, seconds: float) -> Found:
    """One peer in its own interpreter; an error of its own is its result."""
    for old in ("guess.npy", "told.json"):
        (folder / old).unlink(missing_ok=True)
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": ""}
    command = [python, str(Path(__file__).with_name("_race_peers.py")), method, str(folder), str(seconds)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **one}, timeout=60 + 40 * seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return {"trouble": f"no end after {60 + 40 * seconds:.0f} s of wall"}
    if done.returncode:
        return {"trouble": (done.stderr.strip().splitlines() or ["no word"])[-1][:300]}
    told: Found = json.loads((folder / "told.json").read_text())
    guess = np.load(folder / "guess.npy", allow_pickle=False)
    return {**told, "error": scored(task.metric, task.wanted, guess)}


def interpreters(home: str | None) -> dict[str, str]:
    """The interpreter of every method that can run here; the others are told."""
    found = {}
    for method, room in ROOM.items():
        python = sys.executable if room is None else str(Path(home or "nowhere") / room / "bin" / "python")
        if Path(python).exists():
            found[method] = python
        else:
            print(f"{method} is left out: no {room}/bin/python in $PRIORSCOPE_PEERS ({home or 'not set'})")
    return found


def versions(python: Mapping[str, str]) -> dict[str, str]:
    ask = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    known = {}
    for method, package in VERSIONS.items():
        if method in python:
            done = subprocess.run([python[method], "-c", ask, package], capture_output=True, text=True, check=False)
            known[package] = done.stdout.strip() or "unknown"
    return known


# -- tables --------------------------------------------------------------------------------------------------------------


def judged(problems: Mapping[str, Found]) -> dict[str, Found]:
    """Per method: mean rank, share near the best of everything, mean excess over it, over problems that all of them ended."""
    methods = [OURS, *ROOM]
    present = [m for m in methods if any("error" in k["runs"].get(m, {}) for k in problems.values())]
    found: dict[str, Found] = {m: {"ranks": [], "near": [], "excess": [], "seconds": [], "failed": 0} for m in present}
    for known in problems.values():
        errors = {m: known["runs"].get(m, {}).get("error", float("inf")) for m in present}
        best = min(errors.values())
        room = max(NEAR * best, 0.0 if known["metric"] == "rmse" else 0.0025)
        for m, error in errors.items():
            better, same = sum(e < error for e in errors.values()), sum(e == error for e in errors.values())
            found[m]["ranks"].append(1 + better + (same - 1) / 2)
            found[m]["near"].append(error <= best + room)
            found[m]["failed"] += not np.isfinite(error)
            if np.isfinite(error):
                found[m]["excess"].append((error - best) / max(best, 1e-3))
                found[m]["seconds"].append(known["runs"][m]["seconds"])
    return found


def record(path: Path, problems: Mapping[str, Found], known: Mapping[str, str]) -> None:
    rows = []
    for method, k in judged(problems).items():
        if k["excess"]:
            note = f"within a tenth of the best {100 * np.mean(k['near']):.0f} %, mean excess "
            note += f"{100 * np.mean(k['excess']):.1f} %, median {np.median(k['seconds']):.0f} CPU s, {k['failed']} failed; "
            note += f"{len(problems)} problems"
            rows.append(row(f"{method}: mean rank", float(np.mean(k["ranks"])), unit="", note=note))
    write(path, "race", rows, versions=known, problems=rounded(problems))


def show(problems: Mapping[str, Found]) -> None:
    for method, k in judged(problems).items():
        excess = 100 * np.mean(k["excess"]) if k["excess"] else float("nan")
        print(
            f"{method:18} mean rank {np.mean(k['ranks']):.2f}, near the best {100 * np.mean(k['near']):3.0f} %, mean excess "
            f"{excess:5.1f} %, median {np.median(k['seconds'] or [0]):5.0f} CPU s, {k['failed']} failed of {len(k['ranks'])}"
        )


def one(entry: Entry, known: Found, python: Mapping[str, str], options: argparse.Namespace, keep: Any) -> None:
    """What is missing of one problem; ``keep`` is called after every run."""
    task, version = load(entry), commit()
    runs = known.setdefault("runs", {})
    known |= {"metric": task.metric, "n": len(task.y), "source": entry.source}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if runs.get(OURS, {}).get("commit") != version:
            runs[OURS] = {**run_ours(entry.name, place, options.budget), "commit": version}
            keep()
        seconds = options.seconds or runs[OURS].get("seconds") or 60.0
        put(task, place)
        for method, interpreter in python.items():
            done = runs.get(method, {})
            if "seconds" in done and 0.5 < done["given"] / seconds < 2:  # at about as much time as now
                continue
            runs[method] = {**run_peer(method, interpreter, task, place, seconds), "given": seconds}
            keep()
    told = (f"{m} {r['error']:.4g} ({r['seconds']:.0f} s)" if "error" in r else f"{m} –" for m, r in runs.items())
    print(f"{entry.name} [{len(task.y):,}, {task.metric}]: {'; '.join(told)}", flush=True)
    for method, r in runs.items():
        if "trouble" in r:
            print(f"    {method}: {r['trouble'][:160]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", action="append", help="a problem, or those whose names hold this text; may be given again"
    )
    parser.add_argument("--runs", type=Path, default=Path("race_runs.json"), help="where runs are kept and taken up")
    parser.add_argument("--json", type=Path, help="record for the performance page")
    parser.add_argument("--peers", default=os.environ.get("PRIORSCOPE_PEERS"), help="folder of virtual environments")
    parser.add_argument("--seconds", type=float, help="CPU seconds for every peer (default: as many as we took)")
    parser.add_argument("--budget", help="handed to the profile where it takes one")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        ours(options.work, options.file, options.budget)
        return
    listed, asked = entries(), options.only or [""]
    chosen = [e for e in listed.values() if any(t == e.name or (t in e.name and t not in listed) for t in asked)]
    if not chosen:
        parser.error(f"no such problem; there are {', '.join(listed)}")
    python = interpreters(options.peers)
    problems: dict[str, Found] = json.loads(options.runs.read_text()) if options.runs.exists() else {}

    def keep() -> None:
        beside = options.runs.with_suffix(".part")
        beside.write_text(json.dumps(rounded(problems), indent=1))
        beside.replace(options.runs)

    for entry in chosen:
        try:
            one(entry, problems.setdefault(entry.name, {}), python, options, keep)
        except (OSError, ValueError) as trouble:
            problems.pop(entry.name)
            print(f"{entry.name} cannot be read here: {trouble}", flush=True)
    ended = {e.name: problems[e.name] for e in listed.values() if e.name in problems}
    print()
    show(ended)
    if options.json:
        record(options.json, ended, versions(python))


if __name__ == "__main__":
    main()

"""Cases of ``profile.py``: data of four sizes, what is measured of a profile of each, and the best of everything beside it."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _ordinary_problems import Problem, Sample, certain, classed, digits, flipped, shapes, two
from _references import error_of
from _results import row, write
from ordinary import Found, OutOfTimeError, commit, limited, rounded, said_of, spent, truth_of

TRUTHS = Path(__file__).parent / "truths" / "profile.json"
STOP = 10.0  # processor seconds after which the profile is stopped for its first answer
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def tangled(n: int, rng: np.random.Generator) -> Sample:
    """12 columns; the sign of six products of pairs of hidden directions: a network sees it, trees hardly, a line not."""
    hidden = np.linalg.qr(np.random.default_rng(12).standard_normal((12, 12)))[0]
    x = rng.standard_normal((n, 12))
    z = x @ hidden
    return classed(x, flipped(certain(((z[:, ::2] * z[:, 1::2]).sum(1) > 0).astype(int)), 0.02), rng)


def million(n: int, rng: np.random.Generator) -> Sample:
    """50 columns, of which eight matter: steps, curves and a product."""
    x = rng.standard_normal((n, 50))
    score = 1.5 * (x[:, 0] > 0.5) + np.sin(2 * x[:, 1]) + x[:, 2] * x[:, 3] - np.abs(x[:, 4]) + 0.5 * x[:, 5:8].sum(1)
    return classed(x, two(1.5 * score), rng)


CASES = {
    "digits": Problem(digits, 1_438, 359),
    "60,000 × 12, interactions": Problem(tangled, 60_000, 20_000),
    "1,000,000 × 50": Problem(million, 1_000_000, 50_000),
    "10,000 colour images 32 × 32": Problem(
        partial(shapes, side=32, colour=True, sd=1.5, noise=0.05), 10_000, 4_000, n_long=4_000
    ),
}
WANTED = {"digits": "60 CPU s", "60,000 × 12, interactions": "90 CPU s, within a tenth of the best",
          "1,000,000 × 50": "300 CPU s, 4 GB", "10,000 colour images 32 × 32": "300 CPU s, first answer in 30"}  # fmt: skip


def plain_network(train: Sample, test: Sample, epochs: int = 20) -> float:
    """Misclassification of a small convolutional network with batch norm and global pooling (AdamW, one cycle)."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, new = (torch.tensor(np.asarray(s.x), dtype=torch.float32) for s in (train, test))
    x, new = (v[:, None] if v.ndim == 3 else v for v in (x, new))
    new = (new - x.mean((0, 2, 3), keepdim=True)) / x.std((0, 2, 3), keepdim=True)
    x = (x - x.mean((0, 2, 3), keepdim=True)) / x.std((0, 2, 3), keepdim=True)
    y, classes = torch.tensor(train.y.astype(int)), int(train.y.max()) + 1
    layers: list[nn.Module] = []
    for before, after in ((x.shape[1], 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if x.shape[-1] >= 16 and after == 64 else []
    net = nn.Sequential(*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(64, classes))
    steps = epochs * -(-len(x) // 64)
    adam = torch.optim.AdamW(net.parameters(), weight_decay=0.01)
    cycle = torch.optim.lr_scheduler.OneCycleLR(adam, 3e-3, total_steps=steps)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(64):
            adam.zero_grad()
            nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
            adam.step()
            cycle.step()
    net.eval()
    with torch.no_grad():
        guess = torch.cat([net(part).argmax(1) for part in new.split(500)])
    return error_of("misclassification", test.y, guess.numpy())


def best_of(name: str) -> tuple[str, float, float | None]:
    """Which predictor is best of everything tried, its error, and the least possible one; cached."""
    known = truth_of(name, CASES, TRUTHS)
    errors = {m: v[0] for m, v in known["errors"]["misclassification"].items() if m != "guessing"}
    images = len(np.shape(CASES[name].make(4 if name != "digits" else 1438, np.random.default_rng(0)).x)) > 2
    if images:
        cached = json.loads(TRUTHS.read_text())
        if "network" not in cached[name]:
            problem = CASES[name]
            cached[name]["network"] = plain_network(problem.draw(name, "train"), problem.draw(name, "test"))
            lines = [f" {json.dumps(key)}: {json.dumps(rounded(value))}" for key, value in cached.items()]
            TRUTHS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        errors["plain convolutional network"] = cached[name]["network"]
    best = min(errors, key=lambda m: errors[m])
    return best, errors[best], known["floor"]["misclassification"]


def whole(name: str, file: Path, limit: float, budget: str | None) -> None:
    """Profile a case, build, fit and try it."""
    import priorscope as ps

    problem = CASES[name]
    train = problem.draw(name, "train")
    used = resource.getrusage(resource.RUSAGE_SELF)
    found: Found = {"data s": spent(), "data gigabytes": used.ru_maxrss / 1024**2}

    def step(title: str, act: Callable[[], object]) -> object:
        began = spent()
        try:
            with limited(limit):
                return act()
        except OutOfTimeError as end:
            found["trouble"] = f"{title} {end}"
        except Exception as end:
            found["trouble"] = f"{title}: {type(end).__name__}: {str(end)[:300]}"
        finally:
            found[f"{title} s"] = spent() - began
            file.write_text(json.dumps(rounded(found)))
        return None

    more = {"budget": budget} if budget else {}
    report: Any = step("profile", lambda: ps.profile(train.x, train.y, **more))
    if report is None:
        return
    found |= said_of(report)
    model: Any = step("fit", lambda: report.build().fit(train.x, train.y))
    if model is None:
        return
    test = problem.draw(name, "test")

    def tried() -> bool:
        guess = [np.asarray(model.predict(test.x[i : i + 5_000])) for i in range(0, len(test.y), 5_000)]  # type: ignore[index]
        found["truth"] = error_of(found["metric"], test.y, np.concatenate(guess))
        return True

    step("predict", tried)


def first(name: str, file: Path, limit: float, budget: str | None) -> None:
    """Stop the profile by hand after some seconds, and say when an answer came and which."""
    import priorscope as ps

    train = CASES[name].draw(name, "train")
    began, clock = spent(), time.perf_counter()
    stopped = []

    def listen(step: str) -> None:
        if spent() - began > STOP and not stopped:
            stopped.append(spent() - began)
            raise KeyboardInterrupt

    more = {"budget": budget} if budget else {}
    try:
        with limited(limit):
            report = ps.profile(train.x, train.y, progress=listen, **more)
        found: Found = {"pick": report.best.name, "estimate": float(report.best.estimate.value)}
    except (KeyboardInterrupt, OutOfTimeError) as end:
        found = {"trouble": f"no answer: {type(end).__name__}"}
    found |= {
        "stopped": stopped[0] if stopped else None,
        "answer s": spent() - began,
        "wall": time.perf_counter() - clock,
    }
    file.write_text(json.dumps(rounded(found)))


def measured(what: str, name: str, options: argparse.Namespace) -> Found:
    """One process without thread variables; what the system says of it when it ends."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        script = str(Path(__file__).with_name("profile.py"))
        command = [sys.executable, script, "--work", what, "--only", name, "--file", str(file)]
        command += ["--limit", str(options.limit), *(["--budget", options.budget] if options.budget else [])]
        environment = {k: v for k, v in os.environ.items() if k not in THREADS}
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, use = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        found: Found = json.loads(file.read_text()) if file.exists() else {}
        if process.returncode:
            found.setdefault("trouble", f"the process ended with {process.returncode}: {errors[-200:]}")
    return {**found, "process s": use.ru_utime + use.ru_stime, "gigabytes": use.ru_maxrss / 1024**2}


def case(name: str, options: argparse.Namespace) -> Found:
    """All that is known of one case."""
    best, error, floor = best_of(name)
    found = {**measured("whole", name, options), "first": measured("first", name, options), "commit": commit()}
    found |= {"best": best, "best_error": error, "floor": floor, "n": CASES[name].n}
    if "truth" in found:
        found["regret"] = found["truth"] / error - 1
    said = f"{found.get('pick', 'no answer')}, {found.get('profile s', 0):.0f} CPU s"
    said += f" and {found['fit s']:.0f} to fit" if "fit s" in found else ""
    true = (
        f"{100 * found['truth']:.2f} % wrong, best of everything ({best}) {100 * error:.2f} %"
        if "truth" in found
        else ""
    )
    early = found["first"]
    print(f"{name}: {said}; {found['gigabytes']:.1f} GB; {true} {found.get('trouble', '')}")
    print(f"    stopped by hand after {early.get('stopped')} CPU s: {early.get('pick', early.get('trouble'))} after "
          f"{early.get('answer s')} CPU s", flush=True)  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", help="a case, or those whose names hold this text")
    parser.add_argument("--json", type=Path, help="record to write, or to renew in part")
    parser.add_argument("--limit", type=float, default=900.0, help="CPU seconds of a profile, and of a fit")
    parser.add_argument("--budget", help="handed to the profile")
    parser.add_argument("--truth", action="store_true", help="compute the best of everything, profile nothing")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        {"whole": whole, "first": first}[options.work](options.only[0], options.file, options.limit, options.budget)
        return
    names = [n for n in CASES if any(text in n for text in options.only or [""])]
    if options.truth:
        for name in names:
            print(name, *best_of(name), flush=True)
        return
    problems: dict[str, Found] = {}
    if options.json and options.json.exists():
        problems = json.loads(options.json.read_text()).get("problems", {})
    for name in names:
        problems[name] = case(name, options)
        if options.json:
            record(options.json, {n: problems[n] for n in CASES if n in problems})


def record(path: Path, problems: dict[str, Found]) -> None:
    """One row per case: the processor seconds of the profile, the rest in its note."""
    rows = []
    for name, k in problems.items():
        parts = [str(k.get("pick", k.get("trouble"))), f"{k['gigabytes']:.1f} GB"]
        parts += [f"fit {k['fit s']:.0f} s"] if "fit s" in k else []
        if "regret" in k:
            best = f"{k['best']}, {100 * k['best_error']:.2f} % wrong"
            parts.append(f"{100 * k['regret']:+.0f} % over the best of everything ({best})")
        early = k["first"]
        said = early.get("pick", early.get("trouble"))
        parts += [
            f"stopped by hand at {STOP:.0f} s: {said} at {early.get('answer s', 0):.0f} s",
            f"wanted: {WANTED[name]}",
        ]
        rows.append(row(name, k.get("profile s", float("nan")), note="; ".join(parts)))
    write(path, "profile", rows, problems=rounded(problems))

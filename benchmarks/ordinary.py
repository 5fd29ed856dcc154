"""Ordinary problems: what a profile says of each, and what is true.

Every problem of ``_ordinary_problems.py`` is given to ``ps.profile`` in a process of its own, with all defaults; the model it
builds is fitted on all the rows and tried on rows that took no part. Beside it stand the least possible error, known from the
formula that made the problem, guessing, and five predictors of scikit-learn near their defaults. Wanted: no "nothing to learn"
where one of them beats guessing by three standard errors; truth over forecast 1 in the median, within 5 %; intervals that cover
as they say; no crash.

    python benchmarks/ordinary.py --json benchmarks/results/ordinary.json            # all, about an hour
    python benchmarks/ordinary.py --only "rare" --only churn --limit 300              # by parts of names
    python benchmarks/ordinary.py --truth                                             # the truths alone (cached, committed)
    python benchmarks/ordinary.py --summary benchmarks/results/ordinary.json          # the table of a record again

A run with ``--only`` renews those problems in the record and leaves the others. ``--budget`` is handed to the profile where it
takes one; ``--limit`` is the most CPU seconds of a profile, and of a fit, before they are stopped and counted as not ended.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import inspect
import json
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from _ordinary_problems import PROBLEMS, Problem, Sample
from _references import METRICS, error_of, metric_of, reference_errors
from _results import row, write

TRUTHS = Path(__file__).parent / "truths" / "ordinary.json"
CLEAR = 3.0  # standard errors by which a reference beats guessing before "nothing to learn" counts as false
Found = dict[str, Any]


# -- the truth ---------------------------------------------------------------------------------------------------------


def fingerprint(problem: Problem, sample: Sample) -> str:
    """Changes with the rows, so that a cached truth is never that of another problem."""
    x = sample.x.to_csv() if hasattr(sample.x, "to_csv") else np.asarray(getattr(sample.x, "data", sample.x)).tobytes()
    y = np.asarray(sample.y).astype(str)
    text = x if isinstance(x, bytes) else x.encode()
    return hashlib.sha1(text + "".join(y).encode() + str(problem.n_test).encode()).hexdigest()[:12]


def truth_of(name: str, problems: Mapping[str, Problem] = PROBLEMS, file: Path = TRUTHS) -> Found:
    """The least possible error, guessing, and the references on the test rows; cached in a committed table."""
    cached = json.loads(file.read_text()) if file.exists() else {}
    problem = problems[name]
    train = problem.draw(name, "train")
    print_of = fingerprint(problem, train)
    if name in cached and cached[name]["rows"] == print_of:
        return cached[name]  # type: ignore[no-any-return]
    test = problem.draw(name, "test")
    ideal = test.ideal and problem.draw(name, "long").ideal
    floor = {m: None if ideal is None else ideal.floor(m) for m in METRICS[problem.task]}
    errors = reference_errors(problem.task, train.x, train.y, test.x, test.y, problem.alike)
    found = {"rows": print_of, "floor": floor, "errors": errors}
    cached = json.loads(file.read_text()) if file.exists() else {}
    cached[name] = rounded(found)
    file.parent.mkdir(exist_ok=True)
    ordered = {key: cached[key] for key in problems if key in cached}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in ordered.items()]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return cached[name]  # type: ignore[no-any-return]


def rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(v) for v in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


# -- one problem in a process of its own ---------------------------------------------------------------------------------


class OutOfTimeError(Exception):
    """The CPU seconds of this step are spent."""


def spent() -> float:
    """CPU seconds of this process and of those it waited for."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in both)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """At most so many CPU seconds; the system tells, so that no library can swallow it."""

    def stop(number: int, frame: object) -> None:
        raise OutOfTimeError(f"not ended after {seconds:.0f} CPU s")

    signal.signal(signal.SIGXCPU, stop)
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime + seconds) + 1
    before = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before)


def settings(profile: Callable[..., object], sample: Sample, budget: str | None) -> dict[str, object]:
    """What is handed to the profile beside the data: a budget and groups where it takes them."""
    known = inspect.signature(profile).parameters
    given = {"budget": budget, "groups": sample.groups}
    return {name: value for name, value in given.items() if value is not None and name in known}


def said_of(report: Any) -> Found:
    """What a profile says: whether there is anything to learn, the pick, its estimate, the first sentences."""
    text = str(report)
    body = text.split("\n\n")
    estimate = report.best.estimate
    learns = report.learns if hasattr(report, "learns") else bool(report.best.learns)
    return {
        "learns": learns,
        "metric": metric_of(report),
        "pick": report.best.name,
        "estimate": [float(estimate.value), float(estimate.low), float(estimate.high)],
        "to": int(report.to),
        "words": " ".join(body[1].split())[:400] if len(body) > 1 else text[:400],
        "rows": len(report.rows),
    }


def work(name: str, file: Path, limit: float, budget: str | None) -> None:
    """Profile one problem, build, fit and try it; what is known is written after every step."""
    import priorscope as ps

    problem = PROBLEMS[name]
    train = problem.draw(name, "train")
    found: Found = {}

    def step(title: str, act: Callable[[], object]) -> object:
        began = spent()
        try:
            with limited(limit):
                return act()
        except OutOfTimeError as end:
            found["trouble"] = f"{title} {end}"
        except Exception as end:
            found["trouble"] = f"{title}: {type(end).__name__}: {str(end)[:300]}"
            found["trace"] = traceback.format_exc(limit=-3)
        finally:
            found[f"{title} s"] = spent() - began
            found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            file.write_text(json.dumps(rounded(found)))
        return None

    report: Any = step("profile", lambda: ps.profile(train.x, train.y, **settings(ps.profile, train, budget)))
    if report is None:
        return
    if step("words", lambda: found.update(said_of(report)) or True) is None:
        return
    file.with_suffix(".txt").write_text(str(report))
    model: Any = step("fit", lambda: report.build().fit(train.x, train.y))
    if model is None:
        return
    test = problem.draw(name, "test")

    def tried() -> bool:
        count, block = len(test.y), 5_000
        cut: Any = test.x.iloc if hasattr(test.x, "iloc") else test.x
        guess = np.concatenate([np.asarray(model.predict(cut[i : i + block])) for i in range(0, count, block)])
        found["truth"] = error_of(found["metric"], test.y, guess)
        return True

    step("predict", tried)


def measured(name: str, folder: Path, limit: float, budget: str | None) -> Found:
    """One problem, whatever happens to its process."""
    file = folder / f"{hashlib.sha1(name.encode()).hexdigest()[:10]}.json"
    file.unlink(missing_ok=True)
    command = [sys.executable, str(Path(__file__)), "--work", name, "--file", str(file), "--limit", str(limit)]
    command += ["--budget", budget] if budget else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10 * limit, check=False)
        ended, errors = done.returncode, done.stderr[-300:]
    except subprocess.TimeoutExpired:
        ended, errors = -1, f"no end after {10 * limit:.0f} s of wall"
    found: Found = json.loads(file.read_text()) if file.exists() else {}
    if ended != 0:
        found.setdefault("trouble", f"the process ended with {ended}: {errors}")
    return found


# -- judging and printing ------------------------------------------------------------------------------------------------


def judged(name: str, found: Found) -> Found:
    """What was said beside what is true."""
    truth, problem = truth_of(name), PROBLEMS[name]
    metric = found.get("metric", METRICS[problem.task][0])
    errors = dict(truth["errors"][metric])
    blind = errors.pop("guessing")[0]
    best = min(errors, key=lambda key: errors[key][0])
    clear = [key for key, (_, gain, _) in errors.items() if gain > CLEAR]
    ahead = {"n": problem.n, "metric": metric, "floor": truth["floor"][metric], "guessing": blind, "best": best}
    known = {**found, **ahead, "best_error": errors[best][0], "learnable": problem.learnable}
    known["false_none"] = found.get("learns") is False and problem.learnable and bool(clear)
    known["unsure"] = "pick" in found and found["learns"] is None and problem.learnable and bool(clear)
    known["false_some"] = found.get("learns") is True and not problem.learnable
    if "truth" in found:
        value, low, high = found["estimate"]
        known["ratio"] = found["truth"] / max(value, 1e-12)
        known["covered"] = low <= found["truth"] <= high
        known["excess"] = found["truth"] / max(errors[best][0], 1e-12) - 1
    return known


def line(name: str, k: Found) -> str:
    """One problem in one line."""
    start = f"{name:30.30} "
    if "pick" not in k:
        return start + f"CRASH {k.get('trouble', '')[:130]}"
    verdict = {True: "learns", False: "NOTHING", None: "unsure"}[k["learns"]]
    wrong = " FALSE-NOTHING" if k["false_none"] else " FALSE-SIGNAL" if k["false_some"] else ""
    value, low, high = k["estimate"]
    said = f"{verdict:8}{k['pick']:24.24} {value:9.3g} ({low:.3g}–{high:.3g})"
    if "truth" not in k:
        return start + said + f" TROUBLE {k.get('trouble', '')[:90]}"
    floor = "    –" if k["floor"] is None else f"{k['floor']:.3g}"
    true = f"true {k['truth']:.3g} = {k['ratio']:.2f}×{'' if k['covered'] else ' OUT'}"
    rest = f"floor {floor} {k['best']} {k['best_error']:.3g} guess {k['guessing']:.3g}"
    return start + f"{said} {true}; {rest}; {k['profile s']:.0f}+{k['fit s']:.0f} s{wrong}"


def summary(problems: Mapping[str, Found]) -> list[tuple[str, float, str]]:
    """Name, figure and what it is out of."""
    known = list(problems.values())
    named = [k for k in known if "pick" in k]
    tried = [k for k in known if "truth" in k]
    real = [k for k in tried if k["learnable"]]
    over = f"of {len(real)} problems with something to learn"
    out = [
        (
            "false “nothing to learn”",
            sum(k["false_none"] for k in known),
            f"of {sum(k['learnable'] for k in known)}; aim 0",
        ),
        (
            "“not sure” where a reference is",
            sum(k["unsure"] for k in known),
            f"of {sum(k['learnable'] for k in known)}",
        ),
        (
            "signal seen in noise",
            sum(k["false_some"] for k in known),
            f"of {sum(not k['learnable'] for k in known)}; aim 0",
        ),
        ("crashes and fits that do not end", len(known) - len(tried), f"of {len(known)}; aim 0"),
        ("profile, median", statistics.median([k["profile s"] for k in known if "profile s" in k]), "CPU s"),
    ]
    if real:
        logs = [abs(np.log(max(k["ratio"], 1e-3))) for k in real]
        excess = [k["excess"] for k in real]
        out += [
            ("truth over forecast, median", statistics.median(k["ratio"] for k in real), f"{over}; aim 0.95–1.05"),
            ("|log truth over forecast|, median", float(statistics.median(logs)), over),
            ("intervals that cover", sum(k["covered"] for k in real) / len(real), f"{over}; 0.9 wanted"),
            ("excess over the best reference, median", statistics.median(excess), over),
            ("within a tenth of the best reference", sum(e <= 0.1 for e in excess) / len(excess), over),
        ]
    if named:
        spans = [k["estimate"][2] / max(k["estimate"][1], 1e-9) for k in named]
        out.append(("high over low, median", statistics.median(spans), f"of {len(named)} intervals"))
    return out


def commit() -> str:
    """The version of the library that is profiled, as git calls it."""
    spec = importlib.util.find_spec("priorscope")
    assert spec is not None
    assert spec.origin is not None
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(spec.origin).parent, check=False)
    return done.stdout.strip() or "unknown"


def record(path: Path, problems: Mapping[str, Found]) -> None:
    """Write the record: a few rows for the page, every problem beside them."""
    ordered = {name: problems[name] for name in PROBLEMS if name in problems}
    rows = [row(case, figure, unit="", note=note) for case, figure, note in summary(ordered)]
    write(path, "ordinary", rows, problems=rounded(ordered))


def show(problems: Mapping[str, Found]) -> None:
    for name, known in problems.items():
        print(line(name, known))
    print()
    for case, figure, note in summary(problems):
        print(f"{case:40} {figure:8.3g} {note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", action="append", help="a problem, or those whose names hold this text; may be given again"
    )
    parser.add_argument("--json", type=Path, help="record to write, or to renew in part")
    parser.add_argument("--summary", type=Path, help="print a record again and do nothing else")
    parser.add_argument("--truth", action="store_true", help="compute what is true, profile nothing")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600.0, help="CPU seconds of a profile, and of a fit")
    parser.add_argument("--budget", help="handed to the profile where it takes one")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.file, options.limit, options.budget)
        return
    if options.summary:
        show(json.loads(options.summary.read_text())["problems"])
        return
    asked = options.only or [""]
    names = [n for n in PROBLEMS if any(text == n or (text in n and text not in PROBLEMS) for text in asked)]
    if not names:
        parser.error(f"no such problem; there are {', '.join(PROBLEMS)}")
    for name in names:
        truth_of(name)
    if options.truth:
        return
    problems: dict[str, Found] = {}
    if options.json and options.json.exists():
        problems = json.loads(options.json.read_text()).get("problems", {})
    version = commit()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        started = {n: pool.submit(measured, n, Path(folder), options.limit, options.budget) for n in names}
        for name, future in started.items():
            problems[name] = {**judged(name, future.result()), "commit": version}
            print(line(name, problems[name]), flush=True)
            if options.json:
                record(options.json, problems)
    print()
    show_these = {name: problems[name] for name in names}
    for case, figure, note in summary(show_these):
        print(f"{case:40} {figure:8.3g} {note}")


if __name__ == "__main__":
    main()

"""Does the suite notice a fault? ``python tools/mutants.py --count 100 --seed 0`` injects faults one by one and lists survivors.

A copy of the checkout is made in a temporary folder; the checkout itself is never written to. The suite runs once in the
copy, unharmed, to learn which test enters which function and how long it takes (kept in ``.mutants/``, per test file).
Then each fault of a seeded choice is written into the copy, and the tests that enter the function run until one fails:
those of the mirrored folder first, then those elsewhere, the quickest file first; at last, if all pass, what is left
of the mirrored folder. Tests run in children forked from a process that has loaded torch and its like already.

A fault is *killed* when a test fails, when it breaks an import, or when the tests take far longer than unharmed (by
processor time, so that a busy machine does not count). All others survive, those whose tests were cut off by ``--cap`` too.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from faults import Fault, faults, inject

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / ".mutants"
LEFT_OUT = (
    "cli/",
    "report/",
    "serve/",
    "__main__",
)  # words, charts and pages; what they print is judged by their own tests
LEFT_OUT_NAMES = ("_chart", "_charts", "_page", "_phrases", "_theme", "__init__")
PRELOAD = (
    "torch torch.func torch.nn.functional numpy scipy.linalg scipy.stats scipy.optimize scipy.special scipy.integrate "
    "scipy.sparse.linalg sklearn.datasets sklearn.svm sklearn.decomposition sklearn.ensemble sklearn.linear_model "
    "sklearn.model_selection pandas altair numba typer rich typer.testing PIL.Image psutil threadpoolctl pytest"
)


def copy_of_the_checkout(place: Path) -> None:
    """Every file git knows or would know, at the same place below another root (all files where there is no git)."""
    if not (ROOT / ".git").exists():
        shutil.copytree(
            ROOT, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".venv", "__pycache__", ".mutants")
        )
        return
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)


# -- running tests in forked children -----------------------------------------------------------------------------------


class Listener:
    """A pytest plugin that keeps wanted tests, in a wanted order, and notes which functions each enters and how long it takes."""

    def __init__(self, source: str, wanted: list[str] | None, listen: bool) -> None:
        self.source, self.listen = source, listen
        self.rank = None if wanted is None else {name: i for i, name in enumerate(wanted)}
        self.seen: set[str] = set()
        self.tests: dict[str, Any] = {}
        self.shared: set[str] = set()
        self.failed: list[str] = []
        self.began = 0.0

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.rank is not None:
            items[:] = sorted((i for i in items if i.nodeid in self.rank), key=lambda i: self.rank[i.nodeid])

    def enter(self, frame: Any, event: str, arg: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(self.source):
            self.seen.add(f"{code.co_filename[len(self.source) + 1 :]}::{code.co_qualname.split('.<locals>')[0]}")

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self.began, self.seen = time.process_time(), set()
        if self.listen:
            sys.settrace(self.enter)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "setup":
            self.shared |= self.seen  # fixtures may be shared by every test of the file
        if report.failed:
            self.failed.append(report.nodeid)
        if report.when == "teardown":
            sys.settrace(None)
            self.tests[report.nodeid] = {"seconds": time.process_time() - self.began, "enters": sorted(self.seen)}


def in_a_child(copy: Path, files: list[str], wanted: list[str] | None, *, listen: bool, limit: float) -> dict[str, Any]:
    """Run tests of the copy in a forked child; what they did, or how the child ended."""
    out, log = copy / ".answer.json", copy / ".log"
    out.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 5))
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            os.chdir(copy)
            import pytest

            plugin = Listener(str(copy / "src" / "priorscope"), wanted, listen)
            options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *([] if listen else ["-x"])]
            code = int(pytest.main([*options, *files], plugins=[plugin]))
            answer = {"code": code, "failed": plugin.failed, "tests": plugin.tests, "shared": sorted(plugin.shared)}
            out.write_text(json.dumps(answer))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    deadline = time.monotonic() + 12 * limit + 60
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            break
        time.sleep(0.05)
    if out.exists():
        return json.loads(out.read_text())
    ended = "out of time" if os.WIFSIGNALED(status) else "crashed"
    return {"code": -1, "failed": [ended], "tests": {}, "shared": []}


# -- which tests enter which function ----------------------------------------------------------------------------------


def listen_to(copy: Path, fresh: bool) -> dict[str, Any]:
    """Of every test file: its tests, their time and what they enter; from the record where the file has not changed."""
    RECORD.mkdir(exist_ok=True)
    kept = RECORD / "record.json"
    record: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() and not fresh else {}
    files = sorted(str(p.relative_to(copy)) for p in (copy / "tests").rglob("test_*.py") if "fuzz" not in p.parts)
    for i, file in enumerate(files, 1):
        mark = hashlib.sha256((copy / file).read_bytes()).hexdigest()
        if record.get(file, {}).get("mark") == mark:
            continue
        begun = time.time()
        answer = in_a_child(copy, [file], None, listen=True, limit=1800)
        bad = set(answer["failed"])
        tests = {name: what for name, what in answer["tests"].items() if name not in bad}
        record[file] = {"mark": mark, "tests": tests, "shared": answer["shared"]}
        kept.write_text(json.dumps(record))
        note = f", left out: {', '.join(sorted(bad))}" if bad else ""
        print(f"[{i}/{len(files)}] {file}: {len(tests)} tests, {time.time() - begun:.0f} s{note}", flush=True)
    return {file: record[file] for file in files}


def chosen_tests(record: dict[str, Any], fault: Fault, source: str, cap: float) -> tuple[list[str], list[str], float]:
    """The tests that enter the faulty function, mirrored folder first; the rest of that folder; the seconds of the first."""
    inside = fault.file.removeprefix("src/priorscope/")
    mirror = f"tests/{Path(inside).parent.as_posix()}/".replace("/./", "/")
    compiled = "numba" in source

    def enters(what: list[str]) -> bool:
        for entry in what:
            file, name = entry.split("::")
            if file == inside and (fault.function in name.split(".") or compiled):
                return True
            if compiled and Path(file).parent == Path(inside).parent:  # compiled code is entered from its neighbours
                return True
        return False

    ranked: list[tuple[bool, float, str, list[str]]] = []
    for file, found in record.items():
        shared = enters(found["shared"])
        hits = {n: t["seconds"] for n, t in found["tests"].items() if shared or enters(t["enters"])}
        if hits:
            ranked.append((not file.startswith(mirror), sum(hits.values()), file, sorted(hits, key=hits.__getitem__)))
    first, seconds = [], 0.0
    for _, cost, file, names in sorted(ranked):
        if first and seconds + cost > cap:
            names = [n for n in names if record[file]["tests"][n]["seconds"] < cap / 20]
            cost = sum(record[file]["tests"][n]["seconds"] for n in names)
            if seconds + cost > 2 * cap:
                continue
        first += names
        seconds += cost
    rest = [n for f, found in record.items() if f.startswith(mirror) for n in found["tests"] if n not in set(first)]
    return first, rest, seconds


# -- the faults --------------------------------------------------------------------------------------------------------


def possible(root: Path, rooms: list[str]) -> list[Fault]:
    """Every fault of the rooms, in the order of files and lines."""
    found: list[Fault] = []
    for file in sorted((root / "src" / "priorscope").rglob("*.py")):
        name = file.relative_to(root / "src" / "priorscope").as_posix()
        grid = (
            name.startswith(("papers/", "validation/")) and file.stem == "_grid"
        )  # what is run, not how it is measured
        if name.startswith(LEFT_OUT) or file.stem.endswith(LEFT_OUT_NAMES) or grid:
            continue
        if not rooms or any(name.startswith(room) for room in rooms):
            found += faults(file.read_bytes(), f"src/priorscope/{name}")
    return found


def choice(found: list[Fault], count: int, seed: int) -> list[Fault]:
    """A seeded choice: the kind first, each kind alike, then the file, then the place, so that none crowds out the others."""
    rng = random.Random(seed)
    left: dict[str, dict[str, list[Fault]]] = {}
    for fault in found:
        left.setdefault(fault.kind, {}).setdefault(fault.file, []).append(fault)
    taken: list[Fault] = []
    places: set[tuple[str, int, str]] = set()
    while left and len(taken) < count:
        kind = rng.choice(sorted(left))
        file = rng.choice(sorted(left[kind]))
        fault = left[kind][file].pop(rng.randrange(len(left[kind][file])))
        if not left[kind][file]:
            del left[kind][file]
            if not left[kind]:
                del left[kind]
        if (fault.file, fault.line, kind) not in places:
            places.add((fault.file, fault.line, kind))
            taken.append(fault)
    return taken


def survives(copy: Path, record: dict[str, Any], fault: Fault, cap: float) -> tuple[bool, str]:
    """Whether no test notices the fault, and which one did."""
    file = copy / fault.file
    healthy = file.read_bytes()
    first, rest, seconds = chosen_tests(record, fault, healthy.decode(), cap)
    compiled = b"numba" in healthy
    try:
        file.write_bytes(inject(healthy, fault))
        for stale in (file.parent / "__pycache__").glob("*" if compiled else f"{file.stem}.*"):
            stale.unlink()
        extra = 240 if compiled else 30  # compiling again
        for names, limit in ((first, 3 * seconds + extra), (rest, cap + extra)):
            if names:
                files = list(dict.fromkeys(name.split("::")[0] for name in names))
                answer = in_a_child(copy, files, names, listen=False, limit=limit)
                if answer["code"] not in (0, 5):
                    return False, (answer["failed"] or ["an import"])[0]
    finally:
        file.write_bytes(healthy)
        for stale in (file.parent / "__pycache__").glob("*" if compiled else f"{file.stem}.*"):
            stale.unlink()
    return True, f"{len(first)} tests enter it" if first else "no test enters it"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="how many faults")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of faults")
    parser.add_argument(
        "--rooms", default="", help="folders below src/priorscope, comma-separated; all that compute if empty"
    )
    parser.add_argument("--only", default="", help="FILE:LINE: every fault of that line instead of a choice")
    parser.add_argument("--cap", type=float, default=150, help="processor seconds of tests per fault")
    parser.add_argument("--fresh", action="store_true", help="listen to the whole suite again")
    parser.add_argument(
        "--out", default="", help="append one JSON line per fault to this file, and skip those it says were killed"
    )
    parser.add_argument("--list", action="store_true", help="print the chosen faults and stop")
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    found = possible(ROOT, [r for r in options.rooms.split(",") if r])
    if options.only:
        name, line = options.only.rsplit(":", 1)
        taken = [f for f in found if f.file.endswith(name) and f.line == int(line)]
    else:
        taken = choice(found, options.count, options.seed)
    if options.list:
        print(*taken, sep="\n")
        return 0
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        copy = Path(folder).resolve()
        copy_of_the_checkout(copy)
        sys.path.insert(0, str(copy / "src"))
        os.environ["PYTHONPATH"] = str(copy / "src")
        for module in PRELOAD.split():
            importlib.import_module(module)
        record = listen_to(copy, options.fresh)
        log = Path(options.out) if options.out else None
        known = {}
        if log and log.exists():
            known = {
                (d["fault"], d["new"]): d for d in map(json.loads, log.read_text().splitlines()) if not d["survives"]
            }
        alive, seen = [], Counter[str]()
        for i, fault in enumerate(taken, 1):
            done = known.get((str(fault), fault.new))
            lives, by = (done["survives"], done["by"]) if done else survives(copy, record, fault, options.cap)
            seen[fault.kind] += 1
            if lives:
                alive.append(fault)
            print(f"{i}/{len(taken)} {'SURVIVES' if lives else 'killed'} {fault} [{by}]", flush=True)
            if log and not done:
                with log.open("a") as lines:
                    lines.write(json.dumps({"fault": str(fault), "new": fault.new, "survives": lives, "by": by}) + "\n")
        print(
            f"\n{len(alive)} of {len(taken)} faults survive ({len(alive) / max(len(taken), 1):.1%}), seed {options.seed}"
        )
        print("kinds:", ", ".join(f"{kind} {n}" for kind, n in seen.most_common()))
        print(*(f"survives: {fault}" for fault in alive), sep="\n")
    return 0 if len(alive) < 0.05 * len(taken) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Does anything notice a fault? ``python -m faults --count 150 --seed 0`` injects faults one by one and lists survivors.

Nothing is written into the checkout. In a forked child per fault the code of the faulty function is exchanged. First the
recorded calls that enter it are made again (``tests/recorded``); if none moves, the tests nearest to it run until one fails
or ``--cap`` processor seconds are spent. A test kills only if it passes unharmed. Faults of ``harmless.toml``, which can
change no answer, are told and not counted; ``--named`` injects those of ``named.toml``, which once survived. What runs in
another process does not see the fault, nor does what an import computes.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import importlib
import io
import json
import os
import random
import re
import resource
import signal
import sys
import time
import tomllib
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher
from recorder.__main__ import files
from recorder._calls import RESULTS, Call, file_of, read_results
from recorder._compare import differences
from recorder._defaults import moved_defaults
from recorder._replay import TooLong, replayed

from faults._slips import Fault, faults, inject, outermost

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent
SOURCE = ROOT / "src" / "priorscope"
KEPT = ROOT / ".mutants"
REPLAY = 20.0  # processor seconds of recorded calls per fault
COMPILING = 100.0  # more of them where compiled code has to be compiled again


# -- recorded calls -------------------------------------------------------------------------------------------------------


class Records:
    """All recorded calls, and which functions each of them enters (noted once, in ``.mutants``)."""

    def __init__(self) -> None:
        self.rows = []
        for module, file in files([]):
            results = read_results(file_of(RESULTS, module))
            self.rows += list(zip(map(json.loads, file.read_text().splitlines()), results, strict=True))
        note = KEPT / "entered.json"
        stamp = f"{len(self.rows)} {sum(len(row['function']) for row, _ in self.rows)}"
        held = json.loads(note.read_text()) if note.exists() else {}
        if held.get("stamp") != stamp:
            held = {"stamp": stamp, "entered": [sorted(self.entered(row)) for row, _ in self.rows]}
            KEPT.mkdir(exist_ok=True)
            note.write_text(json.dumps(held))
        self.by_function: dict[str, list[int]] = {}
        for i, names in enumerate(held["entered"]):
            for name in names:
                self.by_function.setdefault(name, []).append(i)

    def entered(self, row: dict[str, Any]) -> set[str]:
        names = set()
        inside = str(SOURCE)

        def look(frame: Any, event: str, arg: Any) -> None:
            if event == "call" and frame.f_code.co_filename.startswith(inside):
                names.add(f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname.split('.<locals>')[0]}")

        sys.setprofile(look)
        try:
            with contextlib.suppress(Exception, TooLong):
                replayed(Call(row["function"], row["arguments"]))
        finally:
            sys.setprofile(None)
        return names

    def moved(self, name: str) -> str:
        """The first recorded call through a function that gives something else now."""
        if moved := moved_defaults(name.partition(":")[0]):
            return moved[0].partition(" ")[0]
        start = time.process_time()
        own = [i for i in self.by_function.get(name, []) if self.rows[i][0]["function"] == name]
        near = sorted(self.by_function.get(name, []), key=lambda i: self.rows[i][0]["seconds"])
        for i in dict.fromkeys([*own, *near]):
            row, result = self.rows[i]
            if time.process_time() - start > REPLAY:
                break
            was = {k: v for k, v in result.items() if k not in ("function", "within")}
            try:
                now, _ = replayed(Call(row["function"], row["arguments"]), 2 + 5 * row["seconds"])
            except (Exception, TooLong) as error:
                return f"{row['function']} ({type(error).__name__})"
            if differences(was, now, result["within"]):
                return row["function"]
        return ""


# -- a fault in the running process ---------------------------------------------------------------------------------------


def module_of(file: str) -> str:
    return ".".join(Path(file).relative_to("src").with_suffix("").parts).removesuffix(".__init__")


def codes(source: bytes, file: str, name: str) -> list[types.CodeType]:
    """The code of an outermost function of a file and of all functions inside it."""

    def within(code: types.CodeType) -> Iterator[types.CodeType]:
        yield code
        for part in code.co_consts:
            if isinstance(part, types.CodeType):
                yield from within(part)

    whole = compile(source, file, "exec", dont_inherit=True)
    return [c for c in within(whole) if c.co_qualname == name or c.co_qualname.startswith(f"{name}.<locals>")]


def exchange(fault: Fault) -> bool:
    """Give every living function the code of its faulty version; whether there was one that could be changed."""
    file = str(ROOT / fault.file)
    source = Path(file).read_bytes()
    importlib.import_module(module_of(fault.file))
    changed = False
    fresh: dict[str, Any] = {}
    for new in codes(inject(source, fault), file, fault.function):
        fresh.setdefault(new.co_qualname, new)
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__code__.co_filename == file:
            if fault.kind == "changed default" and thing.__code__.co_qualname == fault.function:
                changed |= other_default(thing, fault)
            elif new := fresh.get(thing.__code__.co_qualname):
                with contextlib.suppress(ValueError):  # other free variables
                    thing.__code__ = new
                    changed = True
    if b"numba" in source:  # compiled code does not notice that what it calls has changed: compile all of it again
        for thing in gc.get_objects():
            if isinstance(thing, Dispatcher) and thing.py_func.__module__.startswith("priorscope"):
                thing._cache = NullCache()
                if thing.overloads:
                    thing.recompile()
    return changed


def other_default(function: types.FunctionType, fault: Fault) -> bool:
    """Changes the default whose place in the file the fault names."""
    source = (ROOT / fault.file).read_bytes()
    node = next(n for name, n in outermost(ast.parse(source)) if name == fault.function)
    at = fault.start - sum(map(len, source.splitlines(keepends=True)[: fault.line - 1]))
    new = ast.literal_eval(fault.new)
    here = [d is not None and (d.lineno, d.col_offset) == (fault.line, at) for d in node.args.defaults]
    if any(here) and function.__defaults__:
        function.__defaults__ = tuple(new if h else v for h, v in zip(here, function.__defaults__))
        return True
    for argument, d in zip(node.args.kwonlyargs, node.args.kw_defaults):
        if d is not None and (d.lineno, d.col_offset) == (fault.line, at) and function.__kwdefaults__:
            function.__kwdefaults__ = {**function.__kwdefaults__, argument.arg: new}
            return True
    return False


def in_a_child(work: Callable[[], Any], seconds: float) -> Any:
    """What ``work`` gives in a process of its own; ``"dies"`` where that ends otherwise or takes too long."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 5, int(seconds) + 10))
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            os.write(theirs, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else "dies"


# -- the nearest tests ----------------------------------------------------------------------------------------------------


class First:
    """The first test that fails."""

    name = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid


def failing(names: list[str], cap: float) -> str:
    """The first of these tests that fails before ``cap`` processor seconds are spent."""
    first = First()

    def late(signum: int, frame: Any) -> None:
        pytest.exit("time is over")

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, cap)
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-n", "0", *names], plugins=[first])
    signal.setitimer(signal.ITIMER_PROF, 0)
    return first.name


def nearest(fault: Fault) -> list[str]:
    """Files of tests that name the function or its class, those of the mirrored folder first; then the rest of that folder."""
    inside = Path(fault.file).relative_to("src/priorscope").parent
    words = [part for part in fault.function.split(".") if not part.startswith("__")]
    words.append(Path(fault.file).stem.strip("_"))
    ranked = []
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        text, folder = file.read_text(), file.relative_to(ROOT / "tests").parent
        if folder.parts[:1] in (("fuzz",), ("recorded",), ("tools",), ("benchmarks",)):
            continue
        named = sum(len(re.findall(rf"\b{re.escape(word.strip('_'))}\b", text)) for word in words)
        if named or folder == inside:
            ranked.append((folder != inside, -named, str(file)))
    return [file for *_, file in sorted(ranked)][:12]


# -- choice and verdict ---------------------------------------------------------------------------------------------------


def choice(count: int, seed: int, rooms: list[str], without: list[str]) -> list[Fault]:
    """Faults of a seeded choice: every kind alike, spread over files."""
    by_kind: dict[str, list[Fault]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        inside = file.relative_to(SOURCE).as_posix()
        if (not rooms or inside.startswith(tuple(rooms))) and not inside.startswith(tuple(without)):
            for fault in faults(file.read_bytes(), file.relative_to(ROOT).as_posix()):
                by_kind.setdefault(fault.kind, []).append(fault)
    rng = random.Random(seed)
    taken: list[Fault] = []
    seen: set[str] = set()
    kinds = sorted(by_kind)
    while len(taken) < count and kinds:
        kind = kinds[len(taken) % len(kinds)]
        fault = rng.choice(by_kind[kind])
        if fault.file not in seen or rng.random() < 0.2:
            taken.append(fault)
            seen.add(fault.file)
    return taken


def named() -> list[Fault]:
    """The faults of ``named.toml``: each ``old`` stands once in the source, wherever its file has moved to."""
    sources = {f.relative_to(ROOT).as_posix(): f.read_bytes() for f in sorted(SOURCE.rglob("*.py"))}
    found = []
    for entry in tomllib.loads((HERE / "named.toml").read_text())["fault"]:
        old = entry["old"].encode()
        places = [(file, source) for file, source in sources.items() for _ in range(source.count(old))]
        if len(places) != 1:
            print(
                f"{entry['name']}: stands {len(places)} times in the source, wanted once; mend the list",
                file=sys.stderr,
            )
            continue
        file, source = places[0]
        start = source.index(old)
        line = source[:start].count(b"\n") + 1
        around = [name for name, n in outermost(ast.parse(source)) if n.lineno <= line <= (n.end_lineno or 0)]
        found.append(Fault(file, line, entry["name"], start, start + len(old), entry["old"], entry["new"], around[0]))
    return found


def harmless() -> set[tuple[str, str, str, str]]:
    entries = tomllib.loads((HERE / "harmless.toml").read_text())["fault"]
    return {(e["file"], e["line"], e["old"], e["new"]) for e in entries}


def place(fault: Fault) -> tuple[str, str, str, str]:
    """How ``harmless.toml`` names a fault: file, line as it stands, old and new."""
    new = fault.new[1:-1] if fault.new.startswith("(") and fault.new.endswith(")") else fault.new
    return fault.file, (ROOT / fault.file).read_text().splitlines()[fault.line - 1].strip(), fault.old, new


def verdict(fault: Fault, records: Records, cap: float) -> str:
    """What notices a fault: ``record: call``, ``test: name``; *survives*, or *not entered* where no function could be changed."""
    compiling = COMPILING if b"numba" in (ROOT / fault.file).read_bytes() else 0.0
    name = f"{module_of(fault.file)}:{fault.function}"
    told = in_a_child(lambda: [exchange(fault), records.moved(name)], 3 * REPLAY + compiling)
    if told == "dies":
        return "record: the process ends"
    if not told[0]:
        return "not entered"
    if told[1]:
        return f"record: {told[1]}"
    tests = nearest(fault)
    told = (
        in_a_child(lambda: exchange(fault) and failing(tests, cap + compiling), 2 * cap + compiling)
        if tests and cap
        else ""
    )
    if told == "dies":
        return "test: the process ends"
    if told and not in_a_child(lambda: failing([told], 4 * cap), 5 * cap):
        return f"test: {told}"
    return "survives"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", nargs="*", default=[], help="such as models/layers cli")
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument(
        "--cap", type=float, default=40.0, help="processor seconds of tests per fault; 0 for records alone"
    )
    parser.add_argument("--named", action="store_true")
    options = parser.parse_args()
    records, known = Records(), harmless()
    counts: Counter[str] = Counter()
    for fault in named() if options.named else choice(options.count, options.seed, options.rooms, options.without):
        said = "harmless" if place(fault) in known else verdict(fault, records, options.cap)
        counts[said.partition(":")[0]] += 1
        print(f"{said:<12} | {fault}", flush=True)
    judged = sum(counts[k] for k in ("record", "test", "survives"))
    print(f"{dict(counts)}; {counts['survives']} of {judged} survive ({counts['survives'] / max(1, judged):.1%})")
    return bool(options.named and counts["survives"])


if __name__ == "__main__":
    sys.exit(main())

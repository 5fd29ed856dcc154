"""Does the suite notice a fault? ``python tools/mutants.py --count 100 --seed 0`` injects faults one by one and lists survivors.

Nothing is written into the checkout. Tests are collected once; then a child is forked per fault of a seeded choice (or of the
list ``named_faults.toml``, with ``--named``), in which the code of the faulty function is exchanged, and tests run there until
one fails. Faults of ``harmless_faults.toml``, which can change no answer, are told and not counted.

Every run notes which test enters which function and how long it takes (kept in ``.mutants/``), so that later faults
start with the tests that are known to enter the faulty function, the cheapest file first. Tests not yet known come after
them, chosen by words: files that name the function or one of those that mention it, those of the mirrored folder first, until
``--cap`` seconds of processor time are spent. ``--listen`` runs every test once, unharmed, and notes it for all later faults.

A fault is *killed* when a test fails that passes unharmed (checked, once per test) or takes far longer than unharmed (by
processor time, so that a busy machine does not count). All others survive. What runs in another process (a command
started by a test) does not see the fault, nor does what an import computes.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import contextlib
import doctest
import fcntl
import gc
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import tomllib
import traceback
import types
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faults import Fault, faults, inject
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / ".mutants"
NAMED = ROOT / "tools" / "named_faults.toml"
HARMLESS = ROOT / "tools" / "harmless_faults.toml"
LEFT_OUT = (
    "cli/",
    "report/",
    "serve/",
    "__main__",
)  # words, charts and pages; what they print is judged by their own tests
LEFT_OUT_NAMES = ("_chart", "_charts", "_page", "_phrases", "_theme", "__init__")
UNKNOWN = 45.0  # processor seconds that a test may take of which nothing is known yet
EXAMPLES = 20.0  # and the examples of one module
COMPILING = 150.0  # more of them where compiled code has to be compiled again
FAR = 2  # how many calls away from the faulty function a name may be to choose a test file by


# -- which functions are entered ----------------------------------------------------------------------------------------


class Marks(ast.NodeTransformer):
    """Puts a mark at the head of every function: its name is noted when it is entered."""

    def __init__(self, file: str) -> None:
        self.file = file

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        mark = ast.parse(f"__entered__.add({f'{self.file}::{node.name}'!r})").body[0]
        for part in ast.walk(mark):
            if isinstance(part, ast.expr | ast.stmt):
                part.lineno = part.end_lineno = node.body[0].lineno
                part.col_offset = part.end_col_offset = 0
        self.generic_visit(node)
        told = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
        node.body.insert(1 if told else 0, mark)
        return node


class MarkedLoader(importlib.machinery.SourceFileLoader):
    """Loads a module of the copy with marks in it; compiled code (numba) stays as it is."""

    source = ""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:
        if b"numba" in data:
            return super().source_to_code(data, path, _optimize=_optimize)
        tree = Marks(os.fspath(path).removeprefix(self.source + "/")).visit(ast.parse(data))
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)


class MarkedFinder(importlib.abc.MetaPathFinder):
    """Finds priorscope's modules in the copy, for the loader that marks them."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.split(".")[0] != "priorscope":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = MarkedLoader(spec.loader.name, spec.loader.path)
        return spec


# -- a fault in the running process -------------------------------------------------------------------------------------


def codes(source: bytes, file: str, top: str, first: int) -> list[types.CodeType]:
    """The code of a function (or method) of a file and of all functions inside it, in the order of the file."""
    tree: ast.Module = ast.parse(source)
    if b"numba" not in source:
        tree = Marks(file.removeprefix(MarkedLoader.source + "/")).visit(tree)

    def within(code: types.CodeType) -> Iterator[types.CodeType]:
        yield code
        for part in code.co_consts:
            if isinstance(part, types.CodeType):
                yield from within(part)

    whole = compile(tree, file, "exec", dont_inherit=True)
    found = [c for c in within(whole) if c.co_name == top and c.co_firstlineno == first]
    return list(within(found[0])) if found else []


def exchange(fault: Fault) -> bool:
    """Give every living function the code of its faulty version; whether there was one that could be changed."""
    file = str(ROOT / fault.file)
    source = Path(file).read_bytes()
    parts = Path(fault.file).with_suffix("").parts[1:]
    importlib.import_module(
        ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    )  # some are loaded when first used
    old = codes(source, file, fault.function, fault.first)
    new = codes(inject(source, fault), file, fault.function, fault.first)
    if len(old) != len(new):  # a lambda or comprehension is gone: the outer function alone
        old, new = old[:1], new[:1]
    pairs = {(o.co_qualname, o.co_firstlineno): n for o, n in zip(old, new)}
    changed = False
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__code__.co_filename == file:
            code = pairs.get((thing.__code__.co_qualname, thing.__code__.co_firstlineno))
            if code is not None and len(code.co_freevars) == len(thing.__code__.co_freevars):
                thing.__code__ = code
                changed = True
    if b"numba" in source:  # compiled code does not notice that what it calls has changed: compile all of it again
        for thing in gc.get_objects():
            if isinstance(thing, Dispatcher) and thing.py_func.__module__.startswith("priorscope"):
                thing._cache = NullCache()
                if thing.overloads:
                    thing.recompile()
    return changed


# -- running tests in forked children -----------------------------------------------------------------------------------


class OutOfTime(BaseException):
    """A test took far longer than it does unharmed."""


class Notes:
    """A pytest plugin: what each test enters and how long it takes, and which failed."""

    def __init__(self, known: dict[str, float]) -> None:
        self.known = known
        self.entered: set[str] = vars(builtins)["__entered__"]
        self.tests: dict[str, Any] = {}
        self.shared: dict[str, set[str]] = defaultdict(set)
        self.failed: list[str] = []
        self.began = time.process_time()

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self.began = time.process_time()
        self.entered.clear()
        signal.setitimer(signal.ITIMER_PROF, 8 * self.known[nodeid] + 15 if nodeid in self.known else UNKNOWN)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "setup":
            self.shared[report.nodeid.split("::")[0]] |= self.entered  # every test of the file may share fixtures
        if report.failed:
            self.failed.append(report.nodeid)
        if report.when == "teardown":
            signal.setitimer(signal.ITIMER_PROF, 0)
            self.tests[report.nodeid] = {"seconds": time.process_time() - self.began, "enters": sorted(self.entered)}


CHILDREN: list[int] = []  # the one at work, to be ended with this process


def stop(signum: int, frame: Any) -> None:
    for child in CHILDREN:
        os.killpg(child, signal.SIGKILL)
    os._exit(2)


def _late(signum: int, frame: Any) -> None:
    raise OutOfTime


def examples_fail(file: str) -> bool:
    """Whether an example in the docstrings of a module fails (tests/test_public_names.py runs those of all)."""
    import priorscope

    module = importlib.import_module(module_of(file))
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    scope = {**vars(module), "ps": priorscope}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for example in doctest.DocTestFinder().find(module, globs=scope):
            if runner.run(example, out=lambda _: None).failed:
                return True
    return False


def module_of(file: str) -> str:
    parts = Path(file).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def in_a_child(
    session: Any, items: list[Any], known: dict[str, float], cap: float, fault: Fault | None, examples: str = ""
) -> dict[str, Any]:
    """Run tests in a forked child, with the fault or unharmed, until one fails; what they did, or how the child ended."""
    out, log = RECORD / "answer.json", RECORD / "log"
    out.unlink(missing_ok=True)
    compiled = fault is not None and b"numba" in (ROOT / fault.file).read_bytes()
    cap += COMPILING if compiled else 0
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            hard = int(2 * cap + UNKNOWN)
            resource.setrlimit(resource.RLIMIT_CPU, (hard, hard + 5))
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGPROF, _late)
            notes, cut = Notes(known), 0
            session.config.pluginmanager.register(notes, "notes")
            changed = fault is None or exchange(fault)
            start = time.process_time()
            if examples and changed:
                signal.setitimer(signal.ITIMER_PROF, EXAMPLES)
                notes.failed += [f"examples of {examples}"] if examples_fail(examples) else []
                signal.setitimer(signal.ITIMER_PROF, 0)
            for i, item in enumerate(items if changed and not notes.failed else []):
                if time.process_time() - start > cap:
                    cut = len(items) - i
                    break
                after = items[i + 1] if i + 1 < len(items) else None
                item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
                if notes.failed:
                    break
            shared = {file: sorted(what) for file, what in notes.shared.items()}
            answer = {"changed": changed, "failed": notes.failed, "tests": notes.tests, "shared": shared, "cut": cut}
            out.write_text(json.dumps(answer))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    CHILDREN[:] = [child]
    deadline = time.monotonic() + 20 * (cap + UNKNOWN)
    done, status = 0, 0
    try:
        while not done and time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.02)
    finally:  # late, or this process was told to stop
        if not done:
            os.killpg(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        CHILDREN.clear()
    if out.exists():
        return json.loads(out.read_text())
    ended = "out of time" if os.WIFSIGNALED(status) else "crashed"
    return {"changed": True, "failed": [ended], "tests": {}, "shared": {}, "cut": 0}


# -- which tests to run --------------------------------------------------------------------------------------------------


class Knowledge:
    """What earlier runs have shown of the tests, and the words of source and tests; kept in ``.mutants/record.json``."""

    def __init__(self, fresh: bool = False) -> None:
        self.file = RECORD / "record.json"
        kept = json.loads(self.file.read_text()) if self.file.exists() and not fresh else {}
        self.tests: dict[str, Any] = {}
        self.examples: dict[str, bool] = {}  # whether those of a module run unharmed
        self.words: dict[str, set[str]] = {}
        self.bodies: dict[str, set[str]] = {}  # the words of each test
        for path in sorted((ROOT / "tests").rglob("test_*.py")):
            if "fuzz" in path.parts or "tools" in path.parts:
                continue
            name, data = str(path.relative_to(ROOT)), path.read_bytes()
            mark = hashlib.sha256(data).hexdigest()
            old = kept.get(name, {})
            new = {"mark": mark, "tests": {}, "shared": [], "healthy": [], "ill": []}
            self.tests[name] = old if old.get("mark") == mark else new
            self.words[name] = set(re.findall(r"\w+", data.decode()))
            for node in ast.parse(data).body:
                if isinstance(node, ast.FunctionDef):
                    self.bodies[f"{name}::{node.name}"] = set(re.findall(r"\w+", ast.unparse(node)))
        self.mentions: dict[str, set[str]] = defaultdict(set)  # the functions and classes in which a name stands
        for path in (ROOT / "src" / "priorscope").rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    for part in ast.walk(node):
                        word = (
                            part.id
                            if isinstance(part, ast.Name)
                            else part.attr
                            if isinstance(part, ast.Attribute)
                            else ""
                        )
                        if word and word != node.name:
                            self.mentions[word].add(node.name)

    def save(self) -> None:
        self.file.write_text(json.dumps(self.tests))

    def learn(self, answer: dict[str, Any]) -> None:
        for name, what in answer["tests"].items():
            if name not in answer["failed"]:
                self.tests[name.split("::")[0]]["tests"][name] = what
        for file, what in answer["shared"].items():
            self.tests[file]["shared"] = sorted({*self.tests[file]["shared"], *what})

    def seconds(self) -> dict[str, float]:
        return {name: t["seconds"] for found in self.tests.values() for name, t in found["tests"].items()}

    def ill(self) -> set[str]:
        return {name for found in self.tests.values() for name in found["ill"]}

    def entering(self, fault: Fault, compiled: bool) -> list[str]:
        """Tests known to enter the faulty function or one inside it (it may have run at import), mirrored and cheapest first."""
        inside = fault.file.removeprefix("src/priorscope/")
        own = functions_in((ROOT / fault.file).read_bytes(), fault)

        def enters(what: list[str]) -> bool:
            for entry in what:
                file, name = entry.split("::")
                if file == inside and (compiled or name in own):
                    return True
                if (
                    compiled and Path(file).parent == Path(inside).parent
                ):  # compiled code is entered from its neighbours
                    return True
            return False

        ranked = []
        for file, found in self.tests.items():
            shared = enters(found["shared"])
            hits = {n: t["seconds"] for n, t in found["tests"].items() if shared or enters(t["enters"])}
            if hits:
                far = not file.startswith(mirror(inside))
                ranked.append((far, sum(hits.values()), sorted(hits, key=hits.__getitem__)))
        return [name for _, _, names in sorted(ranked) for name in names]

    def likely(self, fault: Fault, owner: str) -> list[str]:
        """Test files that may enter the faulty function, by words: near names and the mirrored folder first."""
        inside = fault.file.removeprefix("src/priorscope/")
        distance = {fault.function: 0} if not fault.function.startswith("__") else {}
        if owner:
            distance[owner] = 1 if distance else 0
        border = set(distance)
        for far in range(1, FAR + 1):
            border = {by for name in border for by in self.mentions[name] if not by.startswith("__")} - set(distance)
            distance |= dict.fromkeys(border, far)
        names = {name: far for name, far in distance.items() if len(name) > 3}
        ranked = []
        for file, words in self.words.items():
            near = min((names[word] for word in words & names.keys()), default=FAR + 1)
            own = (
                0
                if file.startswith(mirror(inside))
                else 1
                if file.startswith(mirror(inside).rsplit("/", 2)[0] + "/")
                else 2
            )
            stem = Path(inside).stem.strip("_") in file
            if own < 2 or near <= FAR:
                ranked.append((min(near, 2.5) + 0.6 * own - 0.7 * stem, len(words), file))
        return [file for _, _, file in sorted(ranked)]


def mirror(inside: str) -> str:
    """The folder of tests that mirrors a source file, with its slash."""
    parent = Path(inside).parent.as_posix()
    return "tests/" if parent == "." else f"tests/{parent}/"


# -- the faults --------------------------------------------------------------------------------------------------------


def possible(root: Path, rooms: list[str]) -> list[Fault]:
    """Every fault of the rooms, in the order of files and lines."""
    found: list[Fault] = []
    for file in sorted((root / "src" / "priorscope").rglob("*.py")):
        name = file.relative_to(root / "src" / "priorscope").as_posix()
        grid = (
            name.startswith(("papers/", "validation/")) and file.stem == "_grid"
        )  # what is run, not how it is measured
        if name.startswith(LEFT_OUT) or file.stem.endswith(LEFT_OUT_NAMES) or file.stem.startswith("_page") or grid:
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


def bare(text: str) -> str:
    """What a fault puts in place, without the brackets around it."""
    return text[1:-1] if text.startswith("(") else text


def harmless(taken: list[Fault]) -> list[Fault]:
    """Those of the faults that ``harmless_faults.toml`` says can change no answer, by the line they stand in."""
    entries = tomllib.loads(HARMLESS.read_text())["fault"]
    known = {(e["file"], e["line"], e["old"], e["new"]) for e in entries}
    lines = {f.file: (ROOT / f.file).read_text().splitlines() for f in taken}
    return [f for f in taken if (f.file, lines[f.file][f.line - 1].strip(), f.old, bare(f.new)) in known]


def named(root: Path, words: str = "") -> list[Fault]:
    """The faults of ``named_faults.toml``: each ``old`` stands once in the source, wherever its file has moved to."""
    sources = {
        f.relative_to(root).as_posix(): f.read_bytes() for f in sorted((root / "src" / "priorscope").rglob("*.py"))
    }
    found = []
    for entry in tomllib.loads(NAMED.read_text())["fault"]:
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
        around = [
            n
            for n in ast.walk(ast.parse(source))
            if isinstance(n, ast.FunctionDef) and n.lineno <= line <= (n.end_lineno or 0)
        ]
        outer = min(around, key=lambda n: n.lineno)
        first = min([outer.lineno, *(d.lineno for d in outer.decorator_list)])
        stop = start + len(old)
        fault = Fault(file, line, entry["name"], start, stop, entry["old"], entry["new"], outer.name, first)
        if words in f"{entry['name']} {file}":
            found.append(fault)
    return found


def owner_of(source: bytes, line: int) -> str:
    """The class around a line, if there is one."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0):
            return node.name
    return ""


def functions_in(source: bytes, fault: Fault) -> set[str]:
    """The name of the faulty function and of all functions inside it."""
    named = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef) and n.name == fault.function]
    own = [n for n in named if min([n.lineno, *(d.lineno for d in n.decorator_list)]) == fault.first]
    return {fault.function, *(n.name for top in own for n in ast.walk(top) if isinstance(n, ast.FunctionDef))}


def survives(session: Any, knowledge: Knowledge, fault: Fault, cap: float) -> tuple[bool, str]:
    """Whether no test notices the fault, and which one did."""
    source = (ROOT / fault.file).read_bytes()
    items = {item.nodeid: item for item in session.items}
    by_file: dict[str, list[str]] = defaultdict(list)
    for name in items:
        by_file[name.split("::")[0]].append(name)
    while True:
        known, ill = knowledge.seconds(), knowledge.ill()
        entering = [n for n in knowledge.entering(fault, b"numba" in source) if n in items and n not in ill]
        likely = knowledge.likely(fault, owner_of(source, fault.line))
        unknown = [n for file in likely for n in by_file[file] if n not in known and n not in ill]
        named = [n for n in unknown if fault.function in knowledge.bodies.get(n.split("[")[0], ())]
        order = dict.fromkeys([*named, *entering, *unknown])
        if fault.file not in knowledge.examples:
            unharmed = in_a_child(session, [], known, cap, None, fault.file)
            knowledge.examples[fault.file] = not unharmed["failed"]
        told = fault.file if knowledge.examples[fault.file] else ""
        answer = in_a_child(session, [items[n] for n in order], known, cap, fault, told)
        knowledge.learn(answer)
        if not answer["changed"]:
            return True, "no living function has this code"
        if not answer["failed"]:
            inside = fault.file.removeprefix("src/priorscope/")
            own = {f"{inside}::{name}" for name in functions_in(source, fault)}
            hits = sum(not own.isdisjoint(t["enters"]) for t in answer["tests"].values())
            cut = f", {answer['cut']} cut off" if answer["cut"] else ""
            return True, f"{hits} of {len(answer['tests'])} tests enter it{cut}"
        by = answer["failed"][0]
        if "::" not in by:
            return False, by
        found = knowledge.tests[by.split("::")[0]]
        if by not in found["healthy"]:
            unharmed = in_a_child(session, [items[by]], {}, 300, None)
            found["ill" if unharmed["failed"] else "healthy"].append(by)
            knowledge.learn(unharmed)
        if by in found["healthy"]:
            return False, by


def listen(session: Any, knowledge: Knowledge) -> None:
    """Run every test of which nothing is known yet, unharmed, file by file; what fails unharmed kills no fault."""
    by_file: dict[str, list[Any]] = defaultdict(list)
    known, ill = knowledge.seconds(), knowledge.ill()
    for item in session.items:
        if item.nodeid not in known and item.nodeid not in ill:
            by_file[item.nodeid.split("::")[0]].append(item)
    for i, (file, items) in enumerate(by_file.items(), 1):
        failed: list[str] = []
        while items:
            answer = in_a_child(session, items, {}, 900, None)
            knowledge.learn(answer)
            names = [item.nodeid for item in items]
            first = (
                names.index(answer["failed"][0]) if answer["failed"] and answer["failed"][0] in names else len(names)
            )
            failed += names[first : first + 1]
            items = items[first + 1 :]
        knowledge.tests[file]["ill"] += failed
        knowledge.save()
        say(f"{i}/{len(by_file)} {file}" + (f": {', '.join(failed)} fail unharmed" if failed else ""))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="how many faults")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of faults")
    parser.add_argument(
        "--rooms", default="", help="folders below src/priorscope, comma-separated; all that compute if empty"
    )
    parser.add_argument("--kinds", default="", help="kinds of faults, comma-separated; all if empty")
    parser.add_argument("--only", default="", help="FILE:LINE: every fault of that line instead of a choice")
    parser.add_argument(
        "--named", nargs="?", const="", help="the listed faults instead of a choice; those with this word alone"
    )
    parser.add_argument("--cap", type=float, default=60, help="processor seconds of tests per fault")
    parser.add_argument("--listen", action="store_true", help="first run every test once, to know what each enters")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs have shown of the tests")
    parser.add_argument(
        "--out", default="", help="append one JSON line per fault to this file, and skip those it says were killed"
    )
    parser.add_argument("--plain", action="store_true", help="leave out compiled code, where a fault takes minutes")
    parser.add_argument("--list", action="store_true", help="print the chosen faults and stop")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)
    if options.named is not None:
        taken = named(ROOT, options.named)
    else:
        found = possible(ROOT, [r for r in options.rooms.split(",") if r])
        found = [f for f in found if not options.kinds or f.kind in options.kinds.split(",")]
        if options.only:
            name, line = options.only.rsplit(":", 1)
            taken = [f for f in found if f.file.endswith(name) and f.line == int(line)]
        else:
            taken = choice(found, options.count, options.seed)
    if options.plain:
        taken = [f for f in taken if b"numba" not in (ROOT / f.file).read_bytes()]
    apart = harmless(taken)
    taken = [f for f in taken if f not in apart]
    if apart:
        print(f"{len(apart)} that can change no answer are left out:", *apart, sep="\n  ")
    if options.list:
        print(*taken, sep="\n")
        return 0
    RECORD.mkdir(exist_ok=True)
    with (RECORD / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another run is at work in {RECORD}: wait for it", file=sys.stderr)
            return 2
        return judge(taken, options)


class Judge:
    """A pytest plugin that injects faults in place of running the tests."""

    def __init__(self, taken: list[Fault], options: argparse.Namespace) -> None:
        self.taken, self.options = taken, options
        self.alive: list[Fault] = []

    def pytest_runtestloop(self, session: Any) -> bool:
        knowledge = Knowledge(self.options.fresh)
        if self.options.listen:
            listen(session, knowledge)
        log = Path(self.options.out) if self.options.out else None
        seen = Counter[str]()
        known = {(d["fault"], d["new"]): d for d in logged(log) if not d["survives"]}
        for i, fault in enumerate(self.taken, 1):
            done, began = known.get((str(fault), fault.new)), time.time()
            if done:
                lives, by = False, done["by"]
            else:
                lives, by = survives(session, knowledge, fault, self.options.cap)
                knowledge.save()
            seen[fault.kind] += 1
            if lives:
                self.alive.append(fault)
            word = "SURVIVES" if lives else "killed"
            say(f"{i}/{len(self.taken)} {word} {fault} [{by}] {time.time() - began:.0f} s")
            if log and not done:
                with log.open("a") as lines:
                    lines.write(json.dumps({"fault": str(fault), "new": fault.new, "survives": lives, "by": by}) + "\n")
        share = len(self.alive) / max(len(self.taken), 1)
        say(f"\n{len(self.alive)} of {len(self.taken)} faults survive ({share:.1%}), seed {self.options.seed}")
        say("kinds: " + ", ".join(f"{kind} {n}" for kind, n in seen.most_common()))
        for fault in self.alive:
            say(f"survives: {fault}")
        return True


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def judge(taken: list[Fault], options: argparse.Namespace) -> int:
    """Inject the faults one by one and say which survive."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "src"))
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    sys.pycache_prefix = str(RECORD / "marked")
    MarkedLoader.source = str(ROOT / "src" / "priorscope")
    vars(builtins)["__entered__"] = set()
    sys.meta_path.insert(0, MarkedFinder())
    plugin = Judge(taken, options)
    words = [
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--ignore=tests/fuzz",
        "--ignore=tests/tools",
        "tests",
    ]
    code = int(pytest.main(words, plugins=[plugin]))
    if code not in (0, 5):
        return code
    return 0 if len(plugin.alive) < 0.05 * len(taken) else 1


def logged(log: Path | None) -> Iterator[dict[str, Any]]:
    if log and log.exists():
        yield from map(json.loads, log.read_text().splitlines())


if __name__ == "__main__":
    sys.exit(main())

"""A plugin of pytest that watches the suite: the first calls of each function of the library, as text.

``PYTHONPATH=tools RECORD_TO=folder pytest -p recorder._watch`` writes candidates;
``python -m recorder choose folder`` keeps some.
"""

from __future__ import annotations

import inspect
import json
import os
import signal
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
import torch

import priorscope
from recorder._calls import function_of
from recorder._text import Unwritable, Writer

SOURCE = str(Path(priorscope.__file__).parent)
TESTS = str(Path(__file__).resolve().parents[2] / "tests")
TRIES, KEPT = 8, 20  # calls looked at per file of tests; calls kept, of different shapes, types and settings
ALONE = (
    "__main__",
    "serve._app",
    "serve._run",
    "lab._cluster",
    "lab._executors",
    "lab._ledger",
    "lab._running",
    "lab._sweep",
    "cli._claims",
    "cli._reproduce",
)  # start processes or wait for somebody; say what stands in the ledger or which commit this is
SECONDS = float(os.environ.get("RECORD_LIMIT", "0.5"))  # processor time of one test that is watched
CASES = 6  # of one parametrised test
TO = os.environ.get("RECORD_TO", "")
LEFT_OUT = tuple(os.environ.get("RECORD_WITHOUT", "").split())


class Watched:
    """One function: how its arguments are named, and the calls kept so far."""

    def __init__(self, name: str, code: CodeType) -> None:
        self.name, self.code = name, code
        self.positional = code.co_varnames[: code.co_argcount]
        self.only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        at = code.co_argcount + code.co_kwonlyargcount
        self.rest = code.co_varnames[at] if code.co_flags & inspect.CO_VARARGS else None
        at += self.rest is not None
        self.keywords = code.co_varnames[at] if code.co_flags & inspect.CO_VARKEYWORDS else None
        self.signatures: set[int] = set()
        self.left = TRIES
        self.direct = False

    def look(self, frame: FrameType) -> dict[str, Any] | None:
        """The call as text, unless one like it is kept or it cannot be written."""
        self.left -= 1
        given = frame.f_locals
        write = Writer()
        try:
            arguments: dict[str, Any] = {"positional": [write(given[k]) for k in self.positional]}
            if self.only:
                arguments["only"] = {k: write(given[k]) for k in self.only}
            if self.rest:
                arguments["rest"] = [write(v) for v in given[self.rest]]
            if self.keywords:
                arguments["keywords"] = {k: write(v) for k, v in given[self.keywords].items()}
        except (Unwritable, RecursionError, KeyError, OSError):
            return None
        except Exception:  # anything that an object does when it is looked at
            return None
        if not torch.is_grad_enabled():
            arguments["grad"] = False
        signature = zlib.crc32(json.dumps(rough(arguments)).encode())
        if signature in self.signatures:
            return None
        self.signatures.add(signature)
        return arguments


def rough(x: Any) -> Any:
    """Shapes, types, words and settings, without the numbers."""
    if isinstance(x, dict):
        for tag in ("$array", "$tensor", "$parameter"):
            if tag in x:
                return [tag, *x[tag][:2]]
        return {k: rough(v) for k, v in x.items()}
    if isinstance(x, list):
        return [rough(v) for v in x[:12]]
    return 0.5 if isinstance(x, float) else x if not isinstance(x, str) or len(x) < 30 else "text"


class Watch:
    """The hook of the interpreter, and what it found."""

    def __init__(self, file: Path) -> None:
        self.functions: dict[CodeType, Watched | None] = {}
        self.open: list[Watched] = []
        file.parent.mkdir(parents=True, exist_ok=True)
        self.out = file.open("w")

    def first(self, code: CodeType, frame: FrameType) -> Watched | None:
        """Which function this is; None for one that cannot be called by its name."""
        name = f"{frame.f_globals.get('__name__', '')}:{code.co_qualname}"
        module = name.partition(":")[0].removeprefix("priorscope.")
        outside = not code.co_filename.startswith(SOURCE) or "<" in code.co_qualname
        if outside or not code.co_flags & inspect.CO_OPTIMIZED or module.startswith(ALONE + LEFT_OUT):
            return None
        try:
            return Watched(name, code) if function_of(name).code is code else None
        except (AttributeError, LookupError, ImportError, ValueError):
            return None

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        try:
            watched = self.functions[code]
        except KeyError:
            watched = self.functions[code] = self.first(code, frame)
        if watched is None or not watched.left or len(watched.signatures) >= KEPT:
            return
        if watched.left == TRIES:
            self.open.append(watched)
        back = frame.f_back
        while back is not None and "<locals>" in back.f_code.co_qualname and back.f_code.co_filename.startswith(SOURCE):
            back = back.f_back  # the door of a public function
        if not watched.direct and back is not None and back.f_code.co_filename.startswith(TESTS):
            watched.direct = True
        arguments = watched.look(frame)
        if arguments is not None:
            row = {"function": watched.name, "arguments": arguments, "direct": watched.direct}
            self.out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")

    def another_file(self) -> None:
        for watched in self.open:
            watched.left = TRIES
        self.open.clear()


WATCH: list[Watch] = []
HERE = [""]


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keeps a few cases of each parametrised test, spread over all of them."""
    cases: dict[tuple[str, str], list[Any]] = {}
    for item in items:
        cases.setdefault((str(item.path), getattr(item, "originalname", item.name)), []).append(item)
    kept = {id(case) for same in cases.values() for case in same[:: max(1, -(-len(same) // CASES))]}
    if TO:
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
        items[:] = [item for item in items if id(item) in kept]


def pytest_runtest_setup(item: Any) -> None:
    if not TO:
        return
    if not WATCH:
        WATCH.append(Watch(Path(TO) / f"{os.getpid()}.jsonl"))
    if HERE[0] != str(item.path):
        HERE[0] = str(item.path)
        WATCH[0].another_file()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    if not WATCH:
        return (yield)
    before = signal.signal(signal.SIGPROF, long_enough)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    sys.setprofile(WATCH[0])
    try:
        return (yield)
    finally:
        sys.setprofile(None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        WATCH[0].out.flush()


def long_enough(signum: int, frame: Any) -> None:
    pytest.skip("seen enough of it")


def pytest_sessionfinish(session: Any) -> None:
    sys.setprofile(None)
    for watch in WATCH:
        watch.out.close()

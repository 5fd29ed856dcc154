"""The calls that are kept: which function, with what, and the files in which they stand."""

from __future__ import annotations

import importlib
import inspect
import json
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CALLS = ROOT / "tests" / "recorded" / "calls"
RESULTS = ROOT / "tests" / "recorded" / "results"


@dataclass(frozen=True)
class Call:
    """One call of a function ``module:qualified.name``, its arguments as text."""

    function: str
    arguments: dict[str, Any]  # positional, rest, keywords; grad
    direct: bool = False  # a test calls this function itself

    @property
    def module(self) -> str:
        return self.function.partition(":")[0]


@dataclass(frozen=True)
class Raw:
    """A function as it stands in its module: what to call, and the code that runs in the end."""

    call: Any
    code: types.CodeType


def function_of(name: str) -> Raw:
    """The function of that name, with what wraps it, but for wrappers that make a context of a generator."""
    module, _, path = name.partition(":")
    thing: Any = importlib.import_module(module)
    for part in path.split("."):
        thing = inspect.getattr_static(thing, part)
    if isinstance(thing, property):
        thing = thing.fget
    elif isinstance(thing, classmethod | staticmethod):
        thing = thing.__func__
    elif not isinstance(thing, types.FunctionType):
        thing = getattr(
            thing, "func", getattr(thing, "py_func", thing)
        )  # cached properties; functions that numba compiles
    inner = thing
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    if not isinstance(inner, types.FunctionType):
        raise LookupError(f"{name} is no function")
    return Raw(inner if inner.__code__.co_flags & inspect.CO_GENERATOR else thing, inner.__code__)


def file_of(folder: Path, module: str) -> Path:
    """One file per module, mirrored folder for folder."""
    return (
        folder.joinpath(*module.split(".")[1:]).with_suffix(".jsonl") if "." in module else folder / "priorscope.jsonl"
    )


def read_calls(file: Path) -> Iterator[Call]:
    """The calls in a file, in order."""
    for line in file.read_text().splitlines():
        row = json.loads(line)
        yield Call(row["function"], row["arguments"], row.get("direct", False))


def read_results(file: Path) -> list[dict[str, Any]]:
    """What the calls in a file gave, in the order of the calls."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def write_rows(file: Path, rows: list[dict[str, Any]]) -> None:
    """One line per row; no file where there is none."""
    if not rows:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows))

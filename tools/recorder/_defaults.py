"""The defaults of functions and of fields of data classes: kept calls pass every argument, so that they cannot see them."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import types
from typing import Any

from recorder._calls import CALLS, ROOT
from recorder._summary import summary

FILE = CALLS.parent / "defaults.txt"
LEFT_OUT = ("profiles", "__main__")


def modules() -> list[str]:
    """The modules of the library."""
    source = ROOT / "src"
    names = [".".join(f.relative_to(source).with_suffix("").parts) for f in sorted(source.rglob("*.py"))]
    inside = [name.removesuffix(".__init__") for name in names]
    return [name for name in inside if not name.removeprefix("priorscope.").startswith(LEFT_OUT)]


def defaults(only: str = "") -> dict[str, str]:
    """The defaults of everything that has some, by its name, in one line each; of one module or all."""
    found = {}
    for module in [only] if only else modules():
        for thing in vars(importlib.import_module(module)).values():
            if getattr(thing, "__module__", "") == module:
                for name, given in of(thing):
                    if given:
                        found[f"{module}:{name}"] = " ".join(f"{k}={words(v)}" for k, v in given.items())
    return found


def of(thing: Any) -> list[tuple[str, dict[str, Any]]]:
    """A function with its defaults, or a class with those of its fields and methods."""
    thing = inspect.unwrap(thing) if callable(thing) else thing
    if isinstance(thing, types.FunctionType):
        code = thing.__code__
        names = code.co_varnames[: code.co_argcount]
        given = thing.__defaults__ or ()
        return [(thing.__qualname__, dict(zip(names[len(names) - len(given) :], given)) | (thing.__kwdefaults__ or {}))]
    if not isinstance(thing, type):
        return []
    fields = dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else ()
    found = [(thing.__qualname__, {f.name: f.default for f in fields if f.default is not dataclasses.MISSING})]
    for method in vars(thing).values():
        method = getattr(method, "__func__", method)
        if (
            isinstance(method, types.FunctionType)
            and method.__module__ == thing.__module__
            and "<" not in method.__qualname__
            and method.__code__.co_filename.startswith(str(ROOT))
        ):
            found += of(method)
    return found


def words(value: Any) -> str:
    return " ".join(str(summary(value)).split())[:120]


def moved_defaults(only: str = "") -> list[str]:
    """Defaults that are not what was recorded; new names are no news."""
    was = dict(line.split(" ", 1) for line in FILE.read_text().splitlines()) if FILE.exists() else {}
    now = defaults(only)
    asked = [name for name in was if name.startswith(f"{only}:" if only else "")]
    return [f"{name}: {was[name]} is now {now.get(name, 'without')}" for name in asked if now.get(name) != was[name]]


def write_defaults() -> None:
    FILE.write_text("".join(f"{name} {given}\n" for name, given in sorted(defaults().items())))

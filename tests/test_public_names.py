"""Every public name has a docstring with an example, and all examples run, those of inner functions too."""

from __future__ import annotations

import doctest
import importlib
import inspect
import types
from pathlib import Path

import pytest

import priorscope

SOURCE = Path(priorscope.__file__).parent
PARTS = sorted(
    path.stem for path in SOURCE.iterdir() if not path.name.startswith("_") and (path.is_dir() or path.suffix == ".py")
)


def public_objects(part: str) -> dict[str, object]:
    """Functions and classes that a package exports, those of its exported sub-packages included."""
    found: dict[str, object] = {}
    todo = [importlib.import_module(f"priorscope.{part}")]
    while todo:
        module = todo.pop()
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            if isinstance(value, types.ModuleType):
                if value.__name__.startswith("priorscope."):
                    todo.append(value)
            elif inspect.isclass(value) or inspect.isroutine(value):
                found[f"{module.__name__}.{name}"] = value
    return found


def inner_modules(part: str) -> list[types.ModuleType]:
    """The modules of a package, whatever their names."""
    root = SOURCE / part
    files = sorted(root.rglob("*.py")) if root.is_dir() else [root.with_suffix(".py")]
    names = (
        file.relative_to(SOURCE).with_suffix("").parts for file in files if file.stem not in ("__init__", "__main__")
    )
    return [importlib.import_module(".".join(("priorscope", *parts))) for parts in names]


@pytest.mark.parametrize("part", PARTS)
def test_every_public_name_is_documented_and_its_examples_run(part, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lacking, broken = [], []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False, optionflags=flags)
    for name, value in public_objects(part).items():
        text = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
        if not text or ">>>" not in text:
            lacking.append(name)
            continue
        scope = {**vars(inspect.getmodule(value)), "ps": priorscope}
        for example in finder.find(value, name, globs=scope):
            said: list[str] = []
            if runner.run(example, out=said.append).failed:
                broken.append("".join(said))
    assert not lacking, f"these need a docstring with an example: {lacking}"
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("part", PARTS)
def test_examples_of_inner_functions_run(part, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    public = {f"{value.__module__}.{value.__qualname__}" for value in public_objects(part).values()}
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False, optionflags=flags)
    broken = []
    for module in inner_modules(part):
        for example in finder.find(module):
            known = any(example.name == name or example.name.startswith(f"{name}.") for name in public)
            said: list[str] = []
            if not known and runner.run(example, out=said.append).failed:
                broken.append("".join(said))
    assert not broken, "\n".join(broken)

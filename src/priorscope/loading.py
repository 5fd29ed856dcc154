"""Objects named by a text: ``package.module:name`` or ``folder/file.py:name``, for models and papers of the user's own."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

__all__ = ["load_object"]


def load_object(text: str) -> object:
    """What a module or a file calls so; the working folder is searched first. Loading runs the code of that file.

    Example:
        >>> load_object("math:pi")
        3.141592653589793
        >>> load_object("math:tau2")
        Traceback (most recent call last):
        ...
        ValueError: 'math' has no 'tau2'; it has acos, ...
    """
    place, colon, name = text.rpartition(":")
    if not (place and colon and name):
        raise ValueError(f"wanted package.module:name or file.py:name; got {text!r}.")
    module = _file(place, text) if place.endswith(".py") else _module(place, text)
    if name not in vars(module):
        found = sorted(n for n, value in vars(module).items() if not n.startswith("_") and callable(value))
        raise ValueError(f"{place!r} has no {name!r}; it has {', '.join(found[:12]) or 'nothing to call'}.")
    found_object: object = vars(module)[name]
    return found_object


@contextmanager
def _first_on_path(folder: str) -> Iterator[None]:
    """A folder searched before all others meanwhile, and after them from then on, for what is imported when called."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)


def _module(name: str, text: str) -> ModuleType:
    try:
        with _first_on_path(os.getcwd()):
            importlib.invalidate_caches()
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _broken(text, error) from error  # found, but something it needs is not
        raise ValueError(
            f"cannot import {name!r} of {text!r}: {error}. It is looked for in {os.getcwd()} and where Python looks; "
            "give the path of its file instead, as in folder/file.py:factory."
        ) from error
    except Exception as error:  # any mistake in the user's module
        raise _broken(text, error) from error


def _file(place: str, text: str) -> ModuleType:
    """Import a user's file under its own name, as if its folder were on the path."""
    file = Path(place).expanduser().resolve()
    if not file.is_file():
        raise ValueError(f"there is no file {place!r}, where {text!r} should be.")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(file.stem)
    sys.modules[file.stem] = module  # dataclasses and pickling look there
    try:
        with _first_on_path(str(file.parent)):
            spec.loader.exec_module(module)
    except Exception as error:  # any mistake in the user's file
        if before is None:
            del sys.modules[file.stem]
        raise _broken(text, error) from error
    finally:
        if before is not None:
            sys.modules[file.stem] = before
    return module


def _broken(text: str, error: Exception) -> ValueError:
    at = ""
    trace = error.__traceback__
    while trace is not None:
        at, trace = f" ({trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno})", trace.tb_next
    if isinstance(error, SyntaxError):
        at = ""  # it says so itself
    return ValueError(f"cannot import {text!r}: {type(error).__name__}: {error}{at}.")

"""Models named by a text: an architecture of this library, a factory in a package or a file of your own, a timm model."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from priorscope.models.architectures._architecture import Architecture
from priorscope.models.architectures._named import fcn, gap, lap, lcn, vec
from priorscope.models.architectures.zoo import FiniteModel, lenet, mixer, resnet18, vgg11, vit

__all__ = ["NAMED", "Loaded", "load"]

Loaded = Architecture | FiniteModel | nn.Module | Callable[..., Any]

NAMED: dict[str, Callable[..., Architecture | FiniteModel]] = {
    "fcn": fcn,
    "lcn": lcn,
    "vec": vec,
    "gap": gap,
    "lap": lap,
    "lenet": lenet,
    "vgg11": vgg11,
    "resnet18": resnet18,
    "vit": vit,
    "mixer": mixer,
}
"""Architectures that have a name of one word.

Example:
    >>> NAMED["gap"](depth=2).name
    'gap'
"""


def load(text: str, **settings: Any) -> Loaded:
    """A model from a text, the same for every command and for Python.

    - a name: ``fcn``, ``lcn``, ``vec``, ``gap``, ``lap``, ``lenet``, ``vgg11``, ``resnet18``, ``vit`` or ``mixer``, built with
      ``settings`` (``depth=2``, …);
    - ``package.module:factory``: what that module calls so, looked for in the working folder first;
    - ``folder/file.py:factory``: the same from a file, wherever it lies;
    - ``timm:name``: a factory of ``input_shape`` and ``outputs``, where timm is installed.

    What a module or file gives is handed over as it is: an Architecture, an ``nn.Module``, or a factory of them (see
    :func:`from_factory`). Loading runs the code of that file.

    Example:
        >>> load("gap", depth=2).name, load("priorscope.models:fcn").__name__
        ('gap', 'fcn')
        >>> load("gpa")
        Traceback (most recent call last):
        ...
        ValueError: there is no model 'gpa'. Did you mean 'gap'? ...
    """
    if text in NAMED:
        return NAMED[text](**settings)
    place, colon, name = text.rpartition(":")
    if not (place and colon and name):
        close = difflib.get_close_matches(text, NAMED, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"there is no model {text!r}.{hint} Name one of {', '.join(NAMED)}, or your own as package.module:factory or "
            "file.py:factory, or timm:name."
        )
    if settings:
        raise ValueError(f"{', '.join(settings)} can be set for named architectures only; {text!r} sets its own.")
    if place == "timm":
        return _timm(name)
    module = _file(place, text) if place.endswith(".py") else _module(place, text)
    if name not in vars(module):
        found = sorted(n for n, value in vars(module).items() if not n.startswith("_") and callable(value))
        raise ValueError(f"{place!r} has no {name!r}; it has {', '.join(found[:12]) or 'nothing to call'}.")
    model = vars(module)[name]
    if not isinstance(model, Architecture | FiniteModel | nn.Module) and not callable(model):
        raise ValueError(
            f"{text!r} is a {type(model).__name__}; a model is an Architecture, an nn.Module or a factory of them."
        )
    return model


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
    file = Path(place).expanduser().resolve()
    if not file.is_file():
        raise ValueError(f"there is no file {place!r}, where the model {text!r} should be.")
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


def _timm(name: str) -> Callable[..., nn.Module]:
    try:
        import timm
    except ImportError as error:
        raise ImportError("timm models need timm: pip install timm.") from error
    if name not in timm.list_models():
        close = difflib.get_close_matches(name, timm.list_models(), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"timm has no model {name!r}.{hint} timm.list_models() names them all.")

    def build(input_shape: tuple[int, ...], outputs: int) -> nn.Module:
        if len(input_shape) != 3:
            raise ValueError(f"timm models take images (channels, height, width); got inputs of shape {input_shape}.")
        network: nn.Module = timm.create_model(name, in_chans=input_shape[0], num_classes=outputs)
        return network

    build.__name__ = name
    return build

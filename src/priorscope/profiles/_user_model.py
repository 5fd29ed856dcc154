"""Models of the user: found by name or given, built by whatever call they take, and made to fit the data."""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from priorscope.profiles._candidates import Candidate
from priorscope.profiles._user_network import UserNetwork

__all__ = ["load_model", "user_candidate"]

Build = Callable[[int], Any]


def _offered(input_shape: tuple[int, ...], outputs: int, seed: int) -> dict[str, Any]:
    """Arguments by the names that factories usually give them."""
    found: dict[str, Any] = {"input_shape": input_shape, "seed": seed}
    found |= dict.fromkeys(("outputs", "num_classes", "n_classes", "num_outputs", "n_outputs", "out_features"), outputs)
    found |= dict.fromkeys(("in_chans", "in_channels", "channels"), input_shape[0])
    return found | dict.fromkeys(("in_features", "input_size", "input_dim"), math.prod(input_shape))


def _call(factory: Any, input_shape: tuple[int, ...], outputs: int, seed: int = 0) -> Any:
    """Call a factory with those of the offered arguments that it takes, torch's generator set to ``seed``."""
    offered = _offered(input_shape, outputs, seed)
    name = getattr(factory, "__name__", type(factory).__name__)
    try:
        taken = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return factory()
    plain = {p.name: offered[p.name] for p in taken if p.name in offered and p.kind is not p.POSITIONAL_ONLY}
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    missing = [p.name for p in taken if p.default is p.empty and p.kind not in kinds and p.name not in plain]
    if missing:
        raise ValueError(
            f"the factory {name} wants {', '.join(missing)}, which a profile cannot know. Give a factory of input_shape and "
            "outputs, such as: lambda input_shape, outputs: Net(64, outputs)."
        )
    tries = [plain]
    if any(p.kind is p.VAR_KEYWORD for p in taken):  # timm and torchvision hide their arguments behind **kwargs
        more = {"num_classes": outputs, "in_chans": input_shape[0]}
        tries = [{**plain, **more}, {**plain, "num_classes": outputs}, plain]
    for attempt in tries[:-1]:
        try:
            return _seeded(factory, seed, attempt)
        except TypeError:
            continue
    return _seeded(factory, seed, tries[-1])


def _seeded(factory: Any, seed: int, arguments: dict[str, Any]) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return factory(**arguments)


def _timm(name: str, input_shape: tuple[int, ...], outputs: int) -> Build:
    try:
        import timm
    except ImportError as error:
        raise ImportError("timm models need timm: pip install timm.") from error
    if len(input_shape) != 3:
        raise ValueError(f"timm models take images (channels, height, width); got inputs of shape {input_shape}.")
    if name not in timm.list_models():
        import difflib

        close = difflib.get_close_matches(name, timm.list_models(), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"timm has no model {name!r}.{hint} timm.list_models() names them all.")
    return lambda seed: _seeded(
        timm.create_model, seed, {"model_name": name, "in_chans": input_shape[0], "num_classes": outputs}
    )


def load_model(text: str, input_shape: tuple[int, ...], outputs: int, inputs: Tensor | None = None) -> Candidate:
    """A candidate from ``package.module:factory``, or ``timm:name`` where timm is installed.

    Example:
        >>> load_model("priorscope.models:fcn", (4,), 1).family
        'user'
    """
    module, _, name = text.partition(":")
    if not module or not name:
        raise ValueError(f"a model is written package.module:factory (or timm:name); got {text!r}.")
    if module == "timm":
        return _candidate(_timm(name, input_shape, outputs), name, input_shape, outputs, inputs)
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"cannot import {module!r} of --model {text!r}: {error}. Is its folder on PYTHONPATH?"
        ) from error
    if not hasattr(loaded, name):
        raise ValueError(f"module {module!r} has no {name!r}; --model wants package.module:factory.")
    return user_candidate(getattr(loaded, name), name, input_shape, outputs, inputs)


def user_candidate(
    model: Any, name: str | None, input_shape: tuple[int, ...], outputs: int, inputs: Tensor | None = None
) -> Candidate:
    """A candidate from an Architecture, an ``nn.Module``, a class or a factory of either; ``inputs`` are a few samples."""
    if isinstance(model, nn.Module) or hasattr(model, "kernel") or hasattr(model, "network"):
        return _candidate(model, name, input_shape, outputs, inputs)
    if not callable(model):
        raise TypeError(f"a model must be an Architecture, an nn.Module or a factory; got {type(model).__name__}.")
    if name is None and getattr(model, "__name__", "<lambda>") != "<lambda>":
        name = model.__name__
    return _candidate(lambda seed: _call(model, input_shape, outputs, seed), name, input_shape, outputs, inputs)


def _candidate(
    model: Any, name: str | None, input_shape: tuple[int, ...], outputs: int, inputs: Tensor | None
) -> Candidate:
    build: Build | None = None
    if not isinstance(model, nn.Module) and not hasattr(model, "kernel") and not hasattr(model, "network"):
        build, model = model, model(0)
    if hasattr(model, "kernel"):
        label = name or getattr(model, "name", None) or type(model).__name__
        return Candidate(str(label), model, "user", "your model, by its closed-form kernel")
    label = name or getattr(model, "name", None) or type(model).__name__
    if hasattr(model, "network") and not isinstance(model, nn.Module):  # finite architectures of this library
        family = model
        build = lambda seed: family.network(input_shape=input_shape, outputs=outputs, seed=seed)  # noqa: E731
        model = build(0)
    if not isinstance(model, nn.Module):
        raise TypeError(f"the factory gave {type(model).__name__}; wanted an nn.Module or an Architecture.")
    sample = torch.zeros(2, *input_shape) if inputs is None else inputs
    network = UserNetwork.fit(model, sample, outputs, build=build, name=str(label))
    return Candidate(str(label), network, "user", "your network, by its tangent kernel at the start")

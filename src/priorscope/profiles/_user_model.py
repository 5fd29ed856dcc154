"""Models of the user: found by name or given, built by whatever call they take, and made to fit the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from priorscope.models import from_factory, load
from priorscope.profiles._candidates import Candidate
from priorscope.profiles._user_network import UserNetwork

__all__ = ["load_model", "user_candidate"]

Build = Callable[[int], Any]


def load_model(text: str, input_shape: tuple[int, ...], outputs: int, inputs: Tensor | None = None) -> Candidate:
    """A candidate from a text, as :func:`priorscope.models.load` reads it.

    Example:
        >>> load_model("priorscope.models:fcn", (4,), 1).family
        'user'
    """
    return user_candidate(load(text), text.rpartition(":")[2], input_shape, outputs, inputs)


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
    return _candidate(lambda seed: from_factory(model, input_shape, outputs, seed), name, input_shape, outputs, inputs)


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

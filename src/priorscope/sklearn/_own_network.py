"""A network of the user's own as its owner would train it: what it takes, where it starts, and how long it is trained."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TypeGuard

import torch
from torch import Tensor, nn

from priorscope.contracts import Fields, Shape, is_network_family
from priorscope.models import Scaling, UserNetwork, from_factory, load
from priorscope.sklearn._reading import Reading
from priorscope.sklearn._recipe import NAMED_NETWORKS, Recipe, epochs_for

__all__ = ["OwnNetwork", "asked", "is_own", "loaded", "own_recipe"]

OwnNetwork = UserNetwork | nn.Module | Callable[..., nn.Module]


def loaded(model: object) -> object:
    """A network by its text ``package.module:factory``; anything else as it is."""
    return load(model) if isinstance(model, str) and ":" in model else model


def is_own(model: object) -> TypeGuard[OwnNetwork]:
    """Whether this is a network of the user, or a function that makes one; what is neither is refused."""
    if isinstance(model, str) or is_network_family(model):
        return False
    if isinstance(model, nn.Module) or callable(model):
        return True
    raise TypeError(
        f"model must be one of {', '.join(map(repr, NAMED_NETWORKS))}, a name such as 'fcn-3', an Architecture, an "
        f"nn.Module or a factory; got {type(model).__name__}."
    )


def asked(model: OwnNetwork, shape: Shape, outputs: int) -> tuple[bool, bool]:
    """Whether a network embeds tokens, and whether it takes sequences (recurrent, or with attention)."""
    if isinstance(model, UserNetwork):
        model = model.module
    if not isinstance(model, nn.Module):
        try:
            model = from_factory(model, shape, outputs, 0)
        except (RuntimeError, ValueError, TypeError, AssertionError):
            return False, False  # what is wrong with it is told when it is built for the rows as they are read
    parts = list(model.modules())
    tokens = any(isinstance(m, nn.Embedding | nn.EmbeddingBag) for m in parts)
    return tokens, any(isinstance(m, nn.RNNBase | nn.MultiheadAttention) for m in parts)


def own_recipe(
    model: OwnNetwork,
    readings: Iterable[tuple[Reading, Tensor]],
    outputs: int,
    *,
    classes: bool,
    seed: int,
    kept: bool,
    tokens: bool,
) -> tuple[Reading, Tensor, Recipe]:
    """The first reading of the rows that the network takes, the rows, and how the network is trained on them.

    Its weights are drawn again by its factory or its layers' law; they stay where ``kept`` or where no law is known.
    """
    first: ValueError | None = None
    for how, x in readings:
        try:
            network = _fitted(model, x, outputs, how.fields, seed, tokens=tokens, odds=classes and outputs == 2)
        except ValueError as error:
            first = first or error
            continue
        break
    else:
        assert first is not None
        raise first
    if network.given < outputs and not network.odds:
        raise ValueError(f"the network has {network.given} outputs; {outputs} are wanted.")
    notes = network.notes
    if not kept:
        with contextlib.suppress(ValueError):  # its law is not known: from the weights it came with
            network = network.redraw(seed)
    n, parts = len(x), list(network.modules())
    convolves = any(isinstance(m, nn.Conv1d | nn.Conv2d | nn.Conv3d) for m in parts)
    fast = any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in parts) and not kept
    recipe = Recipe(
        network,
        0.01 if fast else 0.002,
        epochs_for(n) if convolves else max(epochs_for(n), 20),
        32 if n < 600 else 64,
        0.05 if fast else 0.01,
        min_steps=400,
        held_out=0.1 if n >= (3000 if fast else 500) else 0.0,
        notes=notes,
    )
    return how, x, recipe


def _fitted(
    model: OwnNetwork, x: Tensor, outputs: int, fields: Fields | None, seed: int, *, tokens: bool, odds: bool
) -> UserNetwork:
    """The network with the way of handing rows over that it takes."""
    build = None
    if isinstance(model, UserNetwork):
        build, model = model.build, model.module
    elif not isinstance(model, nn.Module):
        factory = model

        def build(seed: int) -> nn.Module:
            made: nn.Module = from_factory(factory, tuple(x.shape[1:]), outputs, seed)
            return made

        model = build(seed)
    plain = Scaling(torch.zeros(()), torch.ones(())) if tokens else None
    return UserNetwork.fit(model, x[:64], outputs, build=build, scaling=plain, live=True, fields=fields, odds=odds)

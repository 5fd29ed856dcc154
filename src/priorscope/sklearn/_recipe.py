"""What networks are trained by default, by kind: convolutional, dense for tables, this library's own, and the user's."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2

import torch
from torch import Tensor, nn

from priorscope.contracts import Shape, is_network_family
from priorscope.models import (
    Centred,
    Scaling,
    TabularNetwork,
    UserNetwork,
    convolutional_network,
    from_factory,
    load,
)
from priorscope.sklearn._names import model_named

__all__ = ["NAMED_NETWORKS", "Recipe", "recipe_of"]

NAMED_NETWORKS = ("convolutional", "positional", "dense")


@dataclass(frozen=True)
class Recipe:
    """A network with fresh weights, and how it is trained unless the user says otherwise."""

    network: nn.Module
    learning_rate: float
    epochs: float
    batch_size: int
    weight_decay: float
    min_steps: int = 200
    smoothing: float = 0.0
    held_out: float = 0.0
    notes: tuple[str, ...] = field(default=())


def recipe_of(model: object, x: Tensor, outputs: int, *, width: int | None, tokens: bool, seed: int) -> Recipe:
    """The recipe for inputs like ``x`` (n, \\*shape) and so many outputs.

    Example:
        >>> recipe_of("dense", torch.randn(50, 3), 2, width=16, tokens=False, seed=0).network.members
        8
    """
    shape, n = tuple(x.shape[1:]), len(x)
    if isinstance(model, str) and model in NAMED_NETWORKS:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return (
                _dense(x, outputs, width or 256)
                if model == "dense"
                else _convolutional(shape, n, outputs, width or 32, pooling=model == "convolutional")
            )
    if isinstance(model, str):
        model = load(model) if ":" in model else model_named(model, shape)
    if is_network_family(model):
        network = Centred(model.network(shape, width=width or 256, outputs=outputs, seed=seed))
        return Recipe(network, 0.01, 40, 32, 0.0, min_steps=100)
    users = _users(model, x, outputs, tokens, seed)
    return Recipe(users, 0.002, 40, 32, 0.01, min_steps=400, held_out=0.1 if n >= 500 else 0.0, notes=users.notes)


def _convolutional(shape: Shape, n: int, outputs: int, width: int, *, pooling: bool) -> Recipe:
    if len(shape) < 2:
        raise ValueError(
            "a convolutional network needs inputs with positions; these are flat features. Say input_shape=(channels, h, w) "
            "or (channels, time), or take model='dense'."
        )
    network = convolutional_network(shape, outputs, width=width, pooling=pooling)
    return Recipe(network, 0.01, _epochs(n), 32 if n < 600 else 64, 0.05, min_steps=300)


def _epochs(n: int) -> float:
    """From 40 where samples are few down to 12 where they are 10,000 and more."""
    return min(max(40 - 11 * log2(max(n, 1) / 250), 12), 40)


def _dense(x: Tensor, outputs: int, width: int) -> Recipe:
    if x.ndim > 2:
        raise ValueError(
            f"model='dense' is for tables; inputs have shape {tuple(x.shape[1:])}. Take 'convolutional', or flatten them."
        )
    plain = tuple(j for j, column in enumerate(x.T) if len(column.unique()) < 3)
    members = 8
    network = TabularNetwork(x.shape[1], outputs, width=width, members=members, plain=plain)
    return Recipe(network, 0.003, 40, 128, 0.02, held_out=0.15)


def _users(model: object, x: Tensor, outputs: int, tokens: bool, seed: int) -> UserNetwork:
    """A network of the user's own with fresh weights, or with those it came with where it cannot be drawn again."""
    build = None
    if isinstance(model, UserNetwork):
        build, model = model.build, model.module
    elif not isinstance(model, nn.Module):
        if not callable(model):
            raise TypeError(
                f"model must be one of {', '.join(map(repr, NAMED_NETWORKS))}, a name such as 'fcn-3', an Architecture, an "
                f"nn.Module or a factory; got {type(model).__name__}."
            )
        factory = model

        def build(seed: int) -> nn.Module:
            made: nn.Module = from_factory(factory, tuple(x.shape[1:]), outputs, seed)
            return made

        model = build(seed)
    plain = Scaling(torch.zeros(()), torch.ones(())) if tokens else None
    network = UserNetwork.fit(model, x[:64], outputs, build=build, scaling=plain, live=True)
    if network.given < outputs:
        raise ValueError(f"the network has {network.given} outputs; {outputs} are wanted.")
    try:
        return network.redraw(seed)
    except ValueError:
        return network  # its law is not known: from the weights it came with

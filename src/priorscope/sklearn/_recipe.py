"""How networks are trained by default, by kind: convolutional, dense for tables, and architectures of this library."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2

import torch
from torch import Tensor, nn

from priorscope.contracts import Shape, is_network_family
from priorscope.models import Centred, TabularNetwork, convolutional_network
from priorscope.sklearn._names import model_named

__all__ = ["NAMED_NETWORKS", "Recipe", "epochs_for", "recipe_of"]

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


def recipe_of(model: object, x: Tensor, outputs: int, *, width: int | None, seed: int) -> Recipe:
    """The recipe of a network of this library for inputs like ``x`` (n, \\*shape) and so many outputs.

    Example:
        >>> recipe_of("dense", torch.randn(50, 3), 2, width=16, seed=0).network.members
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
    family = model_named(model, shape) if isinstance(model, str) else model
    assert is_network_family(family)
    network = Centred(family.network(shape, width=width or 256, outputs=outputs, seed=seed))
    return Recipe(network, 0.01, 40, 32, 0.0, min_steps=100)


def _convolutional(shape: Shape, n: int, outputs: int, width: int, *, pooling: bool) -> Recipe:
    if len(shape) < 2:
        raise ValueError(
            "a convolutional network needs inputs with positions; these are flat features. Say input_shape=(channels, h, w) "
            "or (channels, time), or take model='dense'."
        )
    network = convolutional_network(shape, outputs, width=width, pooling=pooling)
    return Recipe(network, 0.01, epochs_for(n), 32 if n < 600 else 64, 0.05, min_steps=300)


def epochs_for(n: int) -> float:
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

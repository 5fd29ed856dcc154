"""A network of the user's own as its owner would train it: what it takes, where it starts, and how long it is trained."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import TypeGuard, TypeVar

import torch
from torch import Tensor, nn

from priorscope.contracts import Shape, is_network_family
from priorscope.inference import OneCycle
from priorscope.models import Backbone, Scaling, UserNetwork, from_factory, load
from priorscope.sklearn._reading import Reading
from priorscope.sklearn._recipe import NAMED_NETWORKS, Recipe, epochs_for
from priorscope.sklearn._targets import Targets

__all__ = [
    "OwnNetwork",
    "asked",
    "backbone_of",
    "first_taken",
    "fitted_network",
    "from_weights",
    "is_own",
    "loaded",
    "own_recipe",
]

OwnNetwork = UserNetwork | nn.Module | Callable[..., nn.Module]
Loss = str | Callable[[Tensor, Tensor], Tensor]
Made = TypeVar("Made")


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


def first_taken(
    readings: Iterable[tuple[Reading, Tensor]], make: Callable[[Reading, Tensor], Made]
) -> tuple[Reading, Tensor, Made]:
    """The first reading of the rows that the network takes, the rows read by it, and what was made for them."""
    first: ValueError | None = None
    for how, x in readings:
        try:
            return how, x, make(how, x)
        except ValueError as error:
            first = first or error
    assert first is not None
    raise first


def own_recipe(network: UserNetwork, n: int, outputs: int, seed: int, *, kept: bool) -> Recipe:
    """How a network is trained on ``n`` rows, drawn again by its factory or its layers' law.

    Its weights stay where they are to be ``kept`` or where no law is known.
    """
    if network.given < outputs and not network.odds:
        raise ValueError(f"the network has {network.given} outputs; {outputs} are wanted.")
    notes = network.notes
    if not kept:
        with contextlib.suppress(ValueError):  # its law is not known: from the weights it came with
            network = network.redraw(seed)
    parts = list(network.modules())
    convolves = any(isinstance(m, nn.Conv1d | nn.Conv2d | nn.Conv3d) for m in parts)
    fast = any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in parts)
    return Recipe(
        network,
        0.01 if fast else 0.002,
        epochs_for(n) if convolves else max(epochs_for(n), 20),
        32 if n < 600 else 64,
        0.05 if fast else 0.01,
        min_steps=400,
        held_out=0.1 if n >= (3000 if fast else 500) else 0.0,
        notes=notes,
    )


def from_weights(backbone: Backbone, x: Tensor, given: Targets, loss: Loss, seed: int) -> Recipe:
    """A trained network with a new last layer, fitted to its frozen features first, and a low rate from there.

    Fitting the last layer before the rest keeps the features (Kumar et al. 2022, arXiv 2202.10054).
    """
    features = backbone.features(x)
    mean, scale = features.mean(0), features.std(0, correction=0).clamp(min=1e-6)
    outputs, n = given.scaled.shape[1], len(x)
    targets = torch.as_tensor(given.scaled).float() if given.labels is None else torch.as_tensor(given.labels)
    probe = OneCycle(
        learning_rate=0.02, epochs=20, min_steps=300, batch_size=32 if n < 600 else 128, weight_decay=0.05, loss=loss
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        start = nn.Linear(features.shape[1], outputs)
    rows = SimpleNamespace(inputs=(features - mean) / scale, targets=targets)
    head = probe.fit(start, rows, seed).network
    weight = head.get_parameter("weight").detach() / scale
    network = backbone.headed(outputs, weight, head.get_parameter("bias").detach() - weight @ mean)
    notes = (*backbone.notes, "starts from the weights it came with and a last layer fitted to its frozen features")
    return Recipe(network, 0.001, max(epochs_for(n) / 2, 6), 32, 0.01, min_steps=200, notes=notes)


def fitted_network(
    model: OwnNetwork, how: Reading, x: Tensor, outputs: int, seed: int, *, tokens: bool, odds: bool
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
    return UserNetwork.fit(
        model, x[:64], outputs, build=build, scaling=_plain(tokens), live=True, fields=how.fields, odds=odds
    )


def backbone_of(model: OwnNetwork, how: Reading, x: Tensor, *, tokens: bool) -> Backbone:
    """The network at its own weights, without its last linear layer."""
    if not isinstance(model, nn.Module):
        raise ValueError("weights that were trained come with a module; a factory has none. Give the module itself.")
    module = model.module if isinstance(model, UserNetwork) else model
    return Backbone.of(module, x[:64], scaling=_plain(tokens), fields=how.fields)


def _plain(tokens: bool) -> Scaling | None:
    return Scaling(torch.zeros(()), torch.ones(())) if tokens else None

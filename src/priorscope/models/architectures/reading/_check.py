"""The check of every conversion: the layers that were read, with the module's own weights, do what the module does."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from priorscope.models.architectures.reading._graph import WithoutDropout
from priorscope.models.architectures.reading._modules import says_layer
from priorscope.models.architectures.reading._refusal import refused
from priorscope.models.architectures.reading._signal import Part, Signal
from priorscope.models.layers._concatenate import Concatenate, ConcatenateModule
from priorscope.models.layers._layer import FiniteLayer, Shape
from priorscope.models.layers._parallel_sum import ParallelSum, SumModule
from priorscope.models.layers._product import ProductModule
from priorscope.models.networks._build import Build

__all__ = ["check_conversion", "rebuilt"]

TOLERANCE = 1e-9  # relative, in float64: a thousand layers of rounding are far below, float32 somewhere inside is above

Pairs = list[tuple[str, Tensor, Tensor]]  # name, the module's weight, the rebuilt network's


def check_conversion(module: nn.Module, signal: Signal, batches: Iterable[Tensor]) -> None:
    """Refuse a conversion whose finite network differs from the module in outputs or in gradients, saying by how much.

    Gradients with respect to the inputs and to every weight are compared too: outputs alone do not show ``detach``.
    """
    pairs: Pairs = []
    network = rebuilt(signal.parts, signal.start, pairs)
    weights = [weight for _, weight, _ in pairs] + [own for _, _, own in pairs]
    names = ["the inputs", *(name for name, _, _ in pairs)]
    for weight in weights:
        weight.requires_grad_(True)
    generator = torch.Generator().manual_seed(0)
    for batch in batches:
        before = [w.detach().clone() for w in weights]
        theirs_in, ours_in = (batch.clone().requires_grad_(True) for _ in range(2))
        chance = _random_state()
        with torch.enable_grad(), WithoutDropout():
            theirs = _tensor(module(theirs_in * 1.0))
            again = _tensor(module(batch.clone()))
            ours = network(ours_in)
        if _random_state() != chance:
            raise refused("a module that draws random numbers in its forward (other than dropout)")
        if theirs.shape[0] != len(batch) or theirs.numel() != ours.numel():
            raise refused(f"a module that gives {tuple(theirs.shape)} where the layers read give {tuple(ours.shape)}")
        if not torch.equal(theirs, again) or any(not torch.equal(w, b) for w, b in zip(weights, before)):
            raise refused(
                "a module that answers the same batch differently when asked twice, or changes its own weights"
            )
        theirs = theirs.reshape(ours.shape)
        _compare("outputs", theirs.detach(), ours.detach())
        if not (theirs.requires_grad and ours.requires_grad):
            raise refused("a module without gradients (torch.no_grad or detach in its forward)")
        probe = torch.randn(ours.shape, generator=generator, dtype=ours.dtype)
        of_module = torch.autograd.grad(
            (theirs * probe).sum(), [theirs_in, *(w for _, w, _ in pairs)], allow_unused=True
        )
        of_layers = torch.autograd.grad((ours * probe).sum(), [ours_in, *(w for _, _, w in pairs)], allow_unused=True)
        mine: dict[str, Tensor] = {}  # a weight that stands in several branches has its gradients added up
        for name, weight, grad in zip(names, [ours_in, *(w for _, _, w in pairs)], of_layers):
            mine[name] = mine.get(name, torch.zeros_like(weight)) + (0.0 if grad is None else grad)
        for name, grad in zip(names, of_module):
            _compare(
                f"gradients with respect to {name}", torch.zeros_like(mine[name]) if grad is None else grad, mine[name]
            )


def _random_state() -> tuple[object, ...]:
    """The states of the generators that a module might draw from."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002  the global generator is the one a module would use
    assert isinstance(state, dict)
    return random.getstate(), state["state"]["pos"], bytes(state["state"]["key"]), bytes(torch.get_rng_state())


def _tensor(value: object) -> Tensor:
    if not isinstance(value, Tensor):
        raise refused("an output that is not one tensor")
    return value


def _compare(what: str, theirs: Tensor, ours: Tensor) -> None:
    size = max(float(theirs.abs().max()), float(ours.abs().max()), torch.finfo(torch.float64).tiny)
    difference = float((theirs - ours).abs().max()) / size
    if not difference <= TOLERANCE:  # NaN is refused too
        raise refused(
            f"this module: the layers that were read off it, with its own weights, give {what} that differ from the module's "
            f"own by {difference:.1%} of their largest"
        )


def rebuilt(parts: tuple[Part, ...], shape: Shape, pairs: Pairs) -> nn.Module:
    """The finite network of the layers with the weights of the modules they were read off; weights are noted in ``pairs``."""
    modules: list[nn.Module] = []
    for part in parts:
        modules.append(_rebuilt_part(part, shape, pairs))
        shape = part.shape
    return nn.Sequential(*modules)


def _rebuilt_part(part: Part, shape: Shape, pairs: Pairs) -> nn.Module:
    if part.branches:
        branches = [rebuilt(branch, shape, pairs) for branch in part.branches]
        if isinstance(part.layer, Concatenate):
            return ConcatenateModule(branches)
        return SumModule(branches) if isinstance(part.layer, ParallelSum) else ProductModule(branches)
    build = Build(torch.Generator().manual_seed(0), "standard", dtype=torch.float64)
    if part.source is None:
        return part.layer.module(shape, part.shape[0], build)
    layer = part.layer
    own = replace(build, parametrisation="ntk") if isinstance(part.source, FiniteLayer) else build
    network = layer.module(shape, part.shape[0], own)
    _take_weights(network, part.source, part.name, pairs)
    return network


def _take_weights(network: nn.Module, source: nn.Module, name: str, pairs: Pairs) -> None:
    """Copy the source's weights; a bias that is zero has no parameter of its own in a layer without bias variance."""
    theirs = dict(source.named_parameters())
    if says_layer(type(source)):  # the same class: its forward scales go with its weights
        for scale in ("scale", "bias_scale", "query_scale", "value_scale", "output_scale"):
            if scale in source.__dict__:
                setattr(network, scale, source.__dict__[scale])
    for local, own in network.named_parameters():
        with torch.no_grad():
            if theirs[local].shape != own.shape:
                raise refused(
                    f"{name}: its {local} has the shape {tuple(theirs[local].shape)}, "
                    f"that of the layer read is {tuple(own.shape)}"
                )
            own.copy_(theirs[local])
        pairs.append((f"{name}.{local}", theirs[local], own))

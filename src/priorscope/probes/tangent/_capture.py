"""One forward pass with the inputs of every layer kept, and backward passes that stop at the layers' outputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


@dataclass
class Call:
    """One call of one layer: what entered, what came out, and the gradients of the outputs there."""

    module: nn.Module
    entered: Tensor
    left: Tensor
    version: int
    deltas: Tensor | None = None  # (n, C, *left.shape[1:])


@dataclass
class Capture:
    """The calls of all recognisable leaves in one pass, and the modules that could not be followed."""

    calls: list[Call] = field(default_factory=list)
    lost: set[nn.Module] = field(default_factory=set)


def leaves(network: nn.Module) -> list[nn.Module]:
    """Modules that own trainable parameters and have no parameters below them."""
    return [
        module
        for module in network.modules()
        if any(param.requires_grad for param in module.parameters(recurse=False))
        and not any(next(child.parameters(), None) is not None for child in module.children())
    ]


def capture(network: nn.Module, x: Tensor, watched: list[nn.Module], guard: bool) -> tuple[Tensor, Capture]:
    """Outputs (n, C) and the calls with their deltas; ``guard`` copies outputs so in-place code cannot touch them."""
    seen = Capture()

    def hook(module: nn.Module, inputs: tuple[object, ...], output: object) -> Tensor | None:
        entered = inputs[0] if len(inputs) == 1 else None
        if not (isinstance(entered, Tensor) and isinstance(output, Tensor)):
            seen.lost.add(module)
            return None
        if entered.ndim < 1 or output.ndim < 2 or len(entered) != len(x) or len(output) != len(x):
            seen.lost.add(module)
            return None
        left = output if output.requires_grad else output.detach().requires_grad_()
        seen.calls.append(Call(module, entered.detach(), left, entered._version))
        return left.clone() if guard else left

    handles = [module.register_forward_hook(hook) for module in watched]
    try:
        with _frozen(network), torch.enable_grad():
            out = as_rows(network(x), len(x))
    finally:
        for handle in handles:
            handle.remove()
    for call in seen.calls:
        if call.entered._version != call.version:
            seen.lost.add(call.module)
    _backward(out, seen)
    return out.detach(), seen


def _backward(out: Tensor, seen: Capture) -> None:
    """Fill the deltas: one backward pass per output, none of which forms a gradient of a parameter."""
    if not seen.calls:
        return
    lefts, n_out = [call.left for call in seen.calls], out.shape[1]
    if not out.requires_grad:
        for call in seen.calls:
            call.deltas = call.left.new_zeros(len(out), n_out, *call.left.shape[1:])
        return
    rows: list[tuple[Tensor | None, ...]] = []
    for c in range(n_out):
        seed = torch.zeros_like(out)
        seed[:, c] = 1
        rows.append(torch.autograd.grad(out, lefts, seed, retain_graph=c + 1 < n_out, allow_unused=True))
    for call, *deltas in zip(seen.calls, *rows):
        filled = [torch.zeros_like(call.left) if delta is None else delta for delta in deltas]
        call.deltas = filled[0].unsqueeze(1) if n_out == 1 else torch.stack(filled, 1)
        call.left = call.left.detach()


def as_rows(out: Tensor, n: int) -> Tensor:
    """Outputs as (n, C)."""
    if not isinstance(out, Tensor) or out.ndim < 1 or len(out) != n:
        got = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        raise ValueError(
            f"empirical_ntk needs a network that maps (n, ...) to one tensor (n, ...); for n = {n} it gave {got}. "
            "Wrap it in a module that returns the outputs only, samples first."
        )
    return out.reshape(n, -1)


@contextmanager
def _frozen(network: nn.Module) -> Iterator[None]:
    """No parameter asks for a gradient inside: the graph then holds activations only."""
    trainable = [param for param in network.parameters() if param.requires_grad]
    for param in trainable:
        param.requires_grad_(False)
    try:
        yield
    finally:
        for param in trainable:
            param.requires_grad_(True)

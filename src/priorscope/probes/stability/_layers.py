"""Outputs of a network layer by layer, by hooks, and batch normalisation as a probe needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

__all__ = ["BatchNorm", "layer_outputs", "layers_of", "probing"]

BatchNorm: TypeAlias = Literal["auto", "batch", "stored"]


@contextmanager
def probing(network: nn.Module, batch_norm: BatchNorm = "auto") -> Iterator[bool]:
    """The network in evaluation mode, without gradients; yields whether batch normalisation uses the batch.

    ``"auto"`` normalises by the batch where a layer has seen no batch yet: its stored statistics are zero and one then, which
    amounts to no normalisation. Petrini et al. (2021), Appendix E.1. Modes and statistics are put back at the end.
    """
    if batch_norm not in ("auto", "batch", "stored"):
        raise ValueError(f"batch_norm must be 'auto', 'batch' or 'stored'; got {batch_norm!r}.")
    modes = {part: part.training for part in network.modules()}
    norms = [part for part in network.modules() if isinstance(part, nn.modules.batchnorm._BatchNorm)]
    kept = [{name: b.clone() for name, b in norm.named_buffers()} for norm in norms]
    by_batch = False
    network.eval()
    for norm in norms:
        seen = norm.num_batches_tracked
        if batch_norm == "batch" or (batch_norm == "auto" and seen is not None and int(seen) == 0):
            norm.train()
            by_batch = True
    try:
        with torch.no_grad():
            yield by_batch
    finally:
        for part, mode in modes.items():
            part.training = mode
        for norm, buffers in zip(norms, kept):
            for name, value in norm.named_buffers():
                value.copy_(buffers[name])


def _units(module: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Parts of a network, containers opened; other composite modules count as one block."""
    for name, part in module.named_children():
        if isinstance(part, nn.Sequential | nn.ModuleList | nn.ModuleDict):
            yield from _units(part, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", part


def _has_weights(part: nn.Module) -> bool:
    """Whether a part has matrices or filters; norms and activations go with the layer before."""
    return any(p.ndim >= 2 for p in part.parameters())


def layers_of(network: nn.Module, x: Tensor) -> list[tuple[int, str]]:
    """The calls, in order, whose outputs are layers: position among all calls of parts, and the name of the weights.

    A layer is a part with weights and what follows it up to the next one (norm, activation, pool); its output is the last
    of these. The network's own output is not among them.

    Example:
        >>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        >>> layers_of(net, torch.zeros(2, 2))
        [(1, '0'), (2, '2')]
    """
    calls: list[tuple[str, bool]] = []
    with _hooked(network, lambda name, part, out: calls.append((name, _has_weights(part)))):
        network(x)
    starts = [k for k, (_, weighty) in enumerate(calls) if weighty]
    return [(end - 1, calls[start][0]) for start, end in zip(starts, [*starts[1:], len(calls)])]


def layer_outputs(network: nn.Module, x: Tensor, positions: list[int]) -> list[Tensor]:
    """Flat outputs (n, features) of the calls at these positions, and last the network's own."""
    wanted, found, count = set(positions), [], [0]

    def keep(name: str, part: nn.Module, out: object) -> None:
        if count[0] in wanted:
            found.append(_flat(out))
        count[0] += 1

    if not positions:
        return [_flat(network(x))]
    with _hooked(network, keep):
        out = network(x)
    return [*found, _flat(out)]


@contextmanager
def _hooked(network: nn.Module, see: Callable[[str, nn.Module, object], None]) -> Iterator[None]:
    def hook(name: str) -> Callable[..., None]:
        return lambda part, inputs, out: see(name, part, out)

    handles = [part.register_forward_hook(hook(name)) for name, part in _units(network)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _flat(out: object) -> Tensor:
    while isinstance(out, tuple | list) and out:
        out = out[0]
    if not isinstance(out, Tensor):
        raise TypeError(f"a network must give a tensor; it gave a {type(out).__name__}.")
    return out.flatten(1)

"""The linear readout of a model, found by running it once, so that it can be integrated out exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from priorscope.probes.geometry._draws import Stacked

__all__: list[str] = []


@dataclass(frozen=True)
class Readout:
    """Name of the last linear module and the number of features it reads."""

    name: str
    width: int


def find_readout(template: nn.Module, probe: Tensor) -> Readout | None:
    """The module that maps features (n, width) linearly to the model's outputs, or None when there is no such thing."""
    seen: dict[str, tuple[Tensor, Tensor]] = {}
    handles = []
    for name, part in template.named_modules():
        weight = getattr(part, "weight", None)
        if name and isinstance(weight, Tensor) and weight.ndim == 2:
            handles.append(part.register_forward_hook(_remember(seen, name)))
    try:
        with torch.no_grad():
            out = template(probe)
    finally:
        for handle in handles:
            handle.remove()
    for name, (inputs, outputs) in reversed(seen.items()):
        if outputs is not out or inputs.ndim != 2:
            continue
        part = template.get_submodule(name)
        with torch.no_grad():
            zero = part(torch.zeros_like(inputs))
            doubled = part(2 * inputs)
        if torch.allclose(doubled - zero, 2 * (out - zero), rtol=1e-4, atol=1e-5 * float(out.abs().max()) + 1e-12):
            return Readout(name, inputs.shape[1])
    return None


def _remember(seen: dict[str, tuple[Tensor, Tensor]], name: str) -> Callable[..., None]:
    def hook(_: nn.Module, args: tuple[object, ...], output: object) -> None:
        if args and isinstance(args[0], Tensor) and isinstance(output, Tensor):
            seen[name] = (args[0], output)

    return hook


class Features:
    """The model up to its readout: (params, x) to features (n, width), or to its outputs when there is no readout."""

    def __init__(self, template: nn.Module, readout: Readout | None) -> None:
        self.template = template
        self.readout = readout

    def __call__(self, params: Stacked, x: Tensor) -> Tensor:
        if self.readout is None:
            found: Tensor = functional_call(self.template, params, (x,))
            return found
        caught: list[Tensor] = []
        part = self.template.get_submodule(self.readout.name)
        handle = part.register_forward_pre_hook(lambda _, args: caught.append(args[0]))
        try:
            functional_call(self.template, params, (x,))
        finally:
            handle.remove()
        return caught[-1]

    def readout_second_moment(self, stacked: Stacked) -> tuple[float, float, int]:
        """Sum of squares, sum and number of the effective readout weights of all stacked models."""
        assert self.readout is not None
        part = self.template.get_submodule(self.readout.name)
        prefix = self.readout.name + "."
        own = {k.removeprefix(prefix): v for k, v in stacked.items() if k.startswith(prefix)}
        some = next(iter(own.values()))
        eye = torch.cat([torch.zeros(1, self.readout.width), torch.eye(self.readout.width)]).to(some.dtype)
        with torch.no_grad():
            out = vmap(lambda p: functional_call(part, p, (eye,)))(own)
        weights = (out[:, 1:] - out[:, :1]).double()
        return float((weights**2).sum()), float(weights.sum()), weights.numel()

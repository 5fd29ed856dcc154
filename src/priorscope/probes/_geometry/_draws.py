"""Many initialisations of one model: a template and its parameters stacked along a first axis."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

__all__: list[str] = []

Stacked = dict[str, Tensor]


class Draws:
    """Initialisations of a model, drawn in batches.

    - an architecture (anything with ``.network``): its Gaussian parameters come from one call of ``randn`` a tensor;
    - a module: drawn again by the law of its ``reset_parameters`` (in one call for Linear, Conv and normalisations);
    - a factory ``seed -> module``: built one by one, then stacked.
    """

    def __init__(self, model: Any, input_shape: tuple[int, ...], seed: int = 0, **network: Any) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self._next_seed = seed * 1_000_003
        self._network: Callable[[int], nn.Module] | None = None
        self._laws: dict[str, tuple[str, float]] | None = None
        if hasattr(model, "network") and not isinstance(model, nn.Module):
            self._network = lambda s: model.network(input_shape, seed=s, **network)
            self.template = self._network(self._next_seed)
            if _is_gaussian_architecture(model, network):
                self._laws = {name: ("normal", 1.0) for name, _ in self.template.named_parameters()}
            elif getattr(getattr(model, "build", None), "__module__", "").startswith("priorscope.models.zoo"):
                self._laws = _default_laws(self.template)  # the zoo keeps torch's own initialisation
        elif isinstance(model, nn.Module):
            self.template = copy.deepcopy(model)
            self._laws = _default_laws(self.template)
            if self._laws is None:
                self._network = _resetter(self.template)
        elif callable(model):
            self._network = model
            self.template = model(self._next_seed)
            if not isinstance(self.template, nn.Module):
                raise ValueError(
                    f"a factory must map a seed to a torch.nn.Module; it gave a {type(self.template).__name__}."
                )
        else:
            raise ValueError(
                "the model must be an architecture, a torch.nn.Module or a factory seed -> Module; "
                f"got {type(model).__name__}."
            )
        self.template.eval()
        if not any(True for _ in self.template.parameters()):
            raise ValueError("the model has no parameters, so there is nothing to average over.")

    @property
    def in_one_call(self) -> bool:
        """Whether parameters are drawn without building modules."""
        return self._laws is not None

    @property
    def n_params(self) -> int:
        """Number of parameters of one model."""
        return sum(p.numel() for p in self.template.parameters())

    def __call__(self, n: int) -> Stacked:
        """``n`` more initialisations: each parameter (and buffer) by name, with a first axis of length ``n``."""
        buffers = {k: v.expand(n, *v.shape) for k, v in self.template.named_buffers()}
        if self._laws is not None:
            params = {name: self._law(name, p, n) for name, p in self.template.named_parameters()}
            return {**params, **buffers}
        assert self._network is not None
        nets = []
        for _ in range(n):
            nets.append(self._network(self._next_seed))
            self._next_seed += 1
        params = {k: torch.stack([dict(net.named_parameters())[k].detach() for net in nets]) for k in _names(nets[0])}
        return {**params, **buffers}

    def _law(self, name: str, parameter: Tensor, n: int) -> Tensor:
        assert self._laws is not None
        law, size = self._laws[name]
        shape = (n, *parameter.shape)
        if law == "normal":
            return size * torch.randn(shape, generator=self.generator, dtype=parameter.dtype)
        if law == "uniform":
            return size * (2 * torch.rand(shape, generator=self.generator, dtype=parameter.dtype) - 1)
        return torch.full(shape, size, dtype=parameter.dtype)


def _names(module: nn.Module) -> list[str]:
    return [name for name, _ in module.named_parameters()]


def _is_gaussian_architecture(model: Any, network: dict[str, Any]) -> bool:
    """Layers of this library in the NTK or mean-field parametrisation: every parameter is N(0, 1)."""
    plain = network.get("initialisation", "gaussian") == "gaussian"
    return hasattr(model, "layers") and plain and network.get("parametrisation", "ntk") in ("ntk", "mean-field")


def _default_laws(module: nn.Module) -> dict[str, tuple[str, float]] | None:
    """Laws of torch's own reset_parameters, or None when some module has parameters of another kind."""
    laws: dict[str, tuple[str, float]] = {}
    norms = (nn.LayerNorm, nn.GroupNorm, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
    for prefix, part in module.named_modules():
        own = dict(part.named_parameters(recurse=False))
        if not own:
            continue
        dot = f"{prefix}." if prefix else ""
        if type(part) in (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d):
            fan_in = math.prod(own["weight"].shape[1:])
            laws.update({dot + name: ("uniform", 1 / math.sqrt(fan_in)) for name in own})
        elif isinstance(part, norms):
            laws.update({dot + name: ("constant", float(name == "weight")) for name in own})
        else:
            return None
    return laws


def _resetter(template: nn.Module) -> Callable[[int], nn.Module]:
    """A factory that copies the module and calls reset_parameters wherever there are parameters."""
    for prefix, part in template.named_modules():
        if any(True for _ in part.parameters(recurse=False)) and not hasattr(part, "reset_parameters"):
            raise ValueError(
                f"cannot draw this module again: its part {prefix or type(part).__name__!r} has parameters but no "
                "reset_parameters. Pass a factory seed -> Module instead."
            )

    def build(seed: int) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            net = copy.deepcopy(template)
            for part in net.modules():
                if any(True for _ in part.parameters(recurse=False)):
                    part.reset_parameters()  # type: ignore[operator]
        return net

    return build

"""Fully connected networks read as a list of layers, so that derivatives can be written down instead of traced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

__all__ = ["DenseLayer", "DenseStep", "PointwiseStep", "bend_of", "dense_form", "slope_of"]

SMOOTH = (nn.Tanh, nn.Softplus, nn.Sigmoid, nn.GELU, nn.SiLU, nn.ELU, nn.CELU, nn.SELU, nn.Softsign, nn.LogSigmoid)
KINKED = (nn.ReLU, nn.LeakyReLU, nn.Hardtanh, nn.ReLU6, nn.Hardsigmoid)


@dataclass(frozen=True)
class DenseLayer:
    r"""One step :math:`z' = \phi(s\,zW^T + s_b b)`: names of its parameters, their scales, and the activation behind.

    Example:
        >>> DenseLayer("0.weight").activation is None
        True
    """

    weight: str
    bias: str | None = None
    scale: float = 1.0
    bias_scale: float = 1.0
    activation: Callable[[Tensor], Tensor] | None = None


@runtime_checkable
class DenseStep(Protocol):
    r"""A module of another class than ``nn.Linear`` that says of itself :math:`z' = s\,zW^T + s_b b`.

    Its parameters are named ``weight`` (out, in) and ``bias``. The word counts only for the class that gives it: a
    subclass may compute something else and has to give its own.

    Example:
        >>> class Halved(nn.Linear):
        ...     def dense_scales(self):
        ...         return 0.5, 1.0
        ...     def forward(self, z):
        ...         return 0.5 * z @ self.weight.mT + self.bias
        >>> dense_form(Halved(2, 1))[0].scale
        0.5
    """

    def dense_scales(self) -> tuple[float, float]:
        """The scales of weight and bias."""
        ...


@runtime_checkable
class PointwiseStep(Protocol):
    """A module without parameters that says of itself which function it applies to every entry.

    Example:
        >>> class Cosine(nn.Module):
        ...     def pointwise(self):
        ...         return torch.cos
        ...     def forward(self, z):
        ...         return z.cos()
        >>> dense_form(nn.Sequential(nn.Linear(2, 3), Cosine(), nn.Linear(3, 1)))[0].activation is torch.cos
        True
    """

    def pointwise(self) -> Callable[[Tensor], Tensor]:
        """The function."""
        ...


def dense_form(model: Any) -> tuple[DenseLayer, ...] | None:
    """The layers of a fully connected network or ensemble of them; None for anything else.

    Known are sequences of dense layers (``nn.Linear``, or a class that says so: :class:`DenseStep`) and elementwise
    activations, after flattening; and any model that says it itself by an attribute ``dense_form``, the fields of a
    :class:`DenseLayer` for every layer. The form is a reading of names and types: :meth:`DensePass.of` compares it with what
    the model computes.

    Example:
        >>> [layer.weight for layer in dense_form(nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)))]
        ['0.weight', '2.weight']
        >>> dense_form(nn.Sequential(nn.Conv1d(1, 1, 3))) is None
        True
    """
    told = getattr(model, "dense_form", None)
    if told is not None:
        return tuple(DenseLayer(**layer) for layer in told)
    network = getattr(model, "template", model)
    if not isinstance(network, nn.Module) or not isinstance(model, nn.Module):
        return None
    if not all(p.requires_grad for p in model.parameters()):
        return None
    layers: list[DenseLayer] = []
    for name, module in _leaves(network, ""):
        read = _read(name, module)
        if isinstance(read, DenseLayer):
            layers.append(read)
        elif callable(read):
            if not layers or layers[-1].activation is not None:
                return None
            layers[-1] = replace(layers[-1], activation=read)
        elif read is None:
            return None
    return tuple(layers) if layers and layers[-1].activation is None else None


def _leaves(module: nn.Module, prefix: str) -> list[tuple[str, nn.Module]]:
    if type(module) is not nn.Sequential:
        return [(prefix.rstrip("."), module)]
    return [leaf for name, child in module.named_children() for leaf in _leaves(child, f"{prefix}{name}.")]


def _read(name: str, module: nn.Module) -> DenseLayer | Callable[[Tensor], Tensor] | str | None:
    """A dense layer, an activation, "pass" for nothing at all, None for what is not known."""
    stem = f"{name}." if name else ""
    if type(module) is nn.Identity:
        return "pass"
    if type(module) is nn.Flatten:
        return "pass" if (module.start_dim, module.end_dim) == (1, -1) else None
    if type(module) is nn.Linear:
        return DenseLayer(f"{stem}weight", None if module.bias is None else f"{stem}bias")
    if type(module) in SMOOTH or type(module) in KINKED:
        changes = getattr(module, "inplace", False) and type(module) is not nn.ReLU  # would overwrite what we keep
        return None if changes else module
    own = vars(type(module))  # what a parent class says of itself need not hold of its child
    if "pointwise" in own and isinstance(module, PointwiseStep) and not list(module.parameters()):
        return module.pointwise()
    if "dense_scales" in own and isinstance(module, DenseStep):
        scale, bias_scale = module.dense_scales()
        bias = "bias" in dict(module.named_parameters(recurse=False))
        return DenseLayer(f"{stem}weight", f"{stem}bias" if bias else None, scale, bias_scale)
    return None


def slope_of(activation: Callable[[Tensor], Tensor] | None, a: Tensor) -> tuple[Tensor, Tensor]:
    """Values and elementwise slopes of an activation; by its own ``value_and_slope`` where it has one.

    Example:
        >>> [v.tolist() for v in slope_of(nn.ReLU(), torch.tensor([-1.0, 2.0]))]
        [[0.0, 2.0], [0.0, 1.0]]
    """
    if activation is None:
        return a, torch.ones_like(a)
    both = getattr(activation, "value_and_slope", None)
    if both is not None:
        found: tuple[Tensor, Tensor] = both(a)
        return found
    if isinstance(activation, nn.ReLU):
        return a.relu(), (a > 0).to(a.dtype)
    if isinstance(activation, nn.Tanh):
        z = a.tanh()
        return z, 1 - z * z
    v = a.detach().requires_grad_()
    with torch.enable_grad():
        z = activation(v)
        (slope,) = torch.autograd.grad(z.sum(), v)
    return z.detach(), slope


def bend_of(activation: Callable[[Tensor], Tensor] | None, a: Tensor) -> Tensor | None:
    """Elementwise second derivatives of an activation; None where they vanish (linear, ReLU).

    Example:
        >>> float(bend_of(torch.square, torch.tensor([3.0]))), bend_of(nn.ReLU(), torch.ones(1)) is None
        (2.0, True)
    """
    if activation is None or isinstance(activation, KINKED):
        return None
    v = a.detach().requires_grad_()
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(activation(v).sum(), v, create_graph=True)
        if not slope.requires_grad:
            return None
        (bend,) = torch.autograd.grad(slope.sum(), v, allow_unused=True)
    return None if bend is None or not bool(bend.any()) else bend

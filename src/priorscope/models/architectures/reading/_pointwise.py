"""Pointwise functions that a module puts together from others, read as one nonlinearity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.models.layers._activation import Activation
from priorscope.models.layers._layer import Layer
from priorscope.models.layers._scale import Scale
from priorscope.models.nonlinearities import (
    GELU,
    RBF,
    Cosine,
    Erf,
    Exponential,
    Gaussian,
    Hermite,
    Linear,
    Monomial,
    Nonlinearity,
    Polynomial,
    Quadrature,
    Sine,
)

__all__ = ["Composed", "function_of", "is_smooth"]

SMOOTH = (GELU, RBF, Cosine, Erf, Exponential, Gaussian, Hermite, Linear, Monomial, Polynomial, Sine)
SMOOTH_FUNCTIONS = (torch.tanh, torch.sigmoid, F.silu, F.softplus)
SMOOTH_MODULES = (nn.GELU, nn.Softplus, nn.Mish, nn.LogSigmoid, nn.Tanhshrink)


@dataclass(frozen=True)
class Composed:
    """A function of one number: its parts one after the other ("chain"), added ("sum") or multiplied ("product").

    Example:
        >>> Composed("sum", (torch.sin, torch.cos))(torch.zeros(1))
        tensor([1.])
    """

    how: str
    parts: tuple[Callable[[Tensor], Tensor], ...]

    def __call__(self, x: Tensor) -> Tensor:
        if self.how == "chain":
            return reduce(lambda value, part: part(value), self.parts, x)
        values = [part(x) for part in self.parts]
        return reduce(torch.add if self.how == "sum" else torch.mul, values)


def function_of(layers: tuple[Layer, ...]) -> Callable[[Tensor], Tensor] | None:
    """What layers that act on each number by itself do; None where one does more, or has a kink that quadrature misses."""
    parts: list[Callable[[Tensor], Tensor]] = []
    for layer in layers:
        if isinstance(layer, Scale):
            parts.append(Polynomial((0.0, layer.factor)))
        elif isinstance(layer, Activation) and is_smooth(layer.phi):
            parts.append(layer.phi)
        else:
            return None
    return Composed("chain", tuple(parts))


def is_smooth(phi: Nonlinearity) -> bool:
    """Whether a nonlinearity is known to have no kink."""
    if type(phi) is Quadrature:
        return phi.fn in SMOOTH_FUNCTIONS or type(phi.fn) in (*SMOOTH_MODULES, Composed)
    return type(phi) in SMOOTH

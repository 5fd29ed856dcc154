"""Multiplication by a constant."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from torch import Tensor, nn

from priorscope.checks import ANY_NUMBER, checked
from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.layers._layer import FiniteLayer, Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["Scale", "ScaleModule"]


@checked(factor=ANY_NUMBER)
@dataclass(frozen=True)
class Scale(Layer):
    r"""Every number times the same fixed constant c: :math:`K' = c^2 K`, :math:`\Theta' = c^2\,\Theta`.

    Example:
        >>> import torch, priorscope as ps
        >>> arch = ps.models.Architecture("half", (ps.models.Dense(), Scale(0.5)))
        >>> float(arch.kernel(torch.ones(1, 4)).nngp)
        0.25
    """

    factor: float = 1.0

    def __post_init__(self) -> None:
        if not isfinite(self.factor):
            raise ValueError(f"Scale needs a finite factor; got {self.factor!r}.")

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return shape

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        return ScaleModule(self.factor)

    def need(self, after: Need) -> Need:
        return after

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        return cov.reduced(need).linear(lambda k: self.factor**2 * k)


class ScaleModule(FiniteLayer):
    """The finite layer."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def as_layer(self) -> Scale:
        return Scale(self.factor)

    def forward(self, x: Tensor) -> Tensor:
        return self.factor * x

"""A layer that does nothing."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._program import Program, Space
from priorscope.models.layers._layer import Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["Identity"]


@dataclass(frozen=True)
class Identity(Layer):
    """Passes on what it is given: the usual shortcut.

    Example:
        >>> Identity().output_shape((3, 8))
        (3, 8)
    """

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return shape

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        return nn.Identity()

    def need(self, after: Need) -> Need:
        return after

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        return cov.reduced(need)

    def lower(self, program: Program, register: int, space: Space) -> None:
        pass

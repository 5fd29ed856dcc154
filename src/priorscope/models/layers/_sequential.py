"""Layers one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch import nn

from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._program import Program, Space, lower
from priorscope.models.layers._layer import Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["Sequential"]


@dataclass(frozen=True)
class Sequential(Layer):
    """Layers in order; a layer itself, so it can stand in a branch.

    Example:
        >>> from priorscope.models import Activation, Dense
        >>> Sequential((Dense(), Activation("relu"))).output_shape((5,), width=7)
        (7,)
    """

    layers: tuple[Layer, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.layers, Iterable) and not isinstance(self.layers, tuple):
            object.__setattr__(self, "layers", tuple(self.layers))
        for layer in self.layers:
            if not isinstance(layer, Layer):
                raise TypeError(
                    f"Sequential needs layers of priorscope.models; got {type(layer).__name__}. "
                    "Turn a torch module into one with priorscope.models.from_module."
                )

    @property
    def centres(self) -> bool | None:
        state: bool | None = None
        for layer in self.layers:
            if layer.centres is not None:
                state = layer.centres
        return state

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        for layer in self.layers:
            shape = layer.output_shape(shape, width)
        return shape

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        modules = []
        for layer in self.layers:
            modules.append(layer.module(shape, width, build))
            shape = layer.output_shape(shape, width)
        return nn.Sequential(*modules)

    def needs(self, after: Need) -> list[Need]:
        """What is needed before each layer and, last, after all of them."""
        chain = [after]
        for layer in reversed(self.layers):
            chain.append(layer.need(chain[-1]))
        return chain[::-1]

    def need(self, after: Need) -> Need:
        return self.needs(after)[0]

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        for layer, after in zip(self.layers, self.needs(need)[1:]):
            cov = layer.propagate(cov, after)
        return cov

    def lower(self, program: Program, register: int, space: Space) -> None:
        for layer in self.layers:
            lower(layer, program, register, space)

    def stage_strides(self) -> tuple[int, ...]:
        strides: tuple[int, ...] = (1,)
        for layer in self.layers:
            first, *others = layer.stage_strides()
            strides = (*strides[:-1], strides[-1] * first, *others)
        return strides

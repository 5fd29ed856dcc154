"""Pixels become channels."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from torch import nn

from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._program import Program, Space
from priorscope.models.layers._layer import Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["Flatten"]


@dataclass(frozen=True)
class Flatten(Layer):
    r"""Channels and pixels in one vector: :math:`K' = d^{-1}\sum_\alpha K_{\alpha\alpha}`, and the same for the NTK.

    Example:
        >>> Flatten().output_shape((3, 4, 4))
        (48,)
    """

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return (prod(shape),)

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        return nn.Flatten()

    def need(self, after: Need) -> Need:
        return Need.DIAGONAL

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        if not cov.spatial:
            return cov
        cov = cov.reduced(Need.DIAGONAL)
        axes = tuple(range(-cov.n_space, 0))
        # Pixels may differ in variance, so the channels are no longer alike and a nonlinearity may not follow.
        channels = cov.channels * prod(cov.spatial)
        return cov.linear(lambda k: k.mean(axes), spatial=(), kind=Need.NONE, gaussian=False, channels=channels)

    def lower(self, program: Program, register: int, space: Space) -> None:
        if program.spatial:
            program.total(register, space, mean=True, unequal=False)

    def stage_strides(self) -> tuple[int, ...]:
        return (1, 1)

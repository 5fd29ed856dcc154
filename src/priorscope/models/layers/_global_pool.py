"""Pooling over all pixels."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._program import Program, Space
from priorscope.models.layers._conv import check_spatial
from priorscope.models.layers._layer import FiniteLayer, Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["GlobalAvgPool", "GlobalSumPool"]


@dataclass(frozen=True)
class GlobalAvgPool(Layer):
    r"""Mean over all pixels: :math:`K' = d^{-2}\sum_{\alpha\alpha'} K_{\alpha\alpha'}`.

    Example:
        >>> GlobalAvgPool().output_shape((3, 4, 4))
        (3,)
    """

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        check_spatial(type(self).__name__, shape)
        return shape[:1]

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        self.output_shape(shape)
        return GlobalPoolModule(mean=True)

    def need(self, after: Need) -> Need:
        return Need.FULL

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        return _pooled(type(self).__name__, cov, mean=True)

    def lower(self, program: Program, register: int, space: Space) -> None:
        program.total(register, space, mean=True, unequal=True)

    def stage_strides(self) -> tuple[int, ...]:
        return (1, 1)


@dataclass(frozen=True)
class GlobalSumPool(Layer):
    r"""Sum over all pixels: :math:`K' = \sum_{\alpha\alpha'} K_{\alpha\alpha'}`.

    Example:
        >>> GlobalSumPool().output_shape((3, 7))
        (3,)
    """

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        check_spatial(type(self).__name__, shape)
        return shape[:1]

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        self.output_shape(shape)
        return GlobalPoolModule(mean=False)

    def need(self, after: Need) -> Need:
        return Need.FULL

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        return _pooled(type(self).__name__, cov, mean=False)

    def lower(self, program: Program, register: int, space: Space) -> None:
        program.total(register, space, mean=False, unequal=True)

    def stage_strides(self) -> tuple[int, ...]:
        return (1, 1)


def _pooled(name: str, cov: Covariance, *, mean: bool) -> Covariance:
    """Both kernels summed or averaged over all pairs of pixels."""
    check_spatial(name, (1, *cov.spatial))
    axes = tuple(range(-2 * cov.n_space, 0))
    return cov.linear(lambda k: k.mean(axes) if mean else k.sum(axes), spatial=(), kind=Need.NONE)


class GlobalPoolModule(FiniteLayer):
    """The finite layer."""

    def __init__(self, mean: bool) -> None:
        super().__init__()
        self.mean = mean

    def as_layer(self) -> GlobalAvgPool | GlobalSumPool:
        return GlobalAvgPool() if self.mean else GlobalSumPool()

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(2)
        return flat.mean(-1) if self.mean else flat.sum(-1)

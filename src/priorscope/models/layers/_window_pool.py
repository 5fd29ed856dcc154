"""Pooling over windows."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.checks import checked, optional, whole
from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._program import Program, Space
from priorscope.models.layers._conv import check_spatial
from priorscope.models.layers._layer import FiniteLayer, Layer, Shape
from priorscope.models.layers._taps import output_size
from priorscope.models.networks._build import Build

__all__ = ["AvgPool", "SumPool"]


def _pooled_shape(who: str, shape: Shape, window: int, stride: int) -> Shape:
    check_spatial(who, shape)
    if min(shape[1:]) < window:
        raise ValueError(
            f"{who}(window={window}) needs at least {window} pixels along each axis; got {tuple(shape[1:])}. "
            "Use a smaller window."
        )
    return (shape[0], *(output_size(s, window, stride, "valid") for s in shape[1:]))


def _pool(k: Tensor, n_space: int, window: int, stride: int, mean: bool) -> Tensor:
    """Mean or sum over windows in each of the last ``2 n_space`` axes (pixels of both inputs)."""
    for axis in range(k.ndim - 2 * n_space, k.ndim):
        k = k.unfold(axis, window, stride)
        k = k.mean(-1) if mean else k.sum(-1)
    return k


@checked(window=whole(), stride=optional(whole()))
@dataclass(frozen=True)
class AvgPool(Layer):
    r"""Mean over windows, unpadded: :math:`K'_{\alpha\alpha'} = w^{-2}\sum_{\beta\beta'} K_{s\alpha+\beta,s\alpha'+\beta'}`.

    w counts the pixels of a window; ``stride`` defaults to the window. Pixels that fill no whole window are dropped.

    Example:
        >>> AvgPool(2).output_shape((3, 8, 8))
        (3, 4, 4)
    """

    window: int = 2
    stride: int | None = None

    def __post_init__(self) -> None:
        if self.stride is None:
            object.__setattr__(self, "stride", self.window)

    @property
    def step(self) -> int:
        """The stride, which is the window where none was given."""
        assert self.stride is not None
        return self.stride

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return _pooled_shape("AvgPool", shape, self.window, self.step)

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        self.output_shape(shape)
        return WindowPoolModule(self.window, self.step, mean=True)

    def need(self, after: Need) -> Need:
        return Need.FULL

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        spatial = self.output_shape((1, *cov.spatial))[1:]
        return _pooled(cov, spatial, self.window, self.step, mean=True).reduced(need)

    def lower(self, program: Program, register: int, space: Space) -> None:
        program.pool(register, space, self.window, self.step, mean=True)

    def stage_strides(self) -> tuple[int, ...]:
        return (1, 1)


@checked(window=whole(), stride=optional(whole()))
@dataclass(frozen=True)
class SumPool(Layer):
    r"""Sum over windows, unpadded: :math:`K'_{\alpha\alpha'} = \sum_{\beta\beta'} K_{s\alpha+\beta,s\alpha'+\beta'}`.

    Example:
        >>> SumPool(3, stride=1).output_shape((3, 8))
        (3, 6)
    """

    window: int = 2
    stride: int | None = None

    def __post_init__(self) -> None:
        if self.stride is None:
            object.__setattr__(self, "stride", self.window)

    @property
    def step(self) -> int:
        """The stride, which is the window where none was given."""
        assert self.stride is not None
        return self.stride

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return _pooled_shape("SumPool", shape, self.window, self.step)

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        self.output_shape(shape)
        return WindowPoolModule(self.window, self.step, mean=False)

    def need(self, after: Need) -> Need:
        return Need.FULL

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        spatial = self.output_shape((1, *cov.spatial))[1:]
        return _pooled(cov, spatial, self.window, self.step, mean=False).reduced(need)

    def lower(self, program: Program, register: int, space: Space) -> None:
        program.pool(register, space, self.window, self.step, mean=False)

    def stage_strides(self) -> tuple[int, ...]:
        return (1, 1)


def _pooled(cov: Covariance, spatial: Shape, window: int, stride: int, *, mean: bool) -> Covariance:
    """Both kernels with the windows of both inputs summed or averaged."""
    return cov.linear(lambda k: _pool(k, len(spatial), window, stride, mean=mean), spatial=spatial)


class WindowPoolModule(FiniteLayer):
    """The finite layer."""

    def __init__(self, window: int, stride: int, mean: bool) -> None:
        super().__init__()
        self.window, self.stride, self.mean = window, stride, mean

    def as_layer(self) -> AvgPool | SumPool:
        return (AvgPool if self.mean else SumPool)(self.window, self.stride)

    def forward(self, x: Tensor) -> Tensor:
        pool = F.avg_pool1d if x.ndim == 3 else F.avg_pool2d
        y: Tensor = pool(x, self.window, self.stride)
        return y if self.mean else y * self.window ** (x.ndim - 2)

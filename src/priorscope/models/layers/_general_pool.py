"""Average pooling and zero padding with settings of their own along each axis: fixed linear maps of the pixels."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.checks import checked, each, optional, whole
from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.layers._layer import FiniteLayer, Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["GeneralAvgPool", "GeneralPoolModule", "ZeroPad", "ZeroPadModule"]


def _mapped(k: Tensor, maps: list[Tensor]) -> Tensor:
    """Apply one matrix (out, in) per axis to the pixels of both inputs; ``k`` ends in ``*S, *S``."""
    for axis in range(2 * len(maps)):
        at = k.ndim - 2 * len(maps) + axis
        k = torch.tensordot(k, maps[axis % len(maps)].to(k), dims=([at], [1])).movedim(-1, at)
    return k


@checked(window=each(whole()), stride=optional(each(whole())), padding=optional(each(whole(0))))
@dataclass(frozen=True)
class GeneralAvgPool(Layer):
    r"""Mean over windows with a size, stride and padding for each axis: :math:`K'=PKP^\top`.

    ``padding`` puts as many zeros before and after an axis. The divisor is the number of pixels of the window, those on the
    padding too unless ``count_padding`` is False. Pixels that fill no whole window are dropped.

    Example:
        >>> GeneralAvgPool((3, 1), stride=(2, 1), padding=(1, 0)).output_shape((3, 8, 8))
        (3, 4, 8)
    """

    window: tuple[int, ...]
    stride: tuple[int, ...] | None = None
    padding: tuple[int, ...] | None = None
    count_padding: bool = True

    def __post_init__(self) -> None:
        if self.stride is None:
            object.__setattr__(self, "stride", self.window)
        if self.padding is None:
            object.__setattr__(self, "padding", (0,) * len(self.window))
        lengths = {len(self.window), len(self.strides), len(self.pads)}
        small = all(2 * p <= w for p, w in zip(self.pads, self.window))
        if lengths not in ({1}, {2}) or not small:
            raise ValueError(
                "GeneralAvgPool needs, for each of one or two axes, a window and a stride >= 1 and a padding of at most half "
                f"the window; got {self!r}."
            )

    @property
    def strides(self) -> tuple[int, ...]:
        """Stride of each axis."""
        assert self.stride is not None
        return self.stride

    @property
    def pads(self) -> tuple[int, ...]:
        """Zeros on either side of each axis."""
        assert self.padding is not None
        return self.padding

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        sizes = [s + 2 * p - w for s, p, w in zip(shape[1:], self.pads, self.window)]
        if len(shape) != len(self.window) + 1 or min(sizes) < 0:
            raise ValueError(f"GeneralAvgPool with windows {self.window} and padding {self.pads} does not fit {shape}.")
        return (shape[0], *(size // stride + 1 for size, stride in zip(sizes, self.strides)))

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        self.output_shape(shape)
        return GeneralPoolModule(self)

    def need(self, after: Need) -> Need:
        return Need.FULL

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        spatial = self.output_shape((1, *cov.spatial))[1:]
        maps = [self._map(axis, cov.spatial[axis], spatial[axis]) for axis in range(cov.n_space)]
        return cov.linear(lambda k: _mapped(k, maps), spatial=spatial).reduced(need)

    def _map(self, axis: int, size: int, n_out: int) -> Tensor:
        """Weight of every (output, input) pixel along one axis."""
        first = torch.arange(n_out) * self.strides[axis] - self.pads[axis]
        at = torch.arange(size)
        inside = ((at >= first[:, None]) & (at < first[:, None] + self.window[axis])).double()
        return inside / (self.window[axis] if self.count_padding else inside.sum(1, keepdim=True))


class GeneralPoolModule(FiniteLayer):
    """The finite layer."""

    def __init__(self, layer: GeneralAvgPool) -> None:
        super().__init__()
        self.layer = layer

    def as_layer(self) -> GeneralAvgPool:
        return self.layer

    def forward(self, x: Tensor) -> Tensor:
        pool = F.avg_pool1d if x.ndim == 3 else F.avg_pool2d
        settings = self.layer
        return pool(x, settings.window, settings.strides, settings.pads, count_include_pad=settings.count_padding)


@dataclass(frozen=True)
class ZeroPad(Layer):
    """Zeros around the pixels: ``padding`` counts those before and after each axis.

    Example:
        >>> ZeroPad(((1, 1), (2, 0))).output_shape((3, 8, 8))
        (3, 10, 10)
    """

    padding: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if len(self.padding) not in (1, 2) or min(p for pair in self.padding for p in pair) < 0:
            raise ValueError(f"ZeroPad needs (before, after) >= 0 for each of one or two axes; got {self.padding}.")

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        if len(shape) != len(self.padding) + 1:
            raise ValueError(
                f"ZeroPad of {len(self.padding)} axes needs inputs (channels, *pixels) with as many; got {shape}."
            )
        return (shape[0], *(size + sum(pair) for size, pair in zip(shape[1:], self.padding)))

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        self.output_shape(shape)
        return ZeroPadModule(self.padding)

    def need(self, after: Need) -> Need:
        return max(after, Need.DIAGONAL)

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        cov = cov.reduced(need)
        spatial = self.output_shape((1, *cov.spatial))[1:]
        pads = [p for pair in reversed(self.padding) for p in pair] * (2 if cov.kind is Need.FULL else 1)
        return cov.linear(lambda k: F.pad(k, pads), spatial=spatial)


class ZeroPadModule(FiniteLayer):
    """The finite layer."""

    def __init__(self, padding: tuple[tuple[int, int], ...]) -> None:
        super().__init__()
        self.padding = padding

    def as_layer(self) -> ZeroPad:
        return ZeroPad(self.padding)

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x, [p for pair in reversed(self.padding) for p in pair])

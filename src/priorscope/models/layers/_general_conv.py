"""Convolution with settings of its own along each axis."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.checks import VARIANCE, checked, each, optional, whole
from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.layers._layer import FiniteLayer, Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["GeneralConv", "GeneralConvModule"]


@checked(
    kernel_size=each(whole()),
    stride=optional(each(whole())),
    padding=optional(each(each(whole(0)))),
    dilation=optional(each(whole())),
    weight_variance=VARIANCE,
    bias_variance=VARIANCE,
)
@dataclass(frozen=True)
class GeneralConv(Layer):
    r"""Like :class:`Conv`, with filter size, stride, dilation and padding for each axis.

    .. math:: K'_{\alpha\alpha'} = \frac{\sigma_w^2}{q}\sum_\beta K_{s\alpha+r\beta-p,\,s\alpha'+r\beta-p} + \sigma_b^2,
        \qquad \Theta' = K' + \sigma_w^2 A(\Theta)

    with q taps, stride s, dilation r and p pixels of padding before the first: zeros, or the other end when ``circular``.
    Each setting has one entry per axis; ``padding`` counts the pixels before and after. Fan-in counts all taps.
    Sources as for :class:`Conv`.

    Example:
        >>> GeneralConv((3, 1), dilation=(2, 1), padding=((2, 2), (0, 0))).output_shape((3, 8, 8), width=16)
        (16, 8, 8)
    """

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...] | None = None
    padding: tuple[tuple[int, int], ...] | None = None
    dilation: tuple[int, ...] | None = None
    circular: bool = False
    weight_variance: float = 1.0
    bias_variance: float = 0.0

    def __post_init__(self) -> None:
        n_space = len(self.kernel_size)
        for name, default in (("stride", 1), ("dilation", 1), ("padding", (0, 0))):
            if getattr(self, name) is None:
                object.__setattr__(self, name, (default,) * n_space)
        settings = (self.kernel_size, self.strides, self.dilations, self.pads)
        pairs = all(len(p) == 2 for p in self.pads)
        if n_space not in (1, 2) or not pairs or {len(s) for s in settings} != {n_space}:
            raise ValueError(
                "GeneralConv needs, for each of one or two axes, a kernel_size, stride and dilation >= 1 and a padding "
                f"(before, after) >= 0; got {self!r}."
            )

    @property
    def strides(self) -> tuple[int, ...]:
        """Stride of each axis."""
        assert self.stride is not None
        return self.stride

    @property
    def dilations(self) -> tuple[int, ...]:
        """Pixels between the taps of each axis."""
        assert self.dilation is not None
        return self.dilation

    @property
    def pads(self) -> tuple[tuple[int, int], ...]:
        """Pixels of padding before and after each axis."""
        assert self.padding is not None
        return self.padding

    @property
    def centres(self) -> bool | None:
        return True

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        """Pixels that are left along each axis; filters that reach beyond the padding are refused."""
        if len(shape) != len(self.kernel_size) + 1:
            raise ValueError(
                f"GeneralConv with filters {self.kernel_size} needs inputs (channels, *pixels) with as many axes; got {shape}."
            )
        sizes = []
        for axis, size in enumerate(shape[1:]):
            reach = self.dilations[axis] * (self.kernel_size[axis] - 1) + 1
            room = size + sum(self.pads[axis]) - reach
            if room < 0 or (self.circular and max(self.pads[axis]) > size):
                raise ValueError(
                    f"GeneralConv needs {reach} pixels along axis {axis}, padding counted, and no more circular padding than "
                    f"pixels; got {size} with {self.pads[axis]}. Use a smaller filter or larger inputs."
                )
            sizes.append(room // self.strides[axis] + 1)
        return (width, *sizes)

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        self.output_shape(shape, width)
        return GeneralConvModule(shape[0], width, self, build)

    def need(self, after: Need) -> Need:
        return max(after, Need.DIAGONAL)

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        cov = cov.reduced(need)
        spatial = self.output_shape((1, *cov.spatial))[1:]
        full = cov.kind is Need.FULL
        taps = [self._taps(axis, cov.spatial[axis], spatial[axis]) for axis in range(cov.n_space)]
        mix = lambda k: _mean_over_taps(k, taps, full)  # noqa: E731
        return cov.affine(self.weight_variance, self.bias_variance, mix=mix, spatial=spatial)

    def _taps(self, axis: int, size: int, n_out: int) -> tuple[Tensor, Tensor]:
        """Input position of every (tap, output pixel) along one axis, and whether it lies inside."""
        start = torch.arange(n_out) * self.strides[axis] - self.pads[axis][0]
        where = start[None] + self.dilations[axis] * torch.arange(self.kernel_size[axis])[:, None]
        if self.circular:
            return where % size, torch.ones_like(where, dtype=torch.bool)
        return where.clamp(0, size - 1), (where >= 0) & (where < size)


def _mean_over_taps(k: Tensor, taps: list[tuple[Tensor, Tensor]], full: bool) -> Tensor:
    """The mean over taps is separable: one spatial axis after the other. ``k`` ends in ``*S`` or, when ``full``, ``*S, *S``."""
    n_space = len(taps)
    for axis, (where, inside) in enumerate(taps):
        last = k.ndim - n_space + axis
        parts = []
        for position, seen in zip(where, inside):
            part = k
            for a in [last - n_space, last] if full else [last]:
                mask = seen.to(k).reshape(-1, *(1,) * (k.ndim - a - 1))
                part = part.index_select(a, position.to(k.device)) * mask
            parts.append(part)
        k = torch.stack(parts).mean(0)
    return k


class GeneralConvModule(FiniteLayer):
    """The finite layer: ``weight`` is (out, in, *taps)."""

    bias: Tensor | None

    def __init__(self, n_in: int, n_out: int, layer: GeneralConv, build: Build) -> None:
        super().__init__()
        self.layer = layer
        fan_in = n_in * prod(layer.kernel_size)
        self.weight, self.scale = build.weight((n_out, n_in, *layer.kernel_size), fan_in, layer.weight_variance)
        bias, self.bias_scale = build.bias((n_out,), layer.bias_variance)
        self.register_parameter("bias", bias)
        self.laws = {
            "weight": build.weight_law(fan_in, layer.weight_variance),
            "bias": build.bias_law(layer.bias_variance),
        }

    def as_layer(self) -> GeneralConv:
        return self.layer

    def channels(self) -> int:
        return len(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        layer = self.layer
        pads = [p for pair in reversed(layer.pads) for p in pair]  # F.pad begins with the last axis
        x = F.pad(x, pads, "circular" if layer.circular else "constant")
        convolve = F.conv1d if x.ndim == 3 else F.conv2d
        bias = None if self.bias is None else self.bias * self.bias_scale
        return convolve(x, self.weight * self.scale, bias, stride=layer.strides, dilation=layer.dilations)

"""Convolution in one or two dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.checks import VARIANCE, checked, whole
from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._program import Program, Space
from priorscope.models.layers._checks import check_padding
from priorscope.models.layers._layer import FiniteLayer, Layer, Shape
from priorscope.models.layers._tangent_forms import Form, convolution_forms, scaled_forms
from priorscope.models.layers._taps import flat_patches, mean_over_taps, output_size
from priorscope.models.networks._build import Build

__all__ = ["Conv", "check_spatial"]


@checked(kernel_size=whole(), stride=whole(), weight_variance=VARIANCE, bias_variance=VARIANCE)
@dataclass(frozen=True)
class Conv(Layer):
    r"""One filter shared by all pixels; 1-D on inputs ``(c, d)``, 2-D on ``(c, h, w)``.

    .. math:: K'_{\alpha\alpha'} = \frac{\sigma_w^2}{q}\sum_\beta K_{s\alpha+\beta,\,s\alpha'+\beta} + \sigma_b^2,
        \qquad \Theta' = K' + \sigma_w^2 A(\Theta)

    with q the number of taps (all axes together) and s the stride. Fan-in counts all taps, those that fall on zero padding too.
    Novak et al. (2019), "Bayesian deep convolutional networks with many channels are Gaussian processes"; Arora et al. (2019),
    "On exact computation with an infinitely wide neural net", for the tangent kernel.

    Example:
        >>> Conv(kernel_size=3, stride=2).output_shape((3, 8, 8), width=16)
        (16, 4, 4)
    """

    kernel_size: int = 3
    stride: int = 1
    padding: str = "circular"
    weight_variance: float = 1.0
    bias_variance: float = 0.0

    def __post_init__(self) -> None:
        check_padding("Conv", self.padding)

    @property
    def centres(self) -> bool | None:
        return True

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        check_spatial("Conv", shape)
        return (width, *(output_size(s, self.kernel_size, self.stride, self.padding) for s in shape[1:]))

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        self.output_shape(shape, width)
        return ConvModule(shape[0], len(shape) - 1, width, self, build)

    def need(self, after: Need) -> Need:
        return max(after, Need.DIAGONAL)

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        cov = cov.reduced(need)
        check_spatial("Conv", (1, *cov.spatial))
        full = cov.kind is Need.FULL
        mix = lambda k: mean_over_taps(k, cov.n_space, full, self.kernel_size, self.stride, self.padding)  # noqa: E731
        spatial = self.output_shape((1, *cov.spatial))[1:]
        return cov.affine(self.weight_variance, self.bias_variance, mix=mix, spatial=spatial)

    def lower(self, program: Program, register: int, space: Space) -> None:
        variances = (self.weight_variance, self.bias_variance)
        program.convolve(register, space, self.kernel_size, self.stride, self.padding, variances, shared=True)

    def stage_strides(self) -> tuple[int, ...]:
        return (self.stride,)


class ConvModule(FiniteLayer):
    """The finite layer: ``weight`` is (out, in, *taps)."""

    bias: Tensor | None

    def __init__(self, n_in: int, n_space: int, n_out: int, layer: Conv, build: Build) -> None:
        super().__init__()
        self.layer = layer
        self.kernel_size, self.stride, self.padding = layer.kernel_size, layer.stride, layer.padding
        taps = (layer.kernel_size,) * n_space
        fan_in = n_in * layer.kernel_size**n_space
        self.weight, self.scale = build.weight((n_out, n_in, *taps), fan_in, layer.weight_variance)
        bias, self.bias_scale = build.bias((n_out,), layer.bias_variance)
        self.register_parameter("bias", bias)
        self.laws = {
            "weight": build.weight_law(fan_in, layer.weight_variance),
            "bias": build.bias_law(layer.bias_variance),
        }

    def as_layer(self) -> Conv:
        return self.layer

    def channels(self) -> int:
        return len(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        n_space = x.ndim - 2
        low = (self.kernel_size - 1) // 2
        high = self.kernel_size - 1 - low
        if self.padding == "zeros":
            x = F.pad(x, (low, high) * n_space)
        elif self.padding == "circular":
            for at in range(2, 2 + n_space):
                x = x.index_select(at, torch.arange(-low, x.shape[at] + high, device=x.device) % x.shape[at])
        convolve = F.conv1d if n_space == 1 else F.conv2d
        bias = None if self.bias is None else self.bias * self.bias_scale
        return convolve(x, self.weight * self.scale, bias, stride=self.stride)

    def tangent_forms(self, entered: Tensor, deltas: Tensor, names: tuple[str, ...]) -> dict[str, Form]:
        """Gradients of weight and bias as factors: the patches, and the deltas of the pixels that saw them."""
        patches = flat_patches(entered, self.kernel_size, self.stride, self.padding)
        return scaled_forms(convolution_forms(patches, deltas, names), self.scale, self.bias_scale)


def check_spatial(who: str, shape: Shape) -> None:
    """One or two spatial axes."""
    if len(shape) not in (2, 3):
        raise ValueError(
            f"{who} needs inputs (channels, length) or (channels, height, width); got shape {tuple(shape)}. "
            "Keep images as (n, c, h, w), or use Dense."
        )

"""Convolution without weight sharing."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from torch import Tensor, nn

from priorscope.checks import VARIANCE, checked, whole
from priorscope.models.kernels._covariance import Covariance, pixel_embed
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._program import Program, Space
from priorscope.models.layers._checks import check_padding
from priorscope.models.layers._conv import check_spatial
from priorscope.models.layers._layer import FiniteLayer, Layer, Shape
from priorscope.models.layers._tangent_forms import Explicit, Form, Local, scaled_forms
from priorscope.models.layers._taps import flat_patches, gather_patches, mean_over_taps, output_size
from priorscope.models.networks._build import Build

__all__ = ["LocallyConnected"]


@checked(kernel_size=whole(), stride=whole(), weight_variance=VARIANCE, bias_variance=VARIANCE)
@dataclass(frozen=True)
class LocallyConnected(Layer):
    r"""Like :class:`Conv`, with a filter and a bias of its own at every pixel.

    Same-pixel covariances move as those of a convolution; different pixels share no weight, so all others vanish:
    :math:`K'_{\alpha\alpha'} = \delta_{\alpha\alpha'}(\sigma_w^2 A(K)_{\alpha\alpha} + \sigma_b^2)`, and so for the NTK.

    Example:
        >>> LocallyConnected(kernel_size=3).output_shape((3, 8), width=5)
        (5, 8)
    """

    kernel_size: int = 3
    stride: int = 1
    padding: str = "circular"
    weight_variance: float = 1.0
    bias_variance: float = 0.0

    def __post_init__(self) -> None:
        check_padding("LocallyConnected", self.padding)

    @property
    def centres(self) -> bool | None:
        return True

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        check_spatial("LocallyConnected", shape)
        return (width, *(output_size(s, self.kernel_size, self.stride, self.padding) for s in shape[1:]))

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        return LocallyConnectedModule(shape, self.output_shape(shape, width), self, build)

    def need(self, after: Need) -> Need:
        return Need.DIAGONAL

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        cov = cov.reduced(Need.DIAGONAL)
        spatial = self.output_shape((1, *cov.spatial))[1:]
        mix = lambda k: mean_over_taps(k, len(spatial), False, self.kernel_size, self.stride, self.padding)  # noqa: E731
        moved = cov.affine(self.weight_variance, self.bias_variance, mix=mix, spatial=spatial)
        if need is Need.FULL:
            moved = moved.linear(lambda k: pixel_embed(k, len(spatial)), kind=Need.FULL)
        return moved

    def lower(self, program: Program, register: int, space: Space) -> None:
        variances = (self.weight_variance, self.bias_variance)
        program.convolve(register, space, self.kernel_size, self.stride, self.padding, variances, shared=False)

    def stage_strides(self) -> tuple[int, ...]:
        return (self.stride,)


class LocallyConnectedModule(FiniteLayer):
    """The finite layer: ``weight`` is (pixels, out, in * taps), ``bias`` (out, pixels)."""

    bias: Tensor | None

    def __init__(self, shape: Shape, out_shape: Shape, layer: LocallyConnected, build: Build) -> None:
        """Draw a filter and a bias for each pixel."""
        super().__init__()
        self.layer = layer
        self.kernel_size, self.stride, self.padding = layer.kernel_size, layer.stride, layer.padding
        self.out_space = out_shape[1:]
        fan_in = shape[0] * layer.kernel_size ** (len(shape) - 1)
        n_pixels = prod(self.out_space)
        self.weight, self.scale = build.weight(
            (n_pixels, out_shape[0], fan_in), fan_in, layer.weight_variance, n_pixels
        )
        bias, self.bias_scale = build.bias((out_shape[0], n_pixels), layer.bias_variance)
        self.register_parameter("bias", bias)
        self.laws = {
            "weight": build.weight_law(fan_in, layer.weight_variance, n_pixels),
            "bias": build.bias_law(layer.bias_variance),
        }

    def as_layer(self) -> LocallyConnected:
        return self.layer

    def channels(self) -> int:
        return self.weight.shape[1]

    def forward(self, x: Tensor) -> Tensor:
        n_space = x.ndim - 2
        patches = gather_patches(x, self.kernel_size, self.stride, self.padding)  # (n, c, *out, *taps)
        patches = patches.flatten(2 + n_space).flatten(2, 1 + n_space)  # (n, c, pixels, taps)
        patches = patches.movedim(2, 0).flatten(2)  # (pixels, n, c * taps)
        y = (patches @ self.weight.mT).movedim(0, -1) * self.scale  # (n, out, pixels)
        if self.bias is not None:
            y = y + self.bias_scale * self.bias
        return y.reshape(*y.shape[:2], *self.out_space)

    def tangent_forms(self, entered: Tensor, deltas: Tensor, names: tuple[str, ...]) -> dict[str, Form]:
        """Gradients of weight and bias as factors at each pixel, which share no weight."""
        flat = deltas.flatten(3)  # (n, C, channels, P)
        patches = flat_patches(entered, self.kernel_size, self.stride, self.padding)
        forms: dict[str, Form] = {"weight": Local(patches, flat.mT), "bias": Explicit(flat)}
        return scaled_forms({name: forms[name] for name in names}, self.scale, self.bias_scale)

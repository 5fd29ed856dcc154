"""Fully connected layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from priorscope.checks import VARIANCE, checked
from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._program import Program, Space
from priorscope.models.layers._layer import FiniteLayer, Layer, Shape
from priorscope.models.layers._tangent_forms import Form, linear_forms, scaled_forms
from priorscope.models.networks._build import Build

__all__ = ["Dense"]


@checked(weight_variance=VARIANCE, bias_variance=VARIANCE)
@dataclass(frozen=True)
class Dense(Layer):
    r"""Weights from every channel to every channel; at each pixel alike when the input has pixels.

    .. math:: K' = \sigma_w^2 K + \sigma_b^2, \qquad \Theta' = K' + \sigma_w^2\,\Theta

    Lee et al. (2018), "Deep neural networks as Gaussian processes"; Jacot et al. (2018), "Neural tangent kernel", Theorem 1.

    Example:
        >>> Dense(weight_variance=2.0).output_shape((5,), width=7)
        (7,)
    """

    weight_variance: float = 1.0
    bias_variance: float = 0.0

    @property
    def centres(self) -> bool | None:
        return True

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return (width, *shape[1:])

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        return DenseModule(shape[0], width, self, build)

    def need(self, after: Need) -> Need:
        return after

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        return cov.affine(self.weight_variance, self.bias_variance, mix=lambda k: k)

    def lower(self, program: Program, register: int, space: Space) -> None:
        program.affine(register, space, self.weight_variance, self.bias_variance)


class DenseModule(FiniteLayer):
    """The finite layer: ``weight`` is (out, in)."""

    bias: Tensor | None

    def __init__(self, n_in: int, n_out: int, layer: Dense, build: Build) -> None:
        super().__init__()
        self.layer = layer
        self.weight, self.scale = build.weight((n_out, n_in), n_in, layer.weight_variance)
        bias, self.bias_scale = build.bias((n_out,), layer.bias_variance)
        self.register_parameter("bias", bias)
        self.laws = {
            "weight": build.weight_law(n_in, layer.weight_variance),
            "bias": build.bias_law(layer.bias_variance),
        }

    def as_layer(self) -> Dense:
        return self.layer

    def channels(self) -> int:
        return len(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == 2:
            y = x @ self.weight.mT * self.scale
        else:
            y = torch.einsum("nc...,oc->no...", x, self.weight) * self.scale
        if self.bias is not None:
            y = y + self.bias_scale * self.bias.reshape(-1, *(1,) * (x.ndim - 2))
        return y

    def tangent_forms(self, entered: Tensor, deltas: Tensor, names: tuple[str, ...]) -> dict[str, Form]:
        """Gradients of weight and bias as factors: pixels, which come after the channels, are more positions of one weight."""
        if entered.ndim > 2:
            entered, deltas = entered.flatten(2).mT, deltas.flatten(3).mT
        return scaled_forms(linear_forms(entered, deltas, names), self.scale, self.bias_scale)

    def dense_scales(self) -> tuple[float, float]:
        """Scales of weight and bias, for those who write the derivatives of dense networks by hand."""
        return self.scale, self.bias_scale

"""Global self-attention with the scaling that has a closed-form limit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import torch
from torch import Tensor, nn

from priorscope.checks import VARIANCE, checked
from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.layers._conv import check_spatial
from priorscope.models.layers._layer import FiniteLayer, Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["Attention"]


@checked(query_key_variance=VARIANCE, value_variance=VARIANCE, output_variance=VARIANCE, bias_variance=VARIANCE)
@dataclass(frozen=True)
class Attention(Layer):
    r"""Softmax self-attention over all pixels with tied queries and keys and logits divided by the width.

    .. math:: \zeta(x) = \mathrm{softmax}\big(\sigma_{qk}^2 K(x,x)\big), \quad
        V = \sigma_v^2\sigma_o^2\,\zeta(x)\,K\,\zeta(x')^\top, \quad
        K' = V + \sigma_b^2, \quad \Theta' = K' + V + \sigma_v^2\sigma_o^2\,\zeta(x)\,\Theta\,\zeta(x')^\top

    At infinite width the logits :math:`q_\alpha\cdot q_\beta/n` stop fluctuating, and their weights no longer move
    (Hron et al. 2020, "Infinite attention", the :math:`d^{-1}` scaling). The softmax runs over the second pixel.

    Example:
        >>> Attention().output_shape((3, 4, 4), width=8)
        (8, 4, 4)
    """

    query_key_variance: float = 1.0
    value_variance: float = 1.0
    output_variance: float = 1.0
    bias_variance: float = 0.0

    @property
    def centres(self) -> bool | None:
        return True

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        check_spatial("Attention", shape)
        return (width, *shape[1:])

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        self.output_shape(shape, width)
        return AttentionModule(shape[0], width, self, build)

    def need(self, after: Need) -> Need:
        return Need.FULL

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        """Mix pixels by the softmax of their covariances, on both sides."""
        check_spatial("Attention", (1, *cov.spatial))
        n_pixels = prod(cov.spatial)
        variance = self.value_variance * self.output_variance

        def flat(k: Tensor) -> Tensor:
            return k.reshape(*k.shape[: k.ndim - 2 * cov.n_space], n_pixels, n_pixels)

        def attend(c: Covariance, k: Tensor) -> Tensor:
            left, right = (torch.softmax(self.query_key_variance * flat(s), -1) for s in (c.self1, c.self2))
            pattern = "aij,ajk,alk->ail" if c.paired else "aij,abjk,blk->abil"
            return variance * torch.einsum(pattern, left, flat(k), right).reshape(k.shape)

        values = attend(cov, cov.cross)
        cross = values + self.bias_variance
        ntk = None if cov.ntk is None else cross + values + attend(cov, cov.ntk)
        single = lambda c: attend(c, c.cross) + self.bias_variance  # noqa: E731
        return cov.moved(cross, ntk, single, gaussian=True, channels=1.0).reduced(need)


class AttentionModule(FiniteLayer):
    """The finite layer: queries equal keys; ``width`` channels inside and outside."""

    bias: Tensor | None

    def __init__(self, n_in: int, width: int, layer: Attention, build: Build) -> None:
        super().__init__()
        self.layer = layer
        inner = replace(build, is_readout=False)
        self.query, self.query_scale = inner.weight((width, n_in), n_in, layer.query_key_variance)
        self.value, self.value_scale = inner.weight((width, n_in), n_in, layer.value_variance)
        self.output, self.output_scale = build.weight((width, width), width, layer.output_variance)
        bias, self.bias_scale = build.bias((width,), layer.bias_variance)
        self.register_parameter("bias", bias)
        self.laws = {
            "query": inner.weight_law(n_in, layer.query_key_variance),
            "value": inner.weight_law(n_in, layer.value_variance),
            "output": build.weight_law(width, layer.output_variance),
            "bias": build.bias_law(layer.bias_variance),
        }

    def as_layer(self) -> Attention:
        return self.layer

    def channels(self) -> int:
        return len(self.output)

    def forward(self, x: Tensor) -> Tensor:
        space = x.shape[2:]
        x = x.flatten(2).mT  # (n, pixels, c)
        query = x @ self.query.mT * self.query_scale
        attention = torch.softmax(query @ query.mT / query.shape[-1], -1)  # (n, pixels, pixels)
        values = attention @ (x @ self.value.mT * self.value_scale)
        y = (values @ self.output.mT * self.output_scale).mT
        if self.bias is not None:
            y = y + self.bias_scale * self.bias[:, None]
        return y.reshape(*y.shape[:2], *space)

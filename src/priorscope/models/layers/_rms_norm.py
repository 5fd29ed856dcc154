"""Normalisation by the root mean square over channels."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from priorscope.checks import NOT_NEGATIVE, checked
from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.layers._layer import FiniteLayer, Layer, Shape
from priorscope.models.layers._layer_norm import unit_variance
from priorscope.models.networks._build import Build

__all__ = ["RMSNorm", "RMSNormModule"]


@checked(epsilon=NOT_NEGATIVE)
@dataclass(frozen=True)
class RMSNorm(Layer):
    r"""Mean square one over the channels, at each pixel by itself; no learnt scale.

    .. math:: K'_{\alpha\alpha'} = \frac{K_{\alpha\alpha'}}
        {\sqrt{(K_{\alpha\alpha}(x,x) + \epsilon)(K_{\alpha'\alpha'}(x',x') + \epsilon)}}

    and the same factor for the NTK: the mean square stops fluctuating at infinite width (Zhang & Sennrich 2019, "Root mean square
    layer normalization"). Unlike :class:`LayerNorm` it takes no mean away, so it may stand anywhere. Default ε = 1e-12.

    Example:
        >>> RMSNorm().output_shape((3, 8))
        (3, 8)
    """

    epsilon: float = 1e-12

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return shape

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        return RMSNormModule(self.epsilon)

    def need(self, after: Need) -> Need:
        return after

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        return unit_variance(cov.reduced(need), self.epsilon)


class RMSNormModule(FiniteLayer):
    """The finite layer."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon

    def as_layer(self) -> RMSNorm:
        return RMSNorm(self.epsilon)

    def forward(self, x: Tensor) -> Tensor:
        return x * (x.square().mean(1, keepdim=True) + self.epsilon).rsqrt()

"""Layer normalisation over channels."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from priorscope.checks import NOT_NEGATIVE, checked
from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._instructions import NORM
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._program import Program, Space
from priorscope.models.layers._layer import FiniteLayer, Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["LayerNorm"]


@checked(epsilon=NOT_NEGATIVE)
@dataclass(frozen=True)
class LayerNorm(Layer):
    r"""Mean zero and variance one over the channels, at each pixel by itself; no learnt scale.

    .. math:: K'_{\alpha\alpha'} = \frac{K_{\alpha\alpha'}}
        {\sqrt{(K_{\alpha\alpha}(x,x) + \epsilon)(K_{\alpha'\alpha'}(x',x') + \epsilon)}}

    and the same factor for the NTK: mean and variance stop fluctuating at infinite width. The input must be Gaussian (after
    Dense or Conv), so that its channel mean vanishes. Default ε = 1e-12.
    A layer of the library of Novak et al. (2020), "Neural Tangents: fast and easy infinite neural networks in Python"; the law
    of large numbers over channels gives the formula.

    Example:
        >>> LayerNorm().output_shape((3, 8))
        (3, 8)
    """

    epsilon: float = 1e-12

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return shape

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        return LayerNormModule(self.epsilon)

    def need(self, after: Need) -> Need:
        return after

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        cov = cov.reduced(need)
        cov.require_gaussian("LayerNorm")
        return unit_variance(cov, self.epsilon)

    def lower(self, program: Program, register: int, space: Space) -> None:
        program.expect(register, space, NORM, (self.epsilon,), "LayerNorm")


def unit_variance(cov: Covariance, epsilon: float) -> Covariance:
    """Both kernels over the roots of the two variances plus epsilon."""

    def factor(c: Covariance) -> Tensor:
        a, b = c.variances()
        return (a + epsilon).rsqrt() * (b + epsilon).rsqrt()  # the product might overflow

    scale = factor(cov)
    ntk = None if cov.ntk is None else cov.ntk * scale
    return cov.moved(cov.cross * scale, ntk, lambda c: c.cross * factor(c))


class LayerNormModule(FiniteLayer):
    """The finite layer."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon

    def as_layer(self) -> LayerNorm:
        return LayerNorm(self.epsilon)

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(1, keepdim=True)
        return centred * (centred.square().mean(1, keepdim=True) + self.epsilon).rsqrt()

"""Normalisation over groups of channels and all pixels together."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.checks import NOT_NEGATIVE, checked, whole
from priorscope.models.kernels._covariance import Covariance, pixel_diagonal
from priorscope.models.kernels._need import Need
from priorscope.models.layers._layer import FiniteLayer, Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["GroupNorm", "GroupNormModule"]


@checked(groups=whole(), epsilon=NOT_NEGATIVE)
@dataclass(frozen=True)
class GroupNorm(Layer):
    r"""Mean zero and variance one over all pixels and the channels of each of ``groups`` groups; no learnt scale.

    .. math:: K'_{\alpha\alpha'} = \frac{K_{\alpha\alpha'}}{\sqrt{(v(x) + \epsilon)(v(x') + \epsilon)}}, \qquad
        v(x) = \frac1d\sum_\alpha K_{\alpha\alpha}(x,x)

    and the same factor for the NTK: at infinite width every group holds infinitely many channels, so their number does not
    matter (Wu & He 2018, "Group normalization"). One group is layer normalisation over channels and pixels. The input must
    be Gaussian, so that its mean vanishes. Default ε = 1e-12.

    Example:
        >>> GroupNorm().output_shape((3, 8))
        (3, 8)
    """

    groups: int = 1
    epsilon: float = 1e-12

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return shape

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        if shape[0] % self.groups:
            raise ValueError(f"GroupNorm needs channels that {self.groups} groups divide; got {shape[0]}.")
        return GroupNormModule(self.groups, self.epsilon)

    def need(self, after: Need) -> Need:
        return after

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        """Divide by the root of the mean variance over pixels, on both sides."""
        cov = cov.reduced(need)
        cov.require_gaussian("GroupNorm")

        def factor(c: Covariance) -> Tensor:
            sides = []
            for side in (c.self1, c.self2):
                equal = pixel_diagonal(side, c.n_space) if c.kind is Need.FULL else side
                sides.append((equal.flatten(1).mean(1) if c.n_space else equal) + self.epsilon)
            left, right = (side.rsqrt() for side in sides)  # one by one: their product might overflow
            scale = left * right if c.paired else left[:, None] * right
            return scale.reshape(*scale.shape, *(1,) * (c.cross.ndim - scale.ndim))

        scale = factor(cov)
        ntk = None if cov.ntk is None else cov.ntk * scale
        return cov.moved(cov.cross * scale, ntk, lambda c: c.cross * factor(c))


class GroupNormModule(FiniteLayer):
    """The finite layer."""

    def __init__(self, groups: int, epsilon: float) -> None:
        super().__init__()
        self.groups, self.epsilon = groups, epsilon

    def as_layer(self) -> GroupNorm:
        return GroupNorm(self.groups, self.epsilon)

    def forward(self, x: Tensor) -> Tensor:
        return F.group_norm(x, self.groups, eps=self.epsilon)

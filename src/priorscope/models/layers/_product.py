"""Branches multiplied."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor, nn

from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.layers._branches import (
    check_branches,
    check_independent,
    common_shape,
    modules_of,
    needs_of,
    propagate_each,
)
from priorscope.models.layers._layer import Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["Product"]


@dataclass(frozen=True)
class Product(Layer):
    r"""Elementwise product of branches (gates): :math:`K' = \prod_b K_b`, :math:`\Theta' = \sum_b \Theta_b\prod_{c\ne b}K_c`.

    Holds when branches are independent, that is when all but one end in fresh weights; refused otherwise. The result is not
    Gaussian: a Dense or Conv layer must follow before the next nonlinearity.

    Example:
        >>> from priorscope.models import Dense
        >>> Product((Dense(), Dense())).output_shape((5,), width=7)
        (7,)
    """

    branches: tuple[Layer, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "branches", check_branches("Product", self.branches))

    @property
    def centres(self) -> bool | None:
        states = [branch.centres for branch in self.branches]
        return True if True in states else (False if False in states else None)

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return common_shape("Product", self.branches, shape, width)

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        return ProductModule(modules_of("Product", self.branches, shape, width, build, same_channels=True))

    def need(self, after: Need) -> Need:
        return needs_of(self.branches, after)

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        """Multiply covariances; the tangent kernel follows the product rule."""
        check_independent("Product", self.branches)
        first, *others = propagate_each("Product", self.branches, cov, need)
        gaussian = first.gaussian and not others
        for other in others:
            ntk = None
            if first.ntk is not None and other.ntk is not None:
                ntk = first.ntk * other.cross + first.cross * other.ntk
            first = replace(
                first,
                cross=first.cross * other.cross,
                ntk=ntk,
                self1=first.self1 * other.self1,
                self2=first.self2 * other.self2,
                channels=max(first.channels, other.channels),
            )
        return replace(first, gaussian=gaussian)


class ProductModule(nn.Module):
    """The finite layer."""

    def __init__(self, branches: list[nn.Module]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.branches[0](x)
        for branch in self.branches[1:]:
            out = out * branch(x)
        return out

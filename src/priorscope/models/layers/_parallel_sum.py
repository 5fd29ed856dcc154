"""Sum of branches, and the residual block."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

from torch import Tensor, nn

from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._program import Program, Space
from priorscope.models.layers._branches import (
    check_branches,
    check_independent,
    common_shape,
    modules_of,
    needs_of,
    propagate_each,
)
from priorscope.models.layers._identity import Identity
from priorscope.models.layers._layer import Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["ParallelSum", "Residual"]


@dataclass(frozen=True)
class ParallelSum(Layer):
    r"""Branches from one input, added: :math:`K' = \sum_b K_b`, :math:`\Theta' = \sum_b \Theta_b`.

    Holds when branches are uncorrelated, that is when all but one end in fresh weights; refused otherwise.

    Example:
        >>> from priorscope.models import Dense
        >>> ParallelSum((Dense(), Dense())).output_shape((5,), width=7)
        (7,)
    """

    branches: tuple[Layer, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "branches", check_branches("ParallelSum", self.branches))

    @property
    def centres(self) -> bool | None:
        states = [branch.centres for branch in self.branches]
        return False if False in states else (None if None in states else True)

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return common_shape("ParallelSum", self.branches, shape, width)

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        return SumModule(modules_of("ParallelSum", self.branches, shape, width, build, same_channels=True))

    def need(self, after: Need) -> Need:
        return needs_of(self.branches, after)

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        check_independent("ParallelSum", self.branches)
        first, *others = propagate_each("ParallelSum", self.branches, cov, need)
        for other in others:
            ntk = None if first.ntk is None or other.ntk is None else first.ntk + other.ntk
            first = replace(
                first,
                cross=first.cross + other.cross,
                ntk=ntk,
                self1=first.self1 + other.self1,
                self2=first.self2 + other.self2,
                gaussian=first.gaussian and other.gaussian,
                channels=max(first.channels, other.channels),
            )
        return first

    def lower(self, program: Program, register: int, space: Space) -> None:
        program.add_branches(register, space, self.branches)

    def stage_strides(self) -> tuple[int, ...]:
        return (prod(stride for branch in self.branches for stride in branch.stage_strides()),)


@dataclass(frozen=True)
class Residual(Layer):
    """shortcut(x) + body(x); the shortcut is the identity unless given.

    Example:
        >>> from priorscope.models import Activation, Dense, Sequential
        >>> block = Residual(Sequential((Activation("relu"), Dense())))
        >>> block.output_shape((7,), width=7)
        (7,)
    """

    body: Layer
    shortcut: Layer = field(default_factory=Identity)

    @property
    def total(self) -> ParallelSum:
        """The block as a sum of branches, shortcut first."""
        return ParallelSum((self.shortcut, self.body))

    @property
    def centres(self) -> bool | None:
        return self.total.centres

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return self.total.output_shape(shape, width)

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        return self.total.module(shape, width, build)

    def need(self, after: Need) -> Need:
        return self.total.need(after)

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        return self.total.propagate(cov, need)

    def lower(self, program: Program, register: int, space: Space) -> None:
        program.add_branches(register, space, (self.shortcut, self.body))

    def stage_strides(self) -> tuple[int, ...]:
        return self.total.stage_strides()


class SumModule(nn.Module):
    """The finite layer."""

    def __init__(self, branches: list[nn.Module]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.branches[0](x)
        for branch in self.branches[1:]:
            out = out + branch(x)
        return out

"""Branches side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from priorscope.checks import NOT_NEGATIVE, checked, each, optional
from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.layers._branches import check_branches, common_shape, modules_of, needs_of, propagate_each
from priorscope.models.layers._layer import Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["Concatenate"]


@checked(shares=optional(each(NOT_NEGATIVE)))
@dataclass(frozen=True)
class Concatenate(Layer):
    r"""Channels of all branches one after the other: :math:`K' = \sum_b w_b K_b / \sum_b w_b`, and the same for the NTK.

    The weight :math:`w_b` is the branch's number of channels in units of the width, or what ``shares`` says where branches
    have widths of their own. The channels of the input itself are finitely many and get no weight beside hidden ones, unless
    ``shares`` gives them one. Channels of different branches need not be alike, so a nonlinearity with a kernel may only
    follow after the next Dense or Conv layer.

    Example:
        >>> from priorscope.models import Dense
        >>> Concatenate((Dense(), Dense())).output_shape((5,), width=7)
        (14,)
    """

    branches: tuple[Layer, ...]
    shares: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "branches", check_branches("Concatenate", self.branches))
        if self.shares is not None:
            object.__setattr__(self, "shares", tuple(float(s) for s in self.shares))
            if len(self.shares) != len(self.branches) or abs(sum(self.shares) - 1) > 1e-9:
                raise ValueError(
                    f"Concatenate needs one share of the channels per branch, adding up to 1; got {self.shares} "
                    f"for {len(self.branches)} branches."
                )

    @property
    def centres(self) -> bool | None:
        states = [branch.centres for branch in self.branches]
        return False if False in states else (None if None in states else True)

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        space = common_shape("Concatenate", self.branches, shape, width)[1:]
        return (sum(branch.output_shape(shape, width)[0] for branch in self.branches), *space)

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        return ConcatenateModule(modules_of("Concatenate", self.branches, shape, width, build, same_channels=False))

    def need(self, after: Need) -> Need:
        return needs_of(self.branches, after)

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        """Average the branches' covariances by their shares of the channels."""
        parts = propagate_each("Concatenate", self.branches, cov, need)
        total = sum(part.channels for part in parts)
        shares = self.shares or [part.channels / total if total else 1 / len(parts) for part in parts]

        def mean(tensors: list[Any]) -> Tensor:
            return torch.stack([share * t for share, t in zip(shares, tensors)]).sum(0)

        return replace(
            parts[0],
            cross=mean([p.cross for p in parts]),
            ntk=None if cov.ntk is None else mean([p.ntk for p in parts]),
            self1=mean([p.self1 for p in parts]),
            self2=mean([p.self2 for p in parts]),
            gaussian=parts[0].gaussian and len(parts) == 1,
            channels=total,
        )


class ConcatenateModule(nn.Module):
    """The finite layer."""

    def __init__(self, branches: list[nn.Module]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)

"""What sums, products and concatenations of branches share."""

from __future__ import annotations

from torch import nn

from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.layers._layer import Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["check_branches", "check_independent", "common_shape", "modules_of", "needs_of", "propagate_each"]


def check_branches(who: str, branches: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Branches as a tuple of layers, at least one."""
    branches = tuple(branches)
    if not branches or not all(isinstance(branch, Layer) for branch in branches):
        raise TypeError(f"{who} needs one or more layers as branches; got {branches!r}. Wrap lists in Sequential.")
    return branches


def check_independent(who: str, branches: tuple[Layer, ...]) -> None:
    """At most one branch may carry no fresh zero-mean weights: else covariances between branches would not vanish."""
    tied = [type(branch).__name__ for branch in branches if branch.centres is not True]
    if len(tied) > 1:
        raise ValueError(
            f"the kernel of {who} needs branches that are uncorrelated: all but one must end in Dense, Conv or another layer "
            f"with weights (odd nonlinearities may follow); {len(tied)} branches do not ({', '.join(tied)}). "
            "End them with a Dense or Conv layer."
        )


def common_shape(who: str, branches: tuple[Layer, ...], shape: Shape, width: int) -> Shape:
    """The shape all branches give."""
    shapes = [branch.output_shape(shape, width) for branch in branches]
    if len({s[1:] for s in shapes}) > 1:
        raise ValueError(f"{who} needs branches with the same pixels; got {shapes} for inputs of shape {shape}.")
    return shapes[0]


def modules_of(
    who: str, branches: tuple[Layer, ...], shape: Shape, width: int, build: Build, *, same_channels: bool
) -> list[nn.Module]:
    """Finite modules, drawn one after the other from one stream, on the same pixels and perhaps with the same channels."""
    common_shape(who, branches, shape, width)
    shapes = [branch.output_shape(shape, width) for branch in branches]
    if same_channels and len(set(shapes)) > 1:
        raise ValueError(
            f"{who} needs branches with one shape; got {shapes} for inputs of shape {shape} at width {width}. "
            "Start with a Dense or Conv layer, or put one in the branch that has other channels."
        )
    return [branch.module(shape, width, build) for branch in branches]


def needs_of(branches: tuple[Layer, ...], after: Need) -> Need:
    """The most that any branch needs."""
    return max(branch.need(after) for branch in branches)


def propagate_each(who: str, branches: tuple[Layer, ...], cov: Covariance, need: Need) -> list[Covariance]:
    """Each branch's covariance, all of one kind and on the same pixels."""
    results = []
    for branch in branches:
        moved = branch.propagate(cov.reduced(branch.need(need)), need).reduced(need)
        results.append(moved)
    if len({(r.spatial, r.kind) for r in results}) > 1:
        raise ValueError(f"{who} needs branches with the same pixels; got {[r.spatial for r in results]}.")
    return results

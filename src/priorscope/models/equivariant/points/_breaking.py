"""Which features would break a symmetry that keeps a network from its target: the gradient says it."""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.models.equivariant.points._network import PointNetwork

__all__ = ["breaking_gradients"]


def breaking_gradients(network: PointNetwork, clouds: Tensor, targets: Tensor) -> dict[str, Tensor]:
    r"""The gradient of the squared error with respect to features that could break the symmetry, per irrep (copies, 2l+1).

    An equivariant network cannot give an output of less symmetry than its input (Smidt et al. 2021). The features ``breaking`` of
    the network, zero so far, get a gradient in those components alone that every symmetry of input and target leaves as they are:
    whichever are not zero tell what is missing.

    Example:
        >>> net = PointNetwork(output="1x1o", width=2, pool="none", breaking="1x1o")
        >>> pair = torch.tensor([[[0.0, 0.0, 0.5], [0.0, 0.0, -0.5]]])
        >>> up = torch.tensor([0.0, 0.0, 1.0]).expand(1, 2, 3)  # both points shall move up: no symmetric network can
        >>> gradient = breaking_gradients(net, pair, up)["1x1o"][0]
        >>> [bool(g.abs() > 1e-6) for g in gradient]  # an arrow along z is missing
        [False, False, True]
    """
    if not network.breaking.dim:
        raise ValueError(
            "the network has no features that could break a symmetry; make it with breaking='1x1o+1x2e', say."
        )
    given = torch.zeros(network.breaking.dim, dtype=clouds.dtype, requires_grad=True)
    with torch.enable_grad():
        out = network(clouds, given)
        if out.shape != targets.shape:
            raise ValueError(f"wanted targets shaped like the outputs {tuple(out.shape)}; got {tuple(targets.shape)}.")
        (gradient,) = torch.autograd.grad((out - targets).square().mean(), given)
    parts = gradient.split([part.dim for part in network.breaking])
    return {str(irrep): part.reshape(irrep.mul, -1) for irrep, part in zip(network.breaking, parts)}

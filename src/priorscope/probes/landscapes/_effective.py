"""How many parameters count: the rank of the functions' tangent space near the data, and cusps the data sit on."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from priorscope.checks import NOT_NEGATIVE, checked
from priorscope.inference import Members
from priorscope.inference.networks import PointwiseStep
from priorscope.models import ReLU

__all__ = ["count_cusps", "effective_parameters"]


@checked(tolerance=NOT_NEGATIVE)
def effective_parameters(network: nn.Module, inputs: Tensor, *, tolerance: float = 1e-8) -> int:
    r"""Dimension of the tangent space of the functions :math:`f(\cdot; w)` near the data.

    Rank of the gradients :math:`\nabla_w f(x_\mu)` and their input derivatives :math:`\partial_{x_n}\nabla_w f(x_\mu)`; singular
    values below ``tolerance`` of the largest are zero. Needs (d + 1) n well above the number of parameters. Geiger et al.
    (2019), appendix A: one less per hidden neuron for ReLU, all parameters for tanh, d + 1 for a linear network.

    Example:
        >>> effective_parameters(nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 1)), torch.randn(20, 2))
        3
    """
    members = Members(network, dtype=torch.float64)
    members.model.eval()
    w, x = members.flat[0], inputs.double()

    def one(v: Tensor, point: Tensor) -> Tensor:
        return members.call(v[None], point[None])[0, 0, 0]

    gradient = torch.func.grad(one)
    first = torch.func.vmap(gradient, (None, 0))(w, x)  # (n, N)
    cross = torch.func.vmap(torch.func.jacfwd(gradient, argnums=1), (None, 0))(w, x)  # (n, N, *input)
    rows = torch.cat([first, cross.flatten(2).transpose(1, 2).flatten(0, 1)]).detach()
    if len(rows) < rows.shape[1]:
        raise ValueError(
            f"{len(x)} inputs give {len(rows)} directions, fewer than the {rows.shape[1]} parameters: the rank would be cut off. "
            f"Pass at least {-(-rows.shape[1] // (len(rows) // len(x)))} inputs, better twice as many."
        )
    values = torch.linalg.svdvals(rows)
    return int((values > tolerance * values[0]).sum())


@checked(tolerance=NOT_NEGATIVE)
@torch.no_grad()
def count_cusps(network: nn.Module, inputs: Tensor, *, tolerance: float = 1e-6) -> int:
    """Pairs (pattern, neuron) whose pre-activation is zero within ``tolerance``: kinks of ReLU that the data sit on.

    Example:
        >>> net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.ReLU())
        >>> count_cusps(net, torch.tensor([[0.0], [1.0]]))
        1
    """
    counts: list[int] = []

    def hook(module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
        counts.append(int((args[0].abs() < tolerance).sum()))

    kinked = [
        m
        for m in network.modules()
        if isinstance(m, nn.ReLU) or (isinstance(m, PointwiseStep) and isinstance(m.pointwise(), ReLU))
    ]
    handles = [m.register_forward_hook(hook) for m in kinked]
    try:
        network(inputs.to(next(network.parameters()).dtype))
    finally:
        for handle in handles:
            handle.remove()
    return sum(counts)

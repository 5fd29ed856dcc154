"""How many parameters count: the rank of the functions' tangent space near the data, and cusps the data sit on."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from priorscope.checks import NOT_NEGATIVE
from priorscope.contracts import guarded
from priorscope.inference import Members

__all__ = ["count_cusps", "effective_parameters"]

KINKED = (torch.ops.aten.relu, torch.ops.aten.relu_, torch.ops.aten.leaky_relu, torch.ops.aten.leaky_relu_)


@guarded(tolerance=NOT_NEGATIVE)
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
    outputs = members.call(members.flat, x[:1]).shape[-1]
    if outputs != 1:
        raise ValueError(f"effective_parameters needs a network with one output; got {outputs}.")
    first = over_samples(gradient, w, x)  # (n, N)
    cross = over_samples(torch.func.jacfwd(gradient, argnums=1), w, x)  # (n, N, *input)
    rows = torch.cat([first, cross.flatten(2).transpose(1, 2).flatten(0, 1)]).detach()
    if len(rows) < rows.shape[1]:
        raise ValueError(
            f"{len(x)} inputs give {len(rows)} directions, fewer than the {rows.shape[1]} parameters: the rank would be cut off. "
            f"Pass at least {-(-rows.shape[1] // (len(rows) // len(x)))} inputs, better twice as many."
        )
    values = torch.linalg.svdvals(rows)
    return int((values > tolerance * values[0]).sum())


def over_samples(function: Callable[[Tensor, Tensor], Tensor], w: Tensor, x: Tensor) -> Tensor:
    """``function(w, point)`` of every point, at once where torch's vmap knows all its operations, else one by one.

    Example:
        >>> over_samples(lambda w, point: (w * point).sum(), torch.ones(2), torch.eye(2)).tolist()
        [1.0, 1.0]
    """
    try:
        found: Tensor = torch.func.vmap(function, (None, 0), chunk_size=256)(w, x)
    except (RuntimeError, NotImplementedError):
        return torch.stack([function(w, point) for point in x])
    return found


class _Kinks(TorchDispatchMode):
    """Looks at what enters each ReLU while a network runs."""

    def __init__(self, tolerance: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tolerance, self.count = tolerance, 0

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        if getattr(func, "overloadpacket", None) in KINKED and isinstance(args[0], Tensor):
            self.count += int((args[0].abs() < self.tolerance).sum())
        return func(*args, **(kwargs or {}))


@guarded(tolerance=NOT_NEGATIVE)
@torch.no_grad()
def count_cusps(network: nn.Module, inputs: Tensor, *, tolerance: float = 1e-6) -> int:
    """Pairs (pattern, neuron) whose pre-activation is zero within ``tolerance``: kinks of ReLU that the data sit on.

    Every ReLU counts that is computed, as a module, a function or a method, in place or not.

    Example:
        >>> net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.ReLU())
        >>> count_cusps(net, torch.tensor([[0.0], [1.0]]))
        1
    """
    with _Kinks(tolerance) as seen:
        network(inputs.to(next(network.parameters()).dtype))
    return int(seen.count)

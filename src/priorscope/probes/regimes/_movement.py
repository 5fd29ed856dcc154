"""How far a trained network moved: tangent kernel, activations before the readout, and the time its loss took to halve."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from priorscope.contracts import guarded
from priorscope.inference import FittedNetworks

__all__ = ["half_times", "last_activations", "relative_change", "stacked_ntk"]


@guarded()
def stacked_ntk(fitted: FittedNetworks, params: Tensor, inputs: Tensor, others: Tensor | None = None) -> Tensor:
    r"""Tangent kernels :math:`J_kJ_k^T` (K, n, m) of the raw first output at flat parameters (K, P), by explicit Jacobians.

    Example:
        >>> from types import SimpleNamespace as N
        >>> from priorscope.inference import GradientFlow
        >>> data = N(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> fitted = GradientFlow(time=1.0).fit(torch.nn.Linear(2, 1, bias=False), data)
        >>> stacked_ntk(fitted, fitted.initial, torch.eye(2)).tolist()
        [[[1.0, 0.0], [0.0, 1.0]]]
    """
    left = _jacobian(fitted, params, inputs)
    return left @ (left if others is None else _jacobian(fitted, params, others)).mT


def _jacobian(fitted: FittedNetworks, params: Tensor, inputs: Tensor) -> Tensor:
    """Gradients (K, n, P) of the first output."""
    members, x = fitted.members, inputs.to(fitted.members.dtype)
    w = params.detach().requires_grad_()
    f = members.call(w, x)[:, :, 0]  # (K, n)
    return torch.stack([torch.autograd.grad(f[:, i].sum(), w, retain_graph=True)[0] for i in range(len(x))], 1)


@guarded()
@torch.no_grad()
def last_activations(fitted: FittedNetworks, params: Tensor, inputs: Tensor) -> Tensor:
    """What the last layer with parameters sees, (K, n, features): the learnt representation of the inputs.

    Example:
        >>> from types import SimpleNamespace as N
        >>> from priorscope.inference import GradientFlow
        >>> data = N(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        >>> fitted = GradientFlow(time=1.0, max_turn=1e-2).fit(net, data)
        >>> tuple(last_activations(fitted, fitted.initial, torch.eye(2)).shape)
        (1, 2, 3)
    """
    members, x = fitted.members, inputs.to(fitted.members.dtype)
    named, found = members.unflatten(params), []
    for k in range(len(members)):
        network = members.network(params, k).to(members.dtype)
        for name, p in network.named_parameters():
            p.copy_(named[name][k])  # again, in full precision
        leaves = [m for m in network.modules() if any(True for _ in m.parameters(recurse=False))]
        seen: list[Tensor] = []

        def hook(module: nn.Module, args: tuple[Tensor, ...], seen: list[Tensor] = seen) -> None:
            seen.append(args[0].detach())

        handle = leaves[-1].register_forward_pre_hook(hook)
        try:
            network(x)
        finally:
            handle.remove()
        found.append(seen[-1].reshape(len(x), -1))
    return torch.stack(found)


def relative_change(start: Tensor, end: Tensor) -> Tensor:
    r""":math:`\|b - a\|/\|a\|` of each member (K, …).

    Example:
        >>> relative_change(torch.ones(1, 4), 3 * torch.ones(1, 4)).tolist()
        [2.0]
    """
    found: Tensor = (end - start).flatten(1).norm(dim=1) / start.flatten(1).norm(dim=1).clamp(min=1e-300)
    return found


@guarded()
def half_times(fitted: FittedNetworks) -> Tensor:
    r"""First time at which each member's loss is half its initial value, interpolated in log time; NaN when it never is.

    The measured :math:`t_1` of Geiger et al. (2020), "Disentangling feature and lazy training": in the feature regime
    :math:`t_1 = \sqrt h\,\alpha` up to a constant.

    Example:
        >>> from types import SimpleNamespace as N
        >>> loss, times = torch.tensor([[4.0], [4.0], [3.0], [1.0]]), torch.tensor([0.0, 1.0, 10.0, 100.0])
        >>> round(float(half_times(N(trajectory=N(loss=loss, times=times), predict=len, seconds=0.0))), 1)
        31.6
    """
    loss, times = fitted.trajectory.loss, fitted.trajectory.times
    loss = loss[:, None] if loss.ndim == 1 else loss
    found = torch.full((loss.shape[1],), torch.nan, dtype=torch.float64)
    for i in range(loss.shape[1]):
        below = torch.nonzero(loss[:, i] <= loss[0, i] / 2).flatten()
        if len(below) and int(below[0]) > 1:
            k = int(below[0])
            part = float((loss[k - 1, i] - loss[0, i] / 2) / (loss[k - 1, i] - loss[k, i]))
            found[i] = times[k - 1] * (times[k] / times[k - 1]) ** part
    return found

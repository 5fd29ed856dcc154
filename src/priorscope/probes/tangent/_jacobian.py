"""Per-sample Jacobians of a whole network: the definition, and the way for parameters no layer explains."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

from priorscope.probes.tangent._capture import as_rows


def trainable(network: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters the kernel is a sum over (shared ones once)."""
    return {name: param for name, param in network.named_parameters() if param.requires_grad}


def jacobian(network: nn.Module, x: Tensor, names: list[str] | None = None) -> Tensor:
    """Gradients of all outputs of all samples, (n, C, parameters), by the parameters ``names`` (all unless given)."""
    everything = trainable(network)
    moving = {name: everything[name].detach() for name in (names if names is not None else everything)}
    fixed = {name: param.detach() for name, param in network.named_parameters() if name not in moving}
    state = {**fixed, **dict(network.named_buffers())}

    def row(values: dict[str, Tensor], one: Tensor) -> Tensor:
        out = torch.func.functional_call(network, {**state, **values}, (one.unsqueeze(0),))
        return as_rows(out, 1)[0]

    try:
        with warnings.catch_warnings():  # attention has no batching rule; torch then loops and says so
            warnings.filterwarnings("ignore", message="There is a performance drop")
            parts = torch.func.vmap(torch.func.jacrev(row), (None, 0))(moving, x)
        return torch.cat([part.reshape(*part.shape[:2], -1) for part in parts.values()], 2)
    except (RuntimeError, NotImplementedError):  # code that vmap cannot see through: one sample at a time
        return _one_by_one(network, x, list(moving))


def _one_by_one(network: nn.Module, x: Tensor, names: list[str]) -> Tensor:
    params = [trainable(network)[name] for name in names]
    rows = []
    with torch.enable_grad():
        for one in x:
            out = as_rows(network(one.unsqueeze(0)), 1)[0]
            for value in out:
                grads = torch.autograd.grad(value, params, retain_graph=True, allow_unused=True)
                rows.append(
                    torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in zip(grads, params)])
                )
    return torch.stack(rows).reshape(len(x), -1, rows[0].numel())

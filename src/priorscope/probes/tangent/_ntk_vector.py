"""The kernel by products with vectors: pull one output back to the parameters, push it forward at the others."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from priorscope.models.layers import Outputs
from priorscope.probes.tangent._capture import as_rows
from priorscope.probes.tangent._jacobian import trainable


def ntk_vector_block(network: nn.Module, x1: Tensor, x2: Tensor, outputs: Outputs) -> Tensor:
    r"""Block (n1, n2[, C[, C]]) by :math:`\Theta e_b = J_1 (J_2^T e_b)`; holds one parameter vector per pulled sample."""
    values = {name: param.detach() for name, param in trainable(network).items()}
    state = {name: param.detach() for name, param in network.named_parameters() if name not in values}
    state |= dict(network.named_buffers())

    def at(one: Tensor):  # type: ignore[no-untyped-def]
        def forward(params: dict[str, Tensor]) -> Tensor:
            out = torch.func.functional_call(network, {**state, **params}, (one.unsqueeze(0),))
            return as_rows(out, 1)[0]

        return forward

    def pair(one: Tensor, two: Tensor) -> Tensor:
        value, pull = torch.func.vjp(at(two), values)  # type: ignore[misc]

        def column(unit: Tensor) -> Tensor:
            found: Tensor = torch.func.jvp(at(one), (values,), pull(unit))[1]
            return found

        eye = torch.eye(len(value), dtype=value.dtype, device=value.device)
        return torch.func.vmap(column)(eye).mT  # (C of one, C of two)

    full = torch.func.vmap(torch.func.vmap(pair, (None, 0)), (0, None))(x1, x2)  # (n1, n2, C, C)
    if outputs == "full":
        return full
    diagonal = full.diagonal(dim1=2, dim2=3)
    return diagonal if outputs == "logit" else diagonal.sum(2)

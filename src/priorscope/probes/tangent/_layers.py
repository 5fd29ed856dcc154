"""Gradients of one layer's own parameters, from what went into it and the gradient at what came out."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from priorscope.contracts import own
from priorscope.models.layers import Explicit, Form, TangentLayer, convolution_forms, linear_forms


def layer_forms(module: nn.Module, entered: Tensor, deltas: Tensor, names: tuple[str, ...]) -> dict[str, Form]:
    """Forms of the parameters ``names`` of ``module``; input ``entered`` (n, ...), ``deltas`` (n, C, ...) at its output.

    A layer may say its own (:class:`~priorscope.models.layers.TangentLayer`); torch's linear maps are known here. Every other
    leaf is differentiated by itself, sample by sample.
    """
    if own(module, "tangent_forms") and isinstance(module, TangentLayer):
        return module.tangent_forms(entered, deltas, names)
    if type(module) is nn.Linear:
        return linear_forms(entered, deltas, names)
    if isinstance(module, nn.Conv1d | nn.Conv2d) and type(module) in (nn.Conv1d, nn.Conv2d) and module.groups == 1:
        return convolution_forms(_patches(module, entered), deltas, names)
    return differentiated(module, entered, deltas, names)


def _patches(module: nn.Conv1d | nn.Conv2d, entered: Tensor) -> Tensor:
    """What each output position sees: (n, P, channels x taps), in the order of the weight."""
    kernel, stride, dilation = (_pair(v) for v in (module.kernel_size, module.stride, module.dilation))
    sides = list(module._reversed_padding_repeated_twice)  # last axis first, as F.pad wants it
    if any(sides):
        entered = F.pad(entered, sides, mode="constant" if module.padding_mode == "zeros" else module.padding_mode)
    if isinstance(module, nn.Conv1d):
        entered = entered.unsqueeze(2)
    return F.unfold(entered, kernel, dilation=dilation, stride=stride).mT


def _pair(sizes: tuple[int, ...]) -> tuple[int, int]:
    """One number per image axis; a line is an image of one row."""
    return (sizes[0], sizes[1]) if len(sizes) == 2 else (1, sizes[0])


def differentiated(module: nn.Module, entered: Tensor, deltas: Tensor, names: tuple[str, ...]) -> dict[str, Form]:
    """Any leaf: its own vector-Jacobian product, vectorised over samples; the rest of the network stays out of it."""
    params = {name: param.detach() for name, param in module.named_parameters(recurse=False)}
    moving = {name: params[name] for name in names}

    def pulled(one: Tensor, delta: Tensor) -> dict[str, Tensor]:
        def forward(values: dict[str, Tensor]) -> Tensor:
            found: Tensor = torch.func.functional_call(module, {**params, **values}, (one.unsqueeze(0),))
            return found

        found: dict[str, Tensor] = torch.func.vjp(forward, moving)[1](delta.unsqueeze(0))[0]
        return found

    def all_samples(delta: Tensor) -> dict[str, Tensor]:
        try:
            return torch.func.vmap(pulled)(entered, delta)
        except (RuntimeError, NotImplementedError):  # an operation vmap does not know: one sample at a time
            rows = [pulled(one, d) for one, d in zip(entered, delta)]
            return {name: torch.stack([row[name] for row in rows]) for name in names}

    found = [all_samples(deltas[:, c]) for c in range(deltas.shape[1])]
    stacked = {name: torch.stack([grad[name] for grad in found], 1) for name in names}
    return {name: Explicit(grad.reshape(*grad.shape[:2], -1)) for name, grad in stacked.items()}

"""Gradients of one layer's own parameters, from what went into it and the gradient at what came out."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from priorscope.models.layers._conv import ConvModule
from priorscope.models.layers._dense import DenseModule
from priorscope.models.layers._locally_connected import LocallyConnectedModule
from priorscope.models.layers._taps import gather_patches
from priorscope.probes.tangent._forms import Explicit, Form, Local, Product


def layer_forms(module: nn.Module, entered: Tensor, deltas: Tensor, names: tuple[str, ...]) -> dict[str, Form]:
    """Forms of the parameters ``names`` of ``module``; input ``entered`` (n, ...), ``deltas`` (n, C, ...) at its output.

    Linear maps are recognised by class. Every other leaf is differentiated by itself, sample by sample.
    """
    if type(module) is nn.Linear:
        return _linear(entered, deltas, names)
    if type(module) in (nn.Conv1d, nn.Conv2d) and module.groups == 1:  # type: ignore[union-attr]
        return _convolution(_patches(module, entered), deltas, names)  # type: ignore[arg-type]
    if type(module) is DenseModule:
        if entered.ndim > 2:  # pixels after channels
            entered, deltas = entered.flatten(2).mT, deltas.flatten(3).mT
        return _scaled(_linear(entered, deltas, names), module)
    if type(module) is ConvModule:
        return _scaled(_convolution(_scaled_patches(module, entered), deltas, names), module)
    if type(module) is LocallyConnectedModule:
        flat = deltas.flatten(3)  # (n, C, channels, P)
        forms: dict[str, Form] = {"weight": Local(_scaled_patches(module, entered), flat.mT), "bias": Explicit(flat)}
        return _scaled({name: forms[name] for name in names}, module)
    return differentiated(module, entered, deltas, names)


def _scaled(forms: dict[str, Form], module: DenseModule | ConvModule | LocallyConnectedModule) -> dict[str, Form]:
    """The forward scales of priorscope's layers, on the smaller factor."""
    weight, bias = forms.get("weight"), forms.get("bias")
    if isinstance(weight, Product | Local) and module.scale != 1:
        forms["weight"] = type(weight)(weight.activations * module.scale, weight.deltas)
    if isinstance(bias, Explicit) and module.bias_scale != 1:
        forms["bias"] = Explicit(bias.jacobian.flatten(2) * module.bias_scale)
    elif isinstance(bias, Explicit):
        forms["bias"] = Explicit(bias.jacobian.flatten(2))
    return forms


def _scaled_patches(module: ConvModule | LocallyConnectedModule, entered: Tensor) -> Tensor:
    n_space = entered.ndim - 2
    patches = gather_patches(entered, module.kernel_size, module.stride, module.padding)  # (n, c, *out, *taps)
    patches = patches.flatten(2 + n_space).flatten(2, 1 + n_space)  # (n, c, P, taps)
    return patches.transpose(1, 2).flatten(2)


def _linear(entered: Tensor, deltas: Tensor, names: tuple[str, ...]) -> dict[str, Form]:
    n, n_out = deltas.shape[:2]
    activations = entered.reshape(n, -1, entered.shape[-1])
    flat = deltas.reshape(n, n_out, activations.shape[1], deltas.shape[-1])
    forms: dict[str, Form] = {}
    if "weight" in names:
        forms["weight"] = Product(activations, flat)
    if "bias" in names:
        forms["bias"] = Explicit(flat[:, :, 0] if flat.shape[2] == 1 else flat.sum(2))
    return forms


def _convolution(patches: Tensor, deltas: Tensor, names: tuple[str, ...]) -> dict[str, Form]:
    flat = deltas.flatten(3)  # (n, C, channels, P)
    forms: dict[str, Form] = {}
    if "weight" in names:
        forms["weight"] = Product(patches, flat.mT)
    if "bias" in names:
        forms["bias"] = Explicit(flat.sum(3))
    return forms


def _patches(module: nn.Conv1d | nn.Conv2d, entered: Tensor) -> Tensor:
    """What each output position sees: (n, P, channels x taps), in the order of the weight."""
    one_dimensional = isinstance(module, nn.Conv1d)
    kernel, stride, dilation = module.kernel_size, module.stride, module.dilation
    sides = list(module._reversed_padding_repeated_twice)  # last axis first, as F.pad wants it
    if any(sides):
        entered = F.pad(entered, sides, mode="constant" if module.padding_mode == "zeros" else module.padding_mode)
    if one_dimensional:
        entered = entered.unsqueeze(2)
        kernel, stride, dilation = (1, *kernel), (1, *stride), (1, *dilation)
    return F.unfold(entered, kernel, dilation=dilation, stride=stride).mT  # type: ignore[arg-type]


def differentiated(module: nn.Module, entered: Tensor, deltas: Tensor, names: tuple[str, ...]) -> dict[str, Form]:
    """Any leaf: its own vector-Jacobian product, vectorised over samples; the rest of the network stays out of it."""
    params = {name: param.detach() for name, param in module.named_parameters(recurse=False)}
    moving = {name: params[name] for name in names}

    def pulled(one: Tensor, delta: Tensor) -> dict[str, Tensor]:
        def forward(values: dict[str, Tensor]) -> Tensor:
            return torch.func.functional_call(module, {**params, **values}, (one.unsqueeze(0),))

        return torch.func.vjp(forward, moving)[1](delta.unsqueeze(0))[0]

    def all_samples(delta: Tensor) -> dict[str, Tensor]:
        try:
            return torch.func.vmap(pulled)(entered, delta)
        except (RuntimeError, NotImplementedError):  # an operation vmap does not know: one sample at a time
            rows = [pulled(one, d) for one, d in zip(entered, delta)]
            return {name: torch.stack([row[name] for row in rows]) for name in names}

    found = [all_samples(deltas[:, c]) for c in range(deltas.shape[1])]
    stacked = {name: torch.stack([grad[name] for grad in found], 1) for name in names}
    return {name: Explicit(grad.reshape(*grad.shape[:2], -1)) for name, grad in stacked.items()}

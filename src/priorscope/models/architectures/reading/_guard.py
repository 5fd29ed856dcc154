"""What is refused before a module is read: anything by which it may do other things than its code and its weights say."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as torch_module
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.nn.utils import parametrize

from priorscope.models.architectures.reading._refusal import NoLaw, refused

__all__ = ["guard"]

HOOKS = {
    "_forward_hooks": "a forward hook",
    "_forward_pre_hooks": "a forward pre-hook",
    "_backward_hooks": "a backward hook",
    "_backward_pre_hooks": "a backward pre-hook",
}
GLOBAL_HOOKS = (
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
)


def guard(module: nn.Module) -> None:
    """Refuse hooks, parametrizations, forwards put on an object, weights that are shared, equal, frozen or not yet there."""
    for name in GLOBAL_HOOKS:
        if getattr(torch_module, name):
            raise refused("modules while a hook on all modules is registered")
    for name, part in module.named_modules():
        _guard_one(name or type(module).__name__, part)
    _guard_weights(module)


def _guard_one(name: str, part: nn.Module) -> None:
    what = f"{name} ({type(part).__name__})"
    attributes: dict[str, Any] = part.__dict__
    for attribute, hook in HOOKS.items():
        if attributes.get(attribute):
            raise refused(f"{what} with {hook} (weight_norm, spectral_norm and pruning of older torch are such hooks)")
    if parametrize.is_parametrized(part):
        raise refused(f"{what} with parametrized weights")
    for method in ("forward", "__call__", "_call_impl"):
        if method in attributes:
            raise refused(f"{what} whose {method} was replaced on the object")
    if type(part).__call__ is not nn.Module.__call__:
        raise refused(f"{what}, whose class replaces __call__")
    if attributes.get("_compiled_call_impl") is not None:
        raise refused(f"{what}, which is compiled; pass the module as it was before torch.compile")


def _guard_weights(module: nn.Module) -> None:
    """Every weight is there, a number of its own, and trained if the others are."""
    owners: dict[int, str] = {}
    places: dict[int, str] = {}
    known: list[tuple[str, torch.Tensor]] = []
    trained: dict[bool, str] = {}
    for prefix, part in module.named_modules():
        for local, value in part._parameters.items():
            if value is None:
                continue
            name = f"{prefix}.{local}" if prefix else local
            if isinstance(value, (UninitializedParameter, UninitializedBuffer)):
                raise NoLaw(
                    f"from_module cannot read {name}, which has no numbers yet; run one batch through the module first."
                )
            if not value.is_floating_point():
                raise refused(f"{name} of type {value.dtype}")
            if id(value) in owners:
                raise refused(f"weights shared by {owners[id(value)]} and {name}")
            owners[id(value)] = name
            if value.numel() and value.data_ptr() in places and value.device.type != "meta":
                raise refused(f"weights that {places[value.data_ptr()]} and {name} share in memory")
            places[value.data_ptr()] = name
            if value._backward_hooks:
                raise refused(f"{name} with a hook on its gradient")
            trained.setdefault(value.requires_grad, name)
            if value.ndim > 1:
                for other, numbers in known:
                    if (
                        numbers.shape == value.shape
                        and value.numel() > 1
                        and torch.equal(numbers, value)
                        and value.any()
                    ):
                        raise NoLaw(
                            f"from_module has no kernel for {other} and {name}, which hold the same numbers: they were not drawn "
                            "independently, and by which law is not known. Draw one of them again."
                        )
                known.append((name, value))
    if len(trained) == 2:
        raise refused(f"weights of which some are frozen ({trained[False]}) and some are not ({trained[True]})")

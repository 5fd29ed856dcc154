"""What is refused before a module is read: anything by which it may do other things than its code and its weights say."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.modules import module as torch_module
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.nn.utils import parametrize

from priorscope.models.architectures.reading._refusal import NoLaw, refused

__all__ = ["guard", "guard_object"]

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
        guard_object(name or type(module).__name__, part)
    _guard_weights(module)


def guard_object(name: str, part: nn.Module) -> None:
    """Refuse a module, its parts left out, that does other things when called than its class says."""
    what = f"{name} ({type(part).__name__})"
    attributes: dict[str, object] = part.__dict__
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
    """Every weight is there, in a place of its own, and trained if the others are."""
    owners: dict[int, str] = {}
    places: list[tuple[int, int, int, str]] = []  # storage, first byte, last byte, name
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
            if value.is_meta:
                raise NoLaw(
                    f"from_module cannot read {name}, which is on the meta device and has no numbers; build the module on the "
                    "CPU, or load its weights with assign=True."
                )
            if not value.is_floating_point():
                raise refused(f"{name} of type {value.dtype}")
            if id(value) in owners:
                raise refused(f"weights shared by {owners[id(value)]} and {name}")
            owners[id(value)] = name
            storage, start, stop = _place(value)
            for other_storage, first, last, other in places:
                if storage == other_storage and start < last and first < stop:
                    raise refused(f"weights that {other} and {name} share in memory")
            places.append((storage, start, stop, name))
            if value._backward_hooks:
                raise refused(f"{name} with a hook on its gradient")
            trained.setdefault(value.requires_grad, name)
    if len(trained) == 2:
        raise refused(f"weights of which some are frozen ({trained[False]}) and some are not ({trained[True]})")


def _place(value: torch.Tensor) -> tuple[int, int, int]:
    """Storage, first and last entry in it."""
    reach = sum((size - 1) * stride for size, stride in zip(value.shape, value.stride())) + 1
    start = int(value.storage_offset())
    return value.untyped_storage().data_ptr(), start, start + (reach if value.numel() else 0)

"""Questions at the door: which of the protocols a model, a system or an inference meets."""

from __future__ import annotations

from typing import TypeGuard, cast

from torch import nn

from priorscope.contracts._door import missing
from priorscope.contracts._inference import Inference, Needs
from priorscope.contracts._models import KernelModel, NetworkFamily, NetworkMaker, NetworkStack
from priorscope.contracts._systems import Triple

__all__ = ["is_kernel_model", "is_network_family", "is_network_maker", "is_network_stack", "is_triple", "needs_of"]


def is_kernel_model(model: object) -> TypeGuard[KernelModel]:
    """Whether the model has a kernel that can be computed.

    Example:
        >>> is_kernel_model(nn.Linear(2, 1))
        False
    """
    return callable(getattr(model, "kernel", None))


def is_network_stack(model: object) -> TypeGuard[NetworkStack]:
    """Whether the model is several networks that run in one call.

    Example:
        >>> is_network_stack(nn.Linear(2, 1))
        False
    """
    return not missing(model, NetworkStack)


def is_network_maker(model: object) -> TypeGuard[NetworkMaker]:
    """Whether the model becomes a network for a seed, without being one.

    Example:
        >>> is_network_maker(nn.Linear(2, 1))
        False
    """
    return not isinstance(model, nn.Module) and not missing(model, NetworkMaker)


def is_network_family(model: object) -> TypeGuard[NetworkFamily]:
    """Whether the model becomes networks of any width.

    Example:
        >>> is_network_family(nn.Linear(2, 1))
        False
    """
    return not isinstance(model, nn.Module) and not missing(model, NetworkFamily)


def is_triple(system: object) -> TypeGuard[Triple]:
    """Whether this is a whole learning system.

    Example:
        >>> is_triple(nn.Linear(2, 1))
        False
    """
    return not missing(system, Triple)


def needs_of(inference: Inference) -> Needs:
    """What an inference fits: "kernel" models or "network"s; networks where it does not say.

    Example:
        >>> import priorscope as ps
        >>> needs_of(ps.inference.GaussianProcess())
        'kernel'
    """
    needs = getattr(inference, "needs", "network")
    if needs not in ("kernel", "network"):
        raise TypeError(f"{type(inference).__name__}.needs must be 'kernel' or 'network'; got {needs!r}.")
    return cast(Needs, needs)

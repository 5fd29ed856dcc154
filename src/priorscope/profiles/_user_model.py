"""Networks of the user as candidates: built by whatever call they take, and made to fit the data."""

from __future__ import annotations

from typing import Protocol, TypeGuard

import torch
from torch import Tensor, nn

from priorscope.contracts import Member, Shape, is_kernel_model, missing, name_of
from priorscope.models import Scaling, UserNetwork, from_factory
from priorscope.profiles._candidates import Candidate

__all__ = ["user_candidate"]


class _Finite(Protocol):
    """A model that becomes networks."""

    def network(self, input_shape: Shape, *, outputs: int = ..., seed: int = ...) -> nn.Module: ...


def _draws(model: object) -> TypeGuard[_Finite]:
    return not missing(model, _Finite)


def user_candidate(
    model: object,
    name: str | None,
    input_shape: Shape,
    outputs: int,
    inputs: Tensor | None = None,
    scaling: Scaling | None = None,
) -> Candidate:
    """A candidate from an Architecture, an ``nn.Module``, a class or a factory of either.

    ``inputs`` are a few samples, ``scaling`` is what standardising did to them: networks that embed tokens are given the
    inputs as they came.
    """
    if isinstance(model, nn.Module) or is_kernel_model(model) or _draws(model):
        return _candidate(model, None, name, input_shape, outputs, inputs, scaling)
    if not callable(model):
        raise TypeError(f"a model must be an Architecture, an nn.Module or a factory; got {type(model).__name__}.")
    own = getattr(model, "__name__", "<lambda>")  # of a class or a function
    if name is None and own != "<lambda>":
        name = own

    def build(seed: int) -> nn.Module:
        made: nn.Module = from_factory(model, input_shape, outputs, seed)
        return made

    return _candidate(build(0), build, name, input_shape, outputs, inputs, scaling)


def _candidate(
    model: object,
    build: Member | None,
    name: str | None,
    input_shape: Shape,
    outputs: int,
    inputs: Tensor | None,
    scaling: Scaling | None,
) -> Candidate:
    """Make a candidate by its closed-form kernel where the model has one, else by the tangent kernel of its network."""
    label = name or name_of(model)
    if is_kernel_model(model):
        return Candidate(label, model, "user", "your model, by its closed-form kernel")
    if not isinstance(model, nn.Module) and _draws(model):  # finite architectures of this library
        family = model

        def build(seed: int) -> nn.Module:
            return family.network(input_shape=input_shape, outputs=outputs, seed=seed)

        model = build(0)
    if not isinstance(model, nn.Module):
        raise TypeError(f"the factory gave {type(model).__name__}; wanted an nn.Module or an Architecture.")
    sample = torch.zeros(2, *input_shape) if inputs is None else inputs
    network = UserNetwork.fit(model, sample, outputs, build=build, name=label, scaling=scaling)
    return Candidate(label, network, "user", "your network, by its tangent kernel at the start")

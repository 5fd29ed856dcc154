"""One network, or K of them, as one function of flat parameters (K, P): what the two gradient methods train."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn

from priorscope.checks import SEED, checked
from priorscope.contracts import Member, NetworkEnsemble, NetworkStack, is_kernel_model, is_network_stack

__all__ = ["Members", "built"]


def _check_copies(model: object) -> None:
    """Refuse a forward put on an object: the copy would go on to use the weights of the original."""
    for name, part in model.named_modules() if isinstance(model, nn.Module) else ():
        own = vars(part).get("forward")
        if own is not None and getattr(own, "__self__", None) is not part:
            raise ValueError(
                f"the forward of {name or 'the network'} ({type(part).__name__}) was replaced on the object, so that a copy "
                "of it cannot be trained or differentiated. Write a class with that forward, and pass networks as before "
                "torch.compile or torch.jit."
            )


def built(model: nn.Module | NetworkStack | Member, seed: int) -> nn.Module:
    """A copy of a network or of a stack of them, made by its factory where that is what is given; training may change it.

    Example:
        >>> built(lambda seed: nn.Linear(seed, 1), 3).in_features
        3
    """
    if not isinstance(model, nn.Module) and not is_network_stack(model):
        if not callable(model) or is_kernel_model(model):
            raise TypeError(
                f"gradient training needs an nn.Module, an ensemble, or a factory seed -> nn.Module; got "
                f"{type(model).__name__}. An architecture becomes a network by .network(input_shape, width, outputs)."
            )
        model = model(seed)
    _check_copies(model)
    return cast(nn.Module, copy.deepcopy(model))


@checked(seed=SEED)
class Members:
    """K networks stacked so that one call evaluates all, and one flat tensor (K, P) holds all their parameters.

    Takes an ``nn.Module`` (K = 1), an ensemble (anything with ``stacked`` and ``call``), or a factory ``seed -> model``.
    The model is copied: training never changes the one that was passed.

    Example:
        >>> members = Members(nn.Linear(3, 1), seed=0)
        >>> tuple(members.flat.shape), tuple(members.call(members.flat, torch.ones(5, 3)).shape)
        ((1, 4), (1, 5, 1))
    """

    def __init__(
        self, model: nn.Module | NetworkStack | Member, seed: int = 0, dtype: torch.dtype | None = None
    ) -> None:
        """Copy the model, building it first where a factory is given, and flatten the trainable parameters of all members."""
        self.model = built(model, seed)
        self.single = not is_network_stack(self.model)
        if dtype is not None:
            self.model.to(dtype)
        if self.single:
            tensors = {name: p.detach()[None] for name, p in self.model.named_parameters() if p.requires_grad}
        else:
            tensors = {name: p.detach() for name, p in self.stack.stacked.items()}
            if dtype is not None:
                tensors = {name: p.to(dtype) for name, p in tensors.items()}
        if not tensors:
            raise ValueError("the network has no trainable parameters; use one that has, or kernel regression.")
        self.names = tuple(tensors)
        self.shapes = tuple(t.shape[1:] for t in tensors.values())
        self.sizes = tuple(t[0].numel() for t in tensors.values())
        self.flat = torch.cat([t.reshape(len(t), -1) for t in tensors.values()], 1)  # (K, P), our own copy

    def __len__(self) -> int:
        return len(self.flat)

    @property
    def stack(self) -> NetworkStack:
        """The networks as one stack; only where there are several."""
        assert not self.single
        return cast(NetworkStack, self.model)

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the parameters, which inputs are cast to."""
        return self.flat.dtype

    def unflatten(self, flat: Tensor) -> dict[str, Tensor]:
        """Named parameters (K, …) as views of the flat ones."""
        pieces = flat.split(self.sizes, 1)
        return {n: p.unflatten(1, s) if s else p.squeeze(1) for n, p, s in zip(self.names, pieces, self.shapes)}

    def call(self, flat: Tensor, inputs: Tensor) -> Tensor:
        """Outputs (K, n, outputs) of the members with these parameters."""
        params = self.unflatten(flat)
        if self.single:
            one = {name: p.squeeze(0) for name, p in params.items()}
            out = torch.func.functional_call(self.model, one, (inputs,))[None]
        else:
            out = self.stack.call(params, inputs)
        found: Tensor = out[..., None] if out.ndim == 2 else out
        return found

    def gradient(self, flat: Tensor, objective: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """Values (K,) of an objective of the flat parameters and its gradient (K, P).

        Members share nothing, so the gradient of the sum holds each member's own gradient.
        """
        w = flat.detach().requires_grad_()
        with torch.enable_grad():
            values = objective(w)
            (gradient,) = torch.autograd.grad(values.sum(), w)
        return values.detach(), gradient

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Dropout off and normalisation by stored statistics, until the block ends."""
        before = self.model.training
        self.model.eval()
        yield
        self.model.train(before)

    @contextmanager
    def training(self) -> Iterator[None]:
        """Dropout on and normalisation by the batch, until the block ends."""
        before = self.model.training
        self.model.train()
        yield
        self.model.train(before)

    def network(self, flat: Tensor, member: int = 0) -> nn.Module:
        """A plain module with the parameters of one member."""
        net = copy.deepcopy(self.model if self.single else cast(NetworkEnsemble, self.model).member(member))
        named = {name: p[member] for name, p in self.unflatten(flat).items()}
        with torch.no_grad():
            for name, p in net.named_parameters():
                if name in named:
                    p.copy_(named[name])
        return net

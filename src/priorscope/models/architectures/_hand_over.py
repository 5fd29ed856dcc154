"""Ways of handing samples over to a network of the user, tried in turn until it takes them one by one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.contracts import Fields
from priorscope.printing import printed

__all__ = ["HandOver", "Scaling", "takes_tokens", "ways"]

_SIDES = (32, 64, 96, 224)  # tried in turn where a network does not take the images as they are


@printed
@dataclass(frozen=True)
class Scaling:
    """What standardising did: the inputs as they came are ``inputs * deviation + mean``.

    Example:
        >>> Scaling(torch.tensor([5.0]), torch.tensor([2.0])).undone(torch.tensor([[-1.0]])).tolist()
        [[3.0]]
    """

    mean: Tensor
    deviation: Tensor

    @classmethod
    def between(cls, original: Tensor, standardised: Tensor) -> Scaling:
        """The map from standardised inputs back to those that came, one mean and deviation per number."""
        x, z = original.double(), standardised.double()
        spread = z.std(0, correction=0)
        deviation = torch.where(spread > 1e-9, x.std(0, correction=0) / spread.clamp(min=1e-12), 1.0)
        return cls(x.mean(0) - deviation * z.mean(0), deviation)

    def undone(self, x: Tensor) -> Tensor:
        """Standardised inputs as they came."""
        return x * self.deviation.to(x) + self.mean.to(x)


@dataclass(frozen=True)
class HandOver:
    """One way: flattened, enlarged, in colour, with a channel or a position more or less, axes turned, as tokens or by name.

    Example:
        >>> HandOver(turned=True)(torch.zeros(2, 3, 50)).shape
        torch.Size([2, 50, 3])
    """

    flat: bool = False
    side: int = 0
    colour: bool = False
    tokens: Scaling | None = None
    turned: bool = False  # channels last, as recurrent networks and transformers take sequences
    first: bool = False  # positions first, samples second
    axis: int = 0  # a new axis of one channel: before (1) or after (2) the features
    grey: bool = False  # without the one channel: the rows of a grey image are the times of a sequence
    fields: Fields | None = None  # rows hold parts, which the network takes by name
    whole: bool = False  # it takes all the parts as one dictionary

    def call(self, module: nn.Module, x: Tensor) -> object:
        """What the network gives for these samples."""
        if self.fields is None:
            return module(self(x))
        parts = self.fields.unpacked(x)
        if self.whole:
            return module(parts)
        names = _named_by(module)
        return module(**{name: part for name, part in parts.items() if names is None or name in names})

    def given(self, x: Tensor) -> Tensor | dict[str, Tensor]:
        """The samples in the form in which the network has them: a tensor, or parts by name."""
        return self(x) if self.fields is None else self.fields.unpacked(x)

    def __call__(self, x: Tensor) -> Tensor:
        """Samples as the network takes them, where it takes one tensor."""
        if self.tokens is not None:
            x = self.tokens.undone(x).round().long().clamp(min=0)
        if self.flat:
            x = x.flatten(1)
        if self.grey:
            x = x.squeeze(1)
        if self.axis:
            x = x.unsqueeze(self.axis)
        if self.turned:
            x = x.movedim(1, -1)
        if self.side:
            x = F.interpolate(x, size=(self.side,) * (x.ndim - 2), mode="bilinear" if x.ndim == 4 else "linear")
        if self.colour:
            x = x.expand(-1, 3, *x.shape[2:])
        return x.transpose(0, 1) if self.first else x

    def words(self, shape: tuple[int, ...]) -> list[str]:
        """What was done to inputs of this shape."""
        text = "×".join(map(str, shape))
        notes = []
        if self.fields is not None:
            notes.append(f"takes {', '.join(self.fields.names)} by name")
        if self.grey:
            notes.append(
                f"inputs of shape {text} are given as sequences of {shape[1]} times with {shape[2]} numbers each"
            )
        if self.tokens is not None:
            notes.append("takes tokens: the inputs are given as whole numbers, as they came")
        if self.flat and self.tokens is None:
            notes.append(f"inputs of shape {text} are flattened")
        if self.axis == 1:
            notes.append(f"the {text} features are given as one channel of {text} positions")
        if self.axis == 2:
            notes.append(f"the {text} features are given as a sequence of {text} numbers")
        if self.turned:
            notes.append(f"inputs of shape {text} are given with their channels last, as a sequence")
        if self.first:
            notes.append("sequences are given with positions first and samples second")
        if self.side:
            notes.append(f"does not take inputs of shape {text}; they are enlarged to side {self.side}")
        if self.colour:
            notes.append("grey images are given to all three colour channels")
        return notes


def ways(
    shape: tuple[int, ...], module: nn.Module, scaling: Scaling | None, sample: Tensor, fields: Fields | None = None
) -> Iterator[HandOver]:
    """By name where they have names; as tokens where it embeds them; as they are; colour; as a sequence; flat; enlarged."""
    if fields is not None:
        names = _named_by(module)
        if names is None or set(names) & set(fields.names):
            yield HandOver(fields=fields)
        yield HandOver(fields=fields, whole=True)
        if len(fields.parts) == 1 and fields.parts[0].whole:
            yield HandOver(tokens=Scaling(torch.zeros(()), torch.ones(())))
        return
    sequential = any(isinstance(m, nn.RNNBase | nn.MultiheadAttention) for m in module.modules())
    if scaling is not None and takes_tokens(module) and _are_tokens(scaling.undone(sample)):
        yield HandOver(tokens=scaling, flat=len(shape) > 1 and shape[0] == 1)
        yield HandOver(tokens=scaling)
        if sequential and len(shape) == 1:
            yield HandOver(tokens=scaling, first=True)
    yield HandOver()
    if len(shape) == 1:
        yield from (HandOver(axis=2), HandOver(axis=2, first=True)) if sequential else ()
        yield HandOver(axis=1)
        return
    grey = shape[0] == 1
    if len(shape) == 2:
        if sequential:
            yield HandOver(first=True)
        yield HandOver(turned=True)
        if sequential:
            yield HandOver(turned=True, first=True)
    if grey and len(shape) == 3 and sequential:
        yield from (HandOver(grey=True), HandOver(grey=True, first=True))
    if grey:
        yield HandOver(colour=True)
    yield HandOver(flat=True)
    for side in _SIDES:
        if side > max(shape[1:]):
            yield HandOver(side=side)
            if grey:
                yield HandOver(side=side, colour=True)


def takes_tokens(module: nn.Module) -> bool:
    """Whether a network embeds whole numbers."""
    return any(isinstance(m, nn.Embedding | nn.EmbeddingBag) for m in module.modules())


def _named_by(module: nn.Module) -> tuple[str, ...] | None:
    """Names of the inputs that a network takes; None where it takes any."""
    taken = inspect.signature(module.forward).parameters.values()
    return None if any(p.kind is p.VAR_KEYWORD for p in taken) else tuple(p.name for p in taken)


def _are_tokens(x: Tensor) -> bool:
    """Whether the inputs as they came are whole numbers from zero up."""
    return bool(((x - x.round()).abs() < 1e-3).all() and (x > -0.5).all())

"""Ways of handing samples over to a network of the user, tried in turn until it takes them one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.printing import printed

__all__ = ["HandOver", "Scaling", "ways"]

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
    """One way: flattened, enlarged, in colour, with a channel or a position more, axes turned, or as whole tokens.

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

    def __call__(self, x: Tensor) -> Tensor:
        """Samples as the network takes them."""
        if self.tokens is not None:
            x = self.tokens.undone(x).round().long().clamp(min=0)
        if self.flat:
            x = x.flatten(1)
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


def ways(shape: tuple[int, ...], module: nn.Module, scaling: Scaling | None, sample: Tensor) -> Iterator[HandOver]:
    """As tokens where it embeds them; as they are; colour; as a sequence; flat; enlarged; enlarged in colour."""
    if scaling is not None and _takes_tokens(module) and _are_tokens(scaling.undone(sample)):
        yield HandOver(tokens=scaling, flat=len(shape) > 1 and shape[0] == 1)
        yield HandOver(tokens=scaling)
    yield HandOver()
    sequential = any(isinstance(m, nn.RNNBase | nn.MultiheadAttention) for m in module.modules())
    if len(shape) == 1:
        yield from (HandOver(axis=2), HandOver(axis=2, first=True)) if sequential else ()
        yield HandOver(axis=1)
        return
    grey = shape[0] == 1
    if len(shape) == 2:
        yield HandOver(turned=True)
        if sequential:
            yield HandOver(turned=True, first=True)
    if grey:
        yield HandOver(colour=True)
    yield HandOver(flat=True)
    for side in _SIDES:
        if side > max(shape[1:]):
            yield HandOver(side=side)
            if grey:
                yield HandOver(side=side, colour=True)


def _takes_tokens(module: nn.Module) -> bool:
    return any(isinstance(m, nn.Embedding | nn.EmbeddingBag) for m in module.modules())


def _are_tokens(x: Tensor) -> bool:
    """Whether the inputs as they came are whole numbers from zero up."""
    return bool(((x - x.round()).abs() < 1e-3).all() and (x > -0.5).all())

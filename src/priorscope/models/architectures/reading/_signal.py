"""A tensor on its way through a module that is being read: the layers that made it, and what is known of its law."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import nn

from priorscope.models.architectures.reading._pointwise import Composed, function_of
from priorscope.models.architectures.reading._refusal import refused
from priorscope.models.layers._activation import Activation
from priorscope.models.layers._attention import Attention
from priorscope.models.layers._branches import check_independent
from priorscope.models.layers._concatenate import Concatenate
from priorscope.models.layers._conv import Conv
from priorscope.models.layers._dense import Dense
from priorscope.models.layers._dropout import Dropout
from priorscope.models.layers._flatten import Flatten
from priorscope.models.layers._general_conv import GeneralConv
from priorscope.models.layers._global_pool import GlobalAvgPool, GlobalSumPool
from priorscope.models.layers._group_norm import GroupNorm
from priorscope.models.layers._layer import Layer, Shape
from priorscope.models.layers._layer_norm import LayerNorm
from priorscope.models.layers._locally_connected import LocallyConnected
from priorscope.models.layers._parallel_sum import ParallelSum
from priorscope.models.layers._product import Product
from priorscope.models.layers._scale import Scale
from priorscope.models.layers._sequential import Sequential
from priorscope.models.nonlinearities import Monomial, Polynomial, Quadrature

__all__ = ["Part", "Signal", "concatenated", "layers_of", "multiplied", "shifted", "summed"]

WITH_WEIGHTS = (Dense, Conv, GeneralConv, LocallyConnected, Attention)


@dataclass(frozen=True, eq=False)
class Part:
    """One layer as it was read, the torch module whose weights it has, and its branches where several meet."""

    layer: Layer
    shape: Shape  # of one output, (channels, *pixels)
    gaussian: bool  # whether the outputs are Gaussian at infinite width
    source: nn.Module | None = None
    name: str = ""  # of the source
    branches: tuple[tuple[Part, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Signal:
    """The parts from the input to here; ``seen`` is the shape torch gives the tensor, batch first."""

    parts: tuple[Part, ...]
    start: Shape  # of one input
    seen: torch.Size
    merged: bool = False  # torch has the pixels in one axis where the layers have two

    @property
    def shape(self) -> Shape:
        """Shape of one sample as the layers have it."""
        return self.parts[-1].shape if self.parts else self.start

    @property
    def gaussian(self) -> bool:
        """Whether the numbers are Gaussian at infinite width, with channels alike."""
        return bool(self.parts) and self.parts[-1].gaussian

    def then(
        self, layer: Layer, *, width: int | None = None, source: nn.Module | None = None, name: str = ""
    ) -> Signal:
        """After one more layer; ``width`` output channels where it has weights."""
        if self.merged and not isinstance(layer, (GlobalAvgPool, GlobalSumPool, Flatten)):
            raise refused(f"{_title(layer)} of pixels that were put into one axis (only a mean or sum over them)")
        if isinstance(layer, Activation) and not self.gaussian:
            composed = self._composed(layer)
            if composed is not None:
                return composed
        if isinstance(layer, (Activation, LayerNorm, GroupNorm)) and not self.gaussian:
            raise refused(
                f"{_title(layer)} of numbers that are not Gaussian at infinite width (only after a Linear or Conv layer, "
                "with pools, norms or sums of such between)"
            )
        try:
            shape = layer.output_shape(self.shape, self.shape[0] if width is None else width)
        except ValueError as error:
            raise refused(f"{_title(layer)} here: {error}") from error
        gaussian = self.gaussian
        if isinstance(layer, WITH_WEIGHTS):
            gaussian = True
        elif isinstance(layer, (Activation, Dropout)) or (isinstance(layer, Flatten) and len(self.shape) > 1):
            gaussian = False
        return replace(self, parts=(*self.parts, Part(layer, shape, gaussian, source, name)), merged=False)

    def _composed(self, layer: Activation) -> Signal | None:
        """One nonlinearity for this and the pointwise ones before it, back to the last Gaussian numbers."""
        start = len(self.parts)
        while (
            start
            and not self.parts[start - 1].gaussian
            and isinstance(self.parts[start - 1].layer, (Activation, Scale))
        ):
            start -= 1
        if start == len(self.parts) or not start or not self.parts[start - 1].gaussian:
            return None
        fn = function_of((*layers_of(self.parts[start:]), layer))
        return None if fn is None else replace(self, parts=self.parts[:start]).then(Activation(Quadrature(fn)))


def _title(layer: Layer) -> str:
    return repr(layer.phi) if isinstance(layer, Activation) else type(layer).__name__


def layers_of(parts: tuple[Part, ...]) -> tuple[Layer, ...]:
    """The layers alone."""
    return tuple(part.layer for part in parts)


def summed(signals: list[Signal]) -> Signal:
    """Branches added; the same tensor twice is twice the tensor."""
    if _all_one(signals):
        return signals[0].then(Scale(float(len(signals))))
    shared, branches = _parted(signals)
    _require_same_shape("a sum", signals)
    if (composed := _pointwise("sum", signals[0], shared, branches)) is not None:
        return composed
    layers = _independent("a sum", branches)
    try:
        check_independent("a sum", layers)
    except ValueError as error:
        raise refused(f"this sum of branches: {error}") from error
    gaussian = all(s.gaussian for s in signals)
    return _met(signals[0], shared, Part(ParallelSum(layers), signals[0].shape, gaussian, branches=branches))


def multiplied(signals: list[Signal]) -> Signal:
    """Branches multiplied; the same tensor twice is its square."""
    if _all_one(signals):
        return signals[0].then(Activation(Monomial(len(signals))))
    shared, branches = _parted(signals)
    _require_same_shape("a product", signals)
    if (composed := _pointwise("product", signals[0], shared, branches)) is not None:
        return composed
    layers = _independent("a product", branches)
    try:
        check_independent("a product", layers)
    except ValueError as error:
        raise refused(f"this product of branches: {error}") from error
    return _met(signals[0], shared, Part(Product(layers), signals[0].shape, False, branches=branches))


def shifted(signal: Signal, constant: float) -> Signal:
    """A constant added: a pointwise function, so only of Gaussian numbers or of smooth functions of them."""
    return signal if constant == 0 else signal.then(Activation(Polynomial((constant, 1.0))))


def concatenated(signals: list[Signal]) -> Signal:
    """Channels of the branches side by side, each branch with the share of the channels it has."""
    shared, branches = _parted(signals)
    if len({s.shape[1:] for s in signals}) > 1:
        raise refused(f"a concatenation of branches with different pixels {[s.shape[1:] for s in signals]}")
    channels = [s.shape[0] for s in signals]
    layer = Concatenate(tuple(Sequential(layers_of(b)) for b in branches), tuple(c / sum(channels) for c in channels))
    shape = (sum(channels), *signals[0].shape[1:])
    return _met(signals[0], shared, Part(layer, shape, False, branches=branches))


def _all_one(signals: list[Signal]) -> bool:
    """Whether all are one tensor under several names."""
    first = signals[0].parts
    return all(len(s.parts) == len(first) and all(a is b for a, b in zip(s.parts, first)) for s in signals[1:])


def _parted(signals: list[Signal]) -> tuple[tuple[Part, ...], tuple[tuple[Part, ...], ...]]:
    """What all signals have passed, and what each has passed since."""
    shared = 0
    while all(len(s.parts) > shared and s.parts[shared] is signals[0].parts[shared] for s in signals):
        shared += 1
    return signals[0].parts[:shared], tuple(s.parts[shared:] for s in signals)


def _pointwise(
    how: str, signal: Signal, shared: tuple[Part, ...], branches: tuple[tuple[Part, ...], ...]
) -> Signal | None:
    """Branches that are all smooth pointwise functions of the same Gaussian numbers: one function, like x * sigmoid(x)."""
    if not shared or not shared[-1].gaussian:
        return None
    functions = [function_of(layers_of(branch)) for branch in branches]
    if any(fn is None for fn in functions):
        return None
    fn = Composed(how, tuple(f for f in functions if f is not None))
    return replace(signal, parts=shared).then(Activation(Quadrature(fn)))


def _met(signal: Signal, shared: tuple[Part, ...], part: Part) -> Signal:
    return replace(signal, parts=(*shared, part))


def _require_same_shape(what: str, signals: list[Signal]) -> None:
    """Torch would broadcast; there is no layer for it."""
    if len({s.seen for s in signals}) > 1 or len({s.shape for s in signals}) > 1:
        raise refused(f"{what} of tensors with different shapes {[tuple(s.seen) for s in signals]}")


def _independent(what: str, branches: tuple[tuple[Part, ...], ...]) -> tuple[Layer, ...]:
    """The branches as layers, refused where two of them carry the numbers that one weight matrix made.

    Channel i of a branch is a function of channel i of the Gaussian outputs of its last weights, and those of different weight
    matrices are independent at infinite width (Yang 2019, "Wide feedforward or recurrent neural networks of any
    architecture are Gaussian processes", Sec. 5). So two branches are independent when these sets do not meet.
    """
    origins = [_origins(branch) for branch in branches]
    for i, mine in enumerate(origins):
        for other in origins[:i]:
            common = mine.keys() & other.keys()
            if common:
                names = ", ".join(sorted(mine[c] for c in common))
                raise refused(f"{what} whose branches are not independent: both carry {names}")
    return tuple(Sequential(layers_of(branch)) for branch in branches)


def _origins(parts: tuple[Part, ...], start: dict[int, str] | None = None) -> dict[int, str]:
    """The last weights behind each channel, by identity, with their names; 0 is the branch's own input."""
    origin = {0: "their common input"} if start is None else start
    for part in parts:
        if part.branches:
            origin = {k: v for branch in part.branches for k, v in _origins(branch, origin).items()}
        elif isinstance(part.layer, WITH_WEIGHTS):
            origin = {id(part): f"the output of {part.name or type(part.layer).__name__}"}
    return origin

"""Finite groups of moves by a short name, for inputs of any size: mirrors, turns, shifts, the sign."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from priorscope.checks import checked, each, whole
from priorscope.contracts import Shape

__all__ = ["GROUPS", "GridMove", "moves_named"]


@checked(turns=whole(0), flips=each(whole(-2, most=-1), empty=True), shift=each(whole(0), empty=True))
@dataclass(frozen=True)
class GridMove:
    """A shift, then reversals of axes, then quarter turns of the last two, then the sign; axes count from the last.

    Example:
        >>> x = torch.arange(4.0).reshape(1, 1, 2, 2)
        >>> GridMove(turns=1)(x).flatten().tolist(), GridMove(flips=(-1,))(x).flatten().tolist()
        ([1.0, 3.0, 0.0, 2.0], [1.0, 0.0, 3.0, 2.0])
    """

    turns: int = 0
    flips: tuple[int, ...] = ()
    shift: tuple[int, ...] = ()
    negate: bool = False

    def fitted(self, before: Shape, after: Shape) -> GridMove:
        """The move on a grid of another size, shifts scaled to it (and rounded: between two pixels there is none).

        Example:
            >>> GridMove(shift=(0, 4)).fitted((8, 8), (4, 4)).shift
            (0, 2)
        """
        return replace(self, shift=tuple(round(s * b / a) for s, a, b in zip(self.shift, before, after)))

    def __call__(self, x: Tensor) -> Tensor:
        """The moved batch (n, channels, *space)."""
        if any(self.shift):
            x = x.roll(self.shift, tuple(range(x.ndim - len(self.shift), x.ndim)))
        if self.flips:
            x = x.flip(self.flips)
        if self.turns % 4:
            x = torch.rot90(x, self.turns, (-2, -1))
        return -x if self.negate else x


def _mirror(shape: Shape) -> list[GridMove]:
    return [GridMove(), GridMove(flips=(-1,))]


def _flips(shape: Shape) -> list[GridMove]:
    axes = [(), (-1,)] if len(shape) == 2 else [(), (-1,), (-2,), (-2, -1)]
    return [GridMove(flips=tuple(axis)) for axis in axes]


def _half_turn(shape: Shape) -> list[GridMove]:
    return [GridMove(), GridMove(turns=2)]


def _quarter_turns(shape: Shape) -> list[GridMove]:
    return [GridMove(turns=k) for k in range(4)]


def _square(shape: Shape) -> list[GridMove]:
    return [GridMove(turns=k, flips=flips) for flips in ((), (-1,)) for k in range(4)]


def _shifts(shape: Shape) -> list[GridMove]:
    return [GridMove(shift=s) for s in itertools.product(*(range(size) for size in shape[1:]))]


def _sign(shape: Shape) -> list[GridMove]:
    return [GridMove(), GridMove(negate=True)]


@dataclass(frozen=True)
class NamedGroup:
    """A group known by name: what it is in words, on how many spatial axes it acts, and its moves for a shape."""

    words: str
    axes: tuple[int, ...]
    moves: Callable[[Shape], list[GridMove]]
    square: bool = False


GROUPS: dict[str, NamedGroup] = {
    "mirror": NamedGroup("left-right mirror images", (1, 2), _mirror),
    "flips": NamedGroup("reversals of every axis", (1, 2), _flips),
    "p2": NamedGroup("half turns", (2,), _half_turn),
    "p4": NamedGroup("quarter turns", (2,), _quarter_turns, square=True),
    "p4m": NamedGroup("quarter turns and mirror images", (2,), _square, square=True),
    "shifts": NamedGroup("cyclic shifts", (1, 2), _shifts),
    "sign": NamedGroup("changes of sign", (0, 1, 2), _sign),
}
"""Groups by name; p4 and p4m are called after the wallpaper groups whose turns and mirrors they are."""


def moves_named(name: str, shape: Shape) -> tuple[GridMove, ...]:
    """The moves of a named group on inputs of one shape, the identity first.

    Example:
        >>> len(moves_named("p4m", (3, 8, 8))), len(moves_named("shifts", (1, 5)))
        (8, 5)
        >>> moves_named("p4", (3, 8, 6))
        Traceback (most recent call last):
        ...
        ValueError: p4 turns square images (channels, side, side); got inputs of shape (3, 8, 6). Crop or pad them ...
    """
    if name not in GROUPS:
        raise ValueError(
            f"there is no group {name!r}; there are {', '.join(GROUPS)}, and those of priorscope.data.groups."
        )
    group = GROUPS[name]
    if len(shape) - 1 not in group.axes:
        wanted = {0: "flat inputs (features,)", 1: "(channels, length)", 2: "(channels, height, width)"}
        raise ValueError(
            f"{name} moves inputs {' or '.join(wanted[a] for a in group.axes)}; got inputs of shape {tuple(shape)}. "
            "Say input_shape= where rows are flattened, or take a group that fits."
        )
    if group.square and shape[1] != shape[2]:
        raise ValueError(
            f"{name} turns square images (channels, side, side); got inputs of shape {tuple(shape)}. Crop or pad them first, or "
            "take 'flips'."
        )
    return tuple(group.moves(tuple(shape)))

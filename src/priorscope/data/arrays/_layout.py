"""Which axis of an array of images or signals holds the channels: found by a stated rule, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from torch import Tensor

__all__: list[str] = []

Layout: TypeAlias = Literal["channels_first", "channels_last", "grey", "sequence"]


def check_layout(layout: Layout | None) -> None:
    """Raise unless ``layout`` is None or one of the names."""
    if layout is not None and layout not in get_args(Layout):
        raise ValueError(f"layout must be 'channels_first', 'channels_last', 'grey' or 'sequence'; got {layout!r}.")


def is_signal(channels: int, length: int) -> bool:
    """Whether the two sides are channels × samples, not height × width: at most 4 against 4 times as many, or 16 times."""
    return channels == 1 or (channels <= 4 and 4 * channels <= length) or 16 * channels <= length


def find_layout(shape: Sequence[int]) -> Layout | None:
    """The layout of samples of ``shape`` (without the axis of samples); None when the rule does not decide.

    Two axes: channels and length where ``is_signal`` holds for one order of them, else a grey image. Three or more: the
    first or the last axis is that of the channels. The order that leaves equal sides (above 1) wins; where that does not
    decide, an end of size 1 or 3 wins over one of 2 or 4, and that over a larger one; among larger ones, the smallest axis.

    Example:
        >>> find_layout((32, 32, 3)), find_layout((3, 32, 32)), find_layout((28, 28)), find_layout((3, 32, 3))
        ('channels_last', 'channels_first', 'grey', None)
    """
    if len(shape) == 2:
        a, b = shape
        if is_signal(a, b):
            return "channels_first"
        return "channels_last" if is_signal(b, a) else "grey"
    first, last = shape[0], shape[-1]
    square = [len(set(sides)) == 1 and sides[0] > 1 for sides in (shape[1:], shape[:-1])]
    if square[0] != square[1]:
        return "channels_first" if square[0] else "channels_last"
    ranks = [0 if size in (1, 3) else 1 if size in (2, 4) else 2 for size in (first, last)]
    if ranks[0] < ranks[1]:
        return "channels_first"
    if ranks[1] < ranks[0]:
        return None if set(shape[1:]) == {1} else "channels_last"  # (64, 1, 1): 64 pooled channels, or 64 × 1 in grey
    if ranks[0] == 2 and not any(square):
        if first < min(shape[1:]):
            return "channels_first"
        if last < min(shape[:-1]):
            return "channels_last"
    return None


def channels_first(x: Tensor, layout: Layout | None) -> tuple[Tensor, Layout | None, tuple[str, ...]]:
    """Images and signals with the channels on axis 1, the layout they had, and a note where something was decided.

    Vectors (n, d) are left alone. ``layout`` settles what ``find_layout`` cannot.

    Example:
        >>> import torch
        >>> turned, _, notes = channels_first(torch.zeros(2, 32, 32, 3), None)
        >>> tuple(turned.shape), notes
        ((2, 3, 32, 32), ('inputs (32, 32, 3) are read as 32×32 with 3 channels last, and turned to channels first',))
    """
    check_layout(layout)
    shape = tuple(x.shape[1:])
    if len(shape) < 2:
        return x, None, ()
    if layout == "sequence":
        if len(shape) != 2:
            raise ValueError(
                f"layout='sequence' needs inputs (n, times, numbers); got (n, {', '.join(map(str, shape))})."
            )
        note = f"inputs {shape} are read as sequences of {shape[0]} times with {shape[1]} numbers each, kept channels first"
        return x.movedim(-1, 1).contiguous(), "channels_last", (note,)
    found = layout or find_layout(shape)
    if found is None:
        as_first, as_last = "×".join(map(str, shape[1:])), "×".join(map(str, shape[:-1]))
        raise ValueError(
            f"inputs of shape (n, {', '.join(map(str, shape))}) may be {shape[0]} channels of {as_first} or {as_last} with "
            f"{shape[-1]} channels last. Say which: layout='channels_first' or layout='channels_last'."
        )
    if found == "grey":
        if len(shape) != 2:
            raise ValueError(f"layout='grey' needs images (n, height, width); got (n, {', '.join(map(str, shape))}).")
        return x[:, None], found, (f"inputs {shape} are read as grey images of {shape[0]}×{shape[1]}",)
    if len(shape) == 2:
        turned = x if found == "channels_first" else x.movedim(-1, 1).contiguous()
        where = "" if found == "channels_first" else f": {shape} had the channels last and were turned"
        note = f"inputs are read as signals of {turned.shape[1]} channel(s) and {turned.shape[2]} samples{where}"
        return turned, found, (note,)
    if found == "channels_first":
        return x, found, ()
    sides = "×".join(map(str, shape[:-1]))
    channels = "1 channel" if shape[-1] == 1 else f"{shape[-1]} channels"
    note = f"inputs {shape} are read as {sides} with {channels} last, and turned to channels first"
    return x.movedim(-1, 1).contiguous(), found, (note,)

"""How an input is cut into blocks that a group acts on."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from torch import Tensor

from priorscope.checks import SHAPE, checked, whole

__all__ = ["Layout"]

Kind = Literal["all", "pixel", "patch", "channel"]


@checked(input_shape=SHAPE, patch=whole())
@dataclass(frozen=True)
class Layout:
    """A view of inputs (n, c, \\*S) as (n, blocks, size): what one block holds is the ``kind``.

    ``all``: one block with every number; ``pixel``: the c channels of a pixel; ``patch``: the c·b² numbers of a patch;
    ``channel``: the d pixels of a channel. An input without space, of shape (m,), is one pixel with m channels.

    Example:
        >>> Layout((3, 4, 4), "pixel").blocks, Layout((3, 4, 4), "patch", patch=2).size
        (16, 12)
    """

    input_shape: tuple[int, ...]
    kind: Kind
    patch: int = 1

    def __post_init__(self) -> None:
        if self.kind == "patch":
            space = self.input_shape[1:]
            if not 1 <= len(space) <= 2 or any(n % self.patch for n in space):
                raise ValueError(
                    f"patches of side {self.patch} must tile the image; got input shape {self.input_shape}. "
                    "Choose a side that divides every spatial size."
                )

    @property
    def channels(self) -> int:
        """c, the first axis of an input."""
        return self.input_shape[0]

    @property
    def pixels(self) -> int:
        """d, the product of the spatial axes (1 when there are none)."""
        return prod(self.input_shape[1:])

    @property
    def size(self) -> int:
        """Numbers in one block."""
        taps = self.patch ** len(self.input_shape[1:])
        found: int = {
            "all": self.channels * self.pixels,
            "pixel": self.channels,
            "patch": self.channels * taps,
            "channel": self.pixels,
        }[self.kind]
        return found

    @property
    def blocks(self) -> int:
        """Blocks in one input; blocks · size = c · d."""
        return self.channels * self.pixels // self.size

    def split(self, x: Tensor) -> Tensor:
        """(n, \\*input_shape) to (n, blocks, size)."""
        if tuple(x.shape[1:]) != self.input_shape:
            raise ValueError(
                f"this group acts on a batch (n, {', '.join(map(str, self.input_shape))}); got {tuple(x.shape)}. "
                "Make the group for the shape of one input of your data: dataset.input_shape."
            )
        n, c, d, b = len(x), self.channels, self.pixels, self.patch
        if self.kind == "all":
            return x.reshape(n, 1, c * d)
        if self.kind == "channel":
            return x.reshape(n, c, d)
        if self.kind == "pixel":
            return x.reshape(n, c, d).transpose(1, 2)
        if len(self.input_shape) == 2:
            return x.reshape(n, c, d // b, b).permute(0, 2, 1, 3).reshape(n, d // b, c * b)
        height, width = (side // b for side in self.input_shape[1:])
        cut = x.reshape(n, c, height, b, width, b).permute(0, 2, 4, 1, 3, 5)
        return cut.reshape(n, height * width, c * b * b)

    def join(self, blocks: Tensor) -> Tensor:
        """The inverse of :meth:`split`."""
        n, c, d, b = len(blocks), self.channels, self.pixels, self.patch
        if self.kind in ("all", "channel"):
            return blocks.reshape(n, *self.input_shape)
        if self.kind == "pixel":
            return blocks.transpose(1, 2).contiguous().reshape(n, *self.input_shape)
        if len(self.input_shape) == 2:
            return blocks.reshape(n, d // b, c, b).permute(0, 2, 1, 3).reshape(n, *self.input_shape)
        height, width = (side // b for side in self.input_shape[1:])
        return blocks.reshape(n, height, width, c, b, b).permute(0, 3, 1, 4, 2, 5).reshape(n, *self.input_shape)

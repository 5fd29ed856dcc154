"""The flat program that the fused path runs, written step by step by the layers themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Protocol

import numpy as np

from priorscope.contracts import own
from priorscope.models.kernels import _instructions as code

__all__ = ["NotFused", "Program", "Space", "lower"]

WIDEST = 4  # a frame padded for its strides may be this many times as long as the image

MOST_DISPLACEMENTS = 2**18  # 512 x 512 pixels; their pairs take minutes per pair of images


class NotFused(Exception):
    """This layer has no fused step; the reference runs instead."""


@dataclass
class Space:
    """Where the pixels are: the frame's size, its inside per axis, and the subsampling since the stage began."""

    frame: tuple[int, int] = (1, 1)
    inside: tuple[tuple[int, int], tuple[int, int]] = ((0, 1), (0, 1))
    sub: tuple[int, int] = (1, 1)
    gaussian: bool = False

    def copy(self) -> Space:
        return Space(self.frame, self.inside, self.sub, self.gaussian)

    @property
    def place(self) -> tuple[object, ...]:
        """What two branches must share to be added."""
        return self.frame, self.inside, self.sub

    @property
    def whole(self) -> bool:
        return all(low == 0 and high == size for size, (low, high) in zip(self.frame, self.inside))


class Lowers(Protocol):
    """What the program needs of a layer."""

    @property
    def centres(self) -> bool | None: ...
    def lower(self, program: Program, register: int, space: Space) -> None: ...


def lower(layer: Lowers, program: Program, register: int, space: Space) -> None:
    """Append a layer's steps, as its own class says; a subclass that does not say goes by the reference."""
    if not own(layer, "lower"):
        raise NotFused(type(layer).__name__)
    layer.lower(program, register, space)


@dataclass
class Program:
    """Steps and stages written so far. A stage is what runs between two pools; the head has no pixels any more."""

    one_dimensional: bool = False
    spatial: bool = True
    multiples: list[int] = field(default_factory=list)  # of each stage, the product of its strides
    steps: list[dict[str, int]] = field(default_factory=list)
    numbers: list[list[float]] = field(default_factory=list)
    stages: list[dict[str, int]] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    everywhere: list[bool] = field(default_factory=list)  # does the stage's end look at unequal pixels?
    begun: tuple[int, tuple[int, int]] = (0, (1, 1))  # first step and first frame of the stage
    head: int = 0  # first step of the head
    head_variances: int = 0
    n_registers: int = 1
    free: int = 1  # registers from here on are unused
    n_variances: int = 0
    size: int = 1

    def add(
        self, what: int, register: int, space: Space, numbers: Sequence[float] = (), other: int = 0, **rest: int
    ) -> None:
        """Append one step."""
        height, width = space.frame
        place = {"height": height, "width": width, "sub_y": space.sub[0], "sub_x": space.sub[1]}
        self.steps.append({"code": what, "register": register, "other": other, **place, **rest})
        self.numbers.append([*map(float, numbers), *(0.0,) * (code.N_FLOATS - len(numbers))])
        self.n_registers = max(self.n_registers, register + 1, other + 1)
        self.size = max(self.size, height * width)

    def frame(self, sizes: tuple[int, int]) -> Space:
        """The space at a stage's start: pixels padded to a multiple of its strides."""
        if len(self.stages) == len(self.multiples):
            raise NotFused("a pool inside a branch")
        multiple = self.multiples[len(self.stages)]
        rows, columns = (-(-size // multiple) * multiple for size in sizes)
        frame = (1 if self.one_dimensional else rows, columns)
        if max(frame) > WIDEST * max(sizes):
            raise NotFused("strides much larger than the image")
        self.begun = (len(self.steps), frame)
        return Space(frame, ((0, sizes[0]), (0, sizes[1])))

    def affine(self, register: int, space: Space, weight_variance: float, bias_variance: float) -> None:
        """Fresh weights from channel to channel."""
        self.add(code.AFFINE, register, space, (weight_variance, bias_variance))
        space.gaussian = True

    def expect(self, register: int, space: Space, kind: int, numbers: Sequence[float], who: str) -> None:
        """A nonlinearity, or LayerNorm, which needs the variances too and leaves Gaussian channels Gaussian."""
        if not space.gaussian:
            raise NotFused(f"{who} of channels that are not Gaussian")
        self.add(code.EXPECT, register, space, numbers, kind=kind, variances=self.n_variances)
        self.n_variances += prod(space.frame)
        space.gaussian = kind == code.NORM

    def add_branches(self, register: int, space: Space, branches: Sequence[Lowers]) -> None:
        """Branches of one input, added: the last runs in the register itself, the others in copies."""
        if sum(branch.centres is not True for branch in branches) > 1:
            raise NotFused("correlated branches")
        first, spaces = self.free, []
        registers = [*range(first, first + len(branches) - 1), register]
        self.free += len(branches) - 1
        for copy in registers[:-1]:
            self.add(code.COPY, register, space, other=copy)
        for branch, at in zip(branches, registers):
            spaces.append(space.copy())
            lower(branch, self, at, spaces[-1])
        self.free = first
        last = spaces[-1]
        if any(s.place != last.place for s in spaces):
            raise NotFused("branches on different pixels")
        for copy in registers[:-1]:
            self.add(code.ADD, register, last, other=copy)
        space.frame, space.inside, space.sub = last.frame, last.inside, last.sub
        space.gaussian = all(s.gaussian for s in spaces)

    def convolve(
        self,
        register: int,
        space: Space,
        kernel_size: int,
        stride: int,
        padding: str,
        variances: tuple[float, float],
        *,
        shared: bool,
    ) -> None:
        """A convolution: taps and strides along each axis, and where its outputs lie in the smaller frame."""
        if not self.spatial:
            raise NotFused("a convolution without pixels")
        taps, lows, strides = [kernel_size] * 2, [(kernel_size - 1) // 2] * 2, [stride] * 2
        if self.one_dimensional:
            taps[0], lows[0], strides[0] = 1, 0, 1
        if padding == "circular" and not space.whole:
            raise NotFused("circular padding of a frame that is not whole")
        offsets, inside, frame = [], [], []
        for axis in (0, 1):
            start, stop = space.inside[axis]
            if padding == "valid":
                first, count = start + lows[axis], (stop - start - taps[axis]) // strides[axis] + 1
            else:
                first, count = start, -(-(stop - start) // strides[axis])
            if space.frame[axis] % strides[axis] or count < 1:
                raise NotFused("strides that do not divide the frame")
            offsets.append(first % strides[axis])
            inside.append((first // strides[axis], first // strides[axis] + count))
            frame.append(space.frame[axis] // strides[axis])
        (top, bottom), (left, right) = space.inside
        self.add(
            code.CONV, register, space, variances,
            taps_y=taps[0], low_y=lows[0], taps_x=taps[1], low_x=lows[1], stride_y=strides[0], stride_x=strides[1],
            offset_y=offsets[0], offset_x=offsets[1], padding=code.ZEROS if padding == "zeros" else code.CIRCULAR,
            top=top, bottom=bottom, left=left, right=right,
        )  # fmt: skip
        space.frame, space.inside = (frame[0], frame[1]), (inside[0], inside[1])
        space.sub = (space.sub[0] * strides[0], space.sub[1] * strides[1])
        space.gaussian = True
        if not shared:
            self.add(code.EQUAL_PIXELS, register, space)

    def _end_stage(self, register: int, space: Space, scale: float, everywhere: bool, **rest: int) -> None:
        """Write down the stage that ends here: its steps, its frame and how it is pooled."""
        if register:
            raise NotFused("a pool inside a branch")
        start, (height, width) = self.begun
        (top, bottom), (left, right) = space.inside
        self.stages.append(
            {
                "start": start, "stop": len(self.steps), "height": height, "width": width,
                "end_height": space.frame[0], "end_width": space.frame[1],
                "top": top, "bottom": bottom, "left": left, "right": right, "sub_y": space.sub[0], "sub_x": space.sub[1],
                **rest,
            }
        )  # fmt: skip
        self.scales.append(scale)
        self.everywhere.append(everywhere)
        self.size = max(self.size, prod(space.frame))

    def pool(self, register: int, space: Space, window: int, stride: int, *, mean: bool) -> None:
        """Mean or sum over windows; a new stage begins."""
        if not self.spatial or self.free > 1:
            raise NotFused("a pool inside a branch")
        windows, strides = [window] * 2, [stride] * 2
        if self.one_dimensional:
            windows[0] = strides[0] = 1
        counts = [(hi - lo - w) // s + 1 for (lo, hi), w, s in zip(space.inside, windows, strides)]
        scale = 1.0 / prod(windows) ** 2 if mean else 1.0
        self._end_stage(
            register, space, scale, False, ends=code.POOL, window_y=windows[0], window_x=windows[1],
            step_y=strides[0], step_x=strides[1], n_y=counts[0], n_x=counts[1],
        )  # fmt: skip
        after = self.frame((counts[0], counts[1]))
        self.stages[-1] |= {"next_height": after.frame[0], "next_width": after.frame[1]}
        space.frame, space.inside, space.sub = after.frame, after.inside, after.sub

    def total(self, register: int, space: Space, *, mean: bool, unequal: bool) -> None:
        """Mean or sum over all pairs of pixels, or over equal pixels only; the head begins."""
        if not self.spatial or self.free > 1:
            raise NotFused("a pool inside a branch")
        n_pixels = prod(high - low for low, high in space.inside)
        if unequal and prod(space.frame) > MOST_DISPLACEMENTS:
            raise NotFused(f"all pairs of {n_pixels} pixels")
        scale = (1 / n_pixels**2 if unequal else 1 / n_pixels) if mean else 1.0
        self._end_stage(register, space, scale, unequal, ends=code.TOTAL)
        self.start_head()
        space.frame, space.inside, space.sub = (1, 1), ((0, 1), (0, 1)), (1, 1)
        space.gaussian = space.gaussian and unequal  # pixels of other variances are no longer alike as channels

    def start_head(self) -> None:
        """What follows has no pixels."""
        self.spatial = False
        self.head, self.head_variances = len(self.steps), self.n_variances

    def step_array(self) -> np.ndarray:
        return _records(self.steps, code.STEP)

    def stage_array(self) -> np.ndarray:
        return _records(self.stages, code.STAGE)


def _records(rows: list[dict[str, int]], dtype: np.dtype) -> np.ndarray:
    zero = dict.fromkeys(dtype.names or (), 0)
    return np.array([tuple((zero | row).values()) for row in rows], dtype=dtype)

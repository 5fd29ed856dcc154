"""Turns an architecture into the flat program that the fused path runs, or says that it cannot."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, pi, prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from priorscope.models.kernels._schedule import Schedule, schedule
from priorscope.models.kernels.fused import _activations as kinds
from priorscope.models.kernels.fused import _filters as filters
from priorscope.models.kernels.fused import _machine as machine
from priorscope.models.kernels.fused import _stages as staging

if TYPE_CHECKING:
    from priorscope.models.architectures._architecture import Architecture

__all__ = ["Plan", "obstacle", "plan"]


@dataclass(frozen=True)
class Plan:
    """A program for inputs of one shape."""

    frame: tuple[int, int]  # pixels of the first stage, padded to a multiple of its strides; (1, 1) without pixels
    steps: np.ndarray
    numbers: np.ndarray
    scales: np.ndarray
    pairs: Schedule
    selves: Schedule
    head: tuple[int, int]  # steps after the last pixel is gone
    head_variances: int  # where the head's variances begin among all
    n_registers: int
    n_variances: int  # variances kept for an input
    size: int  # pixels of the largest frame
    chain: np.ndarray | None = (
        None  # weight variance, bias variance and slopes of each layer, where that is all there is
    )

    @property
    def head_steps(self) -> np.ndarray:
        """The steps without pixels, their variances counted from the head's first."""
        steps = self.steps[self.head[0] : self.head[1]].copy()
        steps[steps[:, 0] == machine.EXPECT, 5] -= self.head_variances
        return steps

    @property
    def n_stages(self) -> int:
        return len(self.pairs.stages)

    @property
    def work(self) -> int:
        """Steps times pixels times displacements for one pair of inputs: what time grows with."""
        total = (self.head[1] - self.head[0]) * 1
        for stage, (lo, hi) in zip(self.pairs.stages, self.pairs.spans):
            total += (hi - lo) * int(np.prod(self.steps[stage[0] : stage[1], 2:4], axis=1).sum())
        return max(int(total), 1)


class NotFused(Exception):
    """This layer has no fused step; the reference runs instead."""


@dataclass
class Space:
    """Where the pixels are: the frame's size, its inside per axis, and the subsampling since the stage began."""

    frame: tuple[int, int]
    inside: tuple[tuple[int, int], tuple[int, int]]
    sub: tuple[int, int] = (1, 1)
    gaussian: bool = False

    def copy(self) -> Space:
        return Space(self.frame, self.inside, self.sub, self.gaussian)

    @property
    def whole(self) -> bool:
        return all(low == 0 and high == size for size, (low, high) in zip(self.frame, self.inside))


@dataclass
class Program:
    """Steps written so far."""

    one_dimensional: bool
    steps: list[list[int]] = field(default_factory=list)
    numbers: list[list[float]] = field(default_factory=list)
    n_registers: int = 1
    free: int = 1  # registers from here on are unused
    n_variances: int = 0
    size: int = 1
    spatial: bool = True

    def add(self, code: int, register: int, space: Space, *rest: int, numbers: tuple[float, ...] = ()) -> None:
        row = [code, register, *space.frame, *rest]
        row += [0] * (17 - len(row)) + list(space.sub)
        self.steps.append(row)
        self.numbers.append([*numbers, *(0.0,) * (machine.N_FLOATS - len(numbers))])
        self.n_registers = max(self.n_registers, register + 1, (rest[0] + 1) if code == machine.COPY else 1)
        self.size = max(self.size, prod(space.frame))


def expectation(phi: Any) -> tuple[int, tuple[float, ...]]:
    """Kind and parameters of a nonlinearity."""
    name = type(phi).__name__
    get = lambda field_name: float(getattr(phi, field_name))  # noqa: E731
    table: dict[str, Any] = {
        "ReLU": lambda: (kinds.RECTIFIER, (0.0, 1.0)),
        "LeakyReLU": lambda: (kinds.RECTIFIER, (get("slope"), 1.0)),
        "ABReLU": lambda: (kinds.RECTIFIER, (get("left"), get("right"))),
        "Abs": lambda: (kinds.RECTIFIER, (-1.0, 1.0)),
        "Sign": lambda: (kinds.SIGN, ()),
        "Linear": lambda: (kinds.RECTIFIER, (1.0, 1.0)),
        "Erf": lambda: (kinds.ERF, (1.0, 1.0, 0.0)),
        "GELU": lambda: (kinds.GELU, ()),
        "Sine": lambda: (kinds.SINE, (get("amplitude"), get("frequency"), get("phase"), cos(2 * get("phase")))),
        "Cosine": lambda: (kinds.SINE, (get("amplitude"), get("frequency"), pi / 2, -1.0)),
        "RBF": lambda: (kinds.SINE, (sqrt(2.0), sqrt(2 * get("gamma")), pi / 4, 0.0)),
        "Gaussian": lambda: (kinds.GAUSSIAN, (get("amplitude"), get("precision"))),
        "Exponential": lambda: (kinds.EXPONENTIAL, (get("amplitude"), get("rate"))),
    }
    if name not in table:
        raise NotFused(name)
    return table[name]()


def emit(layer: Any, program: Program, register: int, space: Space) -> None:
    """Append the steps of one layer that keeps pixels apart; ``space`` moves on."""
    name = type(layer).__name__
    if name == "Sequential":
        for part in layer.layers:
            emit(part, program, register, space)
    elif name == "Identity":
        pass
    elif name == "Dense":
        program.add(machine.AFFINE, register, space, numbers=(layer.weight_variance, layer.bias_variance))
        space.gaussian = True
    elif name == "Activation":
        if not space.gaussian:
            raise NotFused("a nonlinearity of channels that are not Gaussian")
        kind, numbers = expectation(layer.phi)
        program.add(machine.EXPECT, register, space, kind, program.n_variances, numbers=numbers)
        program.n_variances += prod(space.frame)
        space.gaussian = False
    elif name == "LayerNorm":
        if not space.gaussian:
            raise NotFused("LayerNorm of channels that are not Gaussian")
        program.add(machine.EXPECT, register, space, kinds.NORM, program.n_variances, numbers=(layer.epsilon,))
        program.n_variances += prod(space.frame)
    elif name in ("Residual", "ParallelSum"):
        emit_sum((layer.shortcut, layer.body) if name == "Residual" else layer.branches, program, register, space)
    elif name in ("Conv", "LocallyConnected") and program.spatial:
        emit_conv(layer, program, register, space, shared=name == "Conv")
    else:
        raise NotFused(name)


def emit_sum(branches: tuple[Any, ...], program: Program, register: int, space: Space) -> None:
    """Branches of one input, added: the last runs in the register itself, the others in copies."""
    if sum(branch.centres is not True for branch in branches) > 1:
        raise NotFused("correlated branches")
    first, spaces = program.free, []
    registers = [*range(first, first + len(branches) - 1), register]
    program.free += len(branches) - 1
    for copy in registers[:-1]:
        program.add(machine.COPY, register, space, copy)
    for branch, at in zip(branches, registers):
        spaces.append(space.copy())
        emit(branch, program, at, spaces[-1])
    program.free = first
    last = spaces[-1]
    if any((s.frame, s.inside, s.sub) != (last.frame, last.inside, last.sub) for s in spaces):
        raise NotFused("branches on different pixels")
    for copy in registers[:-1]:
        program.add(machine.ADD, register, last, copy)
    space.frame, space.inside, space.sub = last.frame, last.inside, last.sub
    space.gaussian = all(s.gaussian for s in spaces)


def emit_conv(layer: Any, program: Program, register: int, space: Space, shared: bool) -> None:
    """A convolution: taps and strides along each axis, and where its outputs lie in the smaller frame."""
    low = (layer.kernel_size - 1) // 2
    taps, lows, strides = [layer.kernel_size] * 2, [low] * 2, [layer.stride] * 2
    if program.one_dimensional:
        taps[0], lows[0], strides[0] = 1, 0, 1
    if layer.padding == "circular" and not space.whole:
        raise NotFused("circular padding of a frame that is not whole")
    offsets, inside, frame = [], [], []
    for axis in (0, 1):
        start, stop = space.inside[axis]
        if layer.padding == "valid":
            first, count = start + lows[axis], (stop - start - taps[axis]) // strides[axis] + 1
        else:
            first, count = start, -(-(stop - start) // strides[axis])
        if space.frame[axis] % strides[axis] or count < 1:
            raise NotFused("strides that do not divide the frame")
        offsets.append(first % strides[axis])
        inside.append((first // strides[axis], first // strides[axis] + count))
        frame.append(space.frame[axis] // strides[axis])
    mode = filters.ZEROS if layer.padding == "zeros" else filters.CIRCULAR
    program.add(
        machine.CONV,
        register,
        space,
        *(taps[0], lows[0], taps[1], lows[1], *strides, *offsets, mode, *space.inside[0], *space.inside[1]),
        numbers=(layer.weight_variance, layer.bias_variance),
    )
    space.frame, space.inside = (frame[0], frame[1]), (inside[0], inside[1])
    space.sub = (space.sub[0] * strides[0], space.sub[1] * strides[1])
    space.gaussian = True
    if not shared:
        program.add(machine.EQUAL_PIXELS, register, space)


def strides_of(layer: Any) -> int:
    """Product of the strides inside a layer."""
    if type(layer).__name__ in ("Conv", "LocallyConnected"):
        return layer.stride
    parts = getattr(layer, "layers", None) or getattr(layer, "branches", None) or ()
    parts = (*parts, *(p for p in (getattr(layer, "body", None), getattr(layer, "shortcut", None)) if p is not None))
    return prod(strides_of(part) for part in parts)


def flat(layers: Any) -> list[Any]:
    """Layers with nested sequences opened."""
    out: list[Any] = []
    for layer in layers:
        out += flat(layer.layers) if type(layer).__name__ == "Sequential" else [layer]
    return out


POOLS = ("AvgPool", "SumPool")
ENDS = ("Flatten", "GlobalAvgPool", "GlobalSumPool")


def frame_for(layers: list[Any], sizes: tuple[int, int], one_dimensional: bool) -> Space:
    """The space at a stage's start: pixels padded to a multiple of the strides up to the next pool."""
    multiple = 1
    for layer in layers:
        if type(layer).__name__ in (*POOLS, *ENDS):
            break
        multiple *= strides_of(layer)
    up = lambda size: -(-size // multiple) * multiple  # noqa: E731
    frame = (1 if one_dimensional else up(sizes[0]), up(sizes[1]))
    return Space(frame, ((0, sizes[0]), (0, sizes[1])))


def plan(arch: Architecture, input_shape: tuple[int, ...]) -> Plan | None:
    """The program of an architecture for inputs of one shape; None where only the reference can do it.

    Example:
        >>> import priorscope as ps
        >>> from priorscope.models.kernels._plan import plan
        >>> plan(ps.models.gap(depth=2), (3, 8, 8)).n_stages
        1
    """
    try:
        return build(flat(arch.layers), tuple(input_shape))
    except NotFused:
        return None


def obstacle(arch: Architecture, input_shape: tuple[int, ...]) -> str | None:
    """What keeps an architecture from the fused path, in words; None where nothing does.

    Example:
        >>> import priorscope as ps
        >>> from priorscope.models.kernels._plan import obstacle
        >>> obstacle(ps.models.Architecture("a", (ps.models.Dropout(0.1), ps.models.Dense())), (3,))
        'Dropout'
    """
    try:
        build(flat(arch.layers), tuple(input_shape))
    except NotFused as found:
        return str(found)
    return None


def build(layers: list[Any], input_shape: tuple[int, ...]) -> Plan:
    if layers and type(layers[0]).__name__ == "Flatten":
        input_shape, layers = (prod(input_shape),), layers[1:]
    one_dimensional = len(input_shape) == 2
    program = Program(one_dimensional)
    stages: list[list[int]] = []
    scales: list[float] = []
    everywhere: list[bool] = []  # does the stage's end look at unequal pixels?
    n = 0
    space = Space((1, 1), ((0, 1), (0, 1)))
    first_frame = (1, 1)
    spatial = len(input_shape) > 1
    if spatial:
        sizes = (1, input_shape[1]) if one_dimensional else (input_shape[1], input_shape[2])
        space = frame_for(layers, sizes, one_dimensional)
        first_frame = space.frame
        start, begin = 0, space.frame
        while True:
            if n == len(layers):
                raise NotFused("pixels at the end")
            layer, name = layers[n], type(layers[n]).__name__
            n += 1
            if name not in (*POOLS, *ENDS):
                emit(layer, program, 0, space)
                continue
            inside = (*space.inside[0], *space.inside[1])
            row = [start, len(program.steps), *begin, *space.frame, *inside, *space.sub]
            n_pixels = prod(high - low for low, high in space.inside)
            program.size = max(program.size, prod(space.frame))
            if name in ENDS:
                stages.append(row + [staging.TOTAL] + [1] * 8 + [0, 0])
                scales.append({"Flatten": 1 / n_pixels, "GlobalAvgPool": 1 / n_pixels**2, "GlobalSumPool": 1.0}[name])
                everywhere.append(name != "Flatten")
                gaussian = space.gaussian and name != "Flatten"
                break
            window, stride = layer.window, layer.stride or layer.window
            windows, strides = [window] * 2, [stride] * 2
            if one_dimensional:
                windows[0] = strides[0] = 1
            counts = [(hi - lo - w) // s + 1 for (lo, hi), w, s in zip(space.inside, windows, strides)]
            gaussian = space.gaussian
            space = frame_for(layers[n:], (counts[0], counts[1]), one_dimensional)
            space.gaussian = gaussian
            stages.append(row + [staging.POOL, *windows, *strides, *space.frame, *counts, 0, 0])
            scales.append(1.0 / prod(windows) ** 2 if name == "AvgPool" else 1.0)
            everywhere.append(False)
            start, begin = len(program.steps), space.frame
        space = Space((1, 1), ((0, 1), (0, 1)), gaussian=gaussian)
    head_start, head_variances = len(program.steps), program.n_variances
    program.spatial = False
    for layer in layers[n:]:
        if type(layer).__name__ != "Flatten":
            emit(layer, program, 0, space)
    steps = np.array(program.steps, dtype=np.int64).reshape(-1, machine.N_INTEGERS)
    numbers = np.array(program.numbers, dtype=np.float64).reshape(-1, machine.N_FLOATS)
    array = np.array(stages, dtype=np.int64).reshape(-1, staging.N_STAGE)
    later = [bool((steps[stage[1] :, 0] == machine.EXPECT).any()) for stage in array]
    return Plan(
        frame=first_frame,
        steps=steps,
        numbers=numbers,
        scales=np.array(scales, dtype=np.float64),
        pairs=schedule(array, everywhere),
        selves=schedule(array, [a and b for a, b in zip(everywhere, later)], later),
        head=(head_start, len(steps)),
        head_variances=head_variances,
        n_registers=program.n_registers,
        n_variances=program.n_variances,
        size=program.size,
        chain=chain(steps, numbers, array, everywhere),
    )


def chain(steps: np.ndarray, numbers: np.ndarray, stages: np.ndarray, everywhere: list[bool]) -> np.ndarray | None:
    """The numbers of a chain: circular 3x3 filters, a rectifier after each, then all pairs of pixels summed; None for others."""
    if len(stages) != 1 or not everywhere[0] or stages[0, 1] < 2 or stages[0, 1] % 2 or min(stages[0, 2:4]) < 3:
        return None
    height, width = stages[0, 2:4]
    if (stages[0, 4:10] != [height, width, 0, height, 0, width]).any():  # unpadded filters use a part of the frame
        return None
    filters_, rectifiers = steps[: stages[0, 1] : 2], steps[1 : stages[0, 1] : 2]
    plain = [machine.CONV, 0, *stages[0, 2:4], 3, 1, 3, 1, 1, 1, 0, 0, filters.CIRCULAR]
    if (filters_[:, :13] != plain).any() or (rectifiers[:, [0, 1, 4]] != [machine.EXPECT, 0, kinds.RECTIFIER]).any():
        return None
    return np.concatenate([numbers[: stages[0, 1] : 2, :2], numbers[1 : stages[0, 1] : 2, :2]], 1)

"""Turns an architecture into the flat program that the fused path runs, or says that it cannot."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from priorscope.models.kernels import _instructions as code
from priorscope.models.kernels._program import NotFused, Program, Space, lower
from priorscope.models.kernels._schedule import Schedule, schedule
from priorscope.models.layers._flatten import Flatten
from priorscope.models.layers._sequential import Sequential

if TYPE_CHECKING:
    from priorscope.models.architectures._architecture import Architecture

__all__ = ["Plan", "obstacle", "plan", "plan_or_reason"]


@dataclass(frozen=True)
class Plan:
    """A program for inputs of one shape."""

    frame: tuple[int, int]  # pixels of the first stage, padded to a multiple of its strides; (1, 1) without pixels
    steps: np.ndarray  # records of STEP
    numbers: np.ndarray  # (n_steps, N_FLOATS)
    scales: np.ndarray
    pairs: Schedule
    selves: Schedule
    head: tuple[int, int]  # steps after the last pixel is gone
    head_variances: int  # where the head's variances begin among all
    n_registers: int
    n_variances: int  # variances kept for an input
    size: int  # pixels of the largest frame
    # weight variance, bias variance and slopes of each layer, where that is all there is
    chain: np.ndarray | None = None

    @cached_property
    def head_steps(self) -> np.ndarray:
        """The steps without pixels, their variances counted from the head's first."""
        steps = self.steps[self.head[0] : self.head[1]].copy()
        steps["variances"][steps["code"] == code.EXPECT] -= self.head_variances
        return steps

    @property
    def n_stages(self) -> int:
        return len(self.pairs.stages)

    @property
    def work(self) -> int:
        """Steps times pixels times displacements for one pair of inputs: what time grows with."""
        total = self.head[1] - self.head[0]
        for stage, (lo, hi) in zip(self.pairs.stages, self.pairs.spans):
            steps = self.steps[stage["start"] : stage["stop"]]
            total += int(hi - lo) * int((steps["height"] * steps["width"]).sum())
        return max(int(total), 1)


def plan(arch: Architecture, input_shape: tuple[int, ...]) -> Plan | None:
    """The program of an architecture for inputs of one shape; None where only the reference can do it.

    Example:
        >>> import priorscope as ps
        >>> from priorscope.models.kernels._plan import plan
        >>> plan(ps.models.gap(depth=2), (3, 8, 8)).n_stages
        1
    """
    found = plan_or_reason(arch, input_shape)
    return found if isinstance(found, Plan) else None


def obstacle(arch: Architecture, input_shape: tuple[int, ...]) -> str | None:
    """What keeps an architecture from the fused path, in words; None where nothing does.

    Example:
        >>> import priorscope as ps
        >>> from priorscope.models.kernels._plan import obstacle
        >>> obstacle(ps.models.Architecture("a", (ps.models.Dropout(0.1), ps.models.Dense())), (3,))
        'Dropout'
    """
    found = plan_or_reason(arch, input_shape)
    return found if isinstance(found, str) else None


def plan_or_reason(arch: Architecture, input_shape: tuple[int, ...]) -> Plan | str:
    """The program, or what keeps the architecture from having one; kept for the next call where nothing in it can change.

    A program is a tenth to a quarter of the time of a small kernel.
    """
    try:
        lasting = _of_values(arch)
    except TypeError:  # a part that cannot be hashed
        lasting = False
    return _kept(arch, tuple(input_shape)) if lasting else _built(arch, tuple(input_shape))


def _built(arch: Architecture, input_shape: tuple[int, ...]) -> Plan | str:
    try:
        return build(arch, input_shape)
    except NotFused as found:
        return str(found)


_kept = lru_cache(maxsize=16)(_built)


@lru_cache(maxsize=64)
def _of_values(part: object) -> bool:
    """Whether all of this is numbers, words and frozen records of them: a module or a function inside may change."""
    if isinstance(part, tuple):
        return all(map(_of_values, part))
    if is_dataclass(part) and not isinstance(part, type):
        settings = vars(type(part)).get("__dataclass_params__")  # its own: a class derived from a record may hold more
        frozen = settings is not None and bool(settings.frozen)
        return frozen and all(_of_values(getattr(part, field.name)) for field in fields(part))
    return part is None or isinstance(part, int | float | str)


def build(arch: Architecture, input_shape: tuple[int, ...]) -> Plan:
    """Have the layers write their program, and tabulate its stages and schedules."""
    layers = arch.layers
    if layers and type(layers[0]) is Flatten:
        input_shape, layers = (prod(input_shape),), layers[1:]
    body = Sequential(layers)
    program = Program(len(input_shape) == 2, multiples=list(body.stage_strides()))
    if len(input_shape) > 1:
        space = program.frame((1, input_shape[1]) if program.one_dimensional else (input_shape[1], input_shape[2]))
    else:
        space = Space()
        program.start_head()
    first_frame = space.frame
    lower(body, program, 0, space)
    if program.spatial:
        raise NotFused("pixels at the end")
    steps, stages = program.step_array(), program.stage_array()
    numbers = np.array(program.numbers, dtype=np.float64).reshape(-1, code.N_FLOATS)
    everywhere = program.everywhere
    later = [bool((steps["code"][stage["stop"] :] == code.EXPECT).any()) for stage in stages]
    return Plan(
        frame=first_frame,
        steps=steps,
        numbers=numbers,
        scales=np.array(program.scales, dtype=np.float64),
        pairs=schedule(stages, everywhere),
        selves=schedule(stages, [a and b for a, b in zip(everywhere, later)], later),
        head=(program.head, len(steps)),
        head_variances=program.head_variances,
        n_registers=program.n_registers,
        n_variances=program.n_variances,
        size=program.size,
        chain=chain(steps, numbers, stages, everywhere),
    )


def chain(steps: np.ndarray, numbers: np.ndarray, stages: np.ndarray, everywhere: list[bool]) -> np.ndarray | None:
    """The numbers of a chain: circular 3x3 filters, a rectifier after each, then all pairs of pixels summed; None for others."""
    if len(stages) != 1 or not everywhere[0]:
        return None
    stage = stages[0]
    height, width, stop = int(stage["height"]), int(stage["width"]), int(stage["stop"])
    if stop < 2 or stop % 2 or min(height, width) < 3:
        return None
    ends = [int(stage[name]) for name in ("end_height", "end_width", "top", "bottom", "left", "right")]
    if ends != [height, width, 0, height, 0, width]:  # unpadded filters use a part of the frame
        return None
    filters, rectifiers = steps[:stop:2], steps[1:stop:2]
    plain = {
        "code": code.CONV, "register": 0, "height": height, "width": width, "taps_y": 3, "low_y": 1, "taps_x": 3, "low_x": 1,
        "stride_y": 1, "stride_x": 1, "offset_y": 0, "offset_x": 0, "padding": code.CIRCULAR,
    }  # fmt: skip
    rectified = {"code": code.EXPECT, "register": 0, "kind": code.RECTIFIER}
    for rows, wanted in ((filters, plain), (rectifiers, rectified)):
        if any((rows[name] != value).any() for name, value in wanted.items()):
            return None
    return np.concatenate([numbers[:stop:2, :2], numbers[1:stop:2, :2]], 1)

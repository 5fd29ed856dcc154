"""Chooses the path, cuts the kernel into blocks and has them computed: here, by an executor, to memory or to disk."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.contracts import TaskExecutor
from priorscope.models.kernels._average import Average
from priorscope.models.kernels._estimate import LONG_SECONDS, available_memory, block_size, estimate
from priorscope.models.kernels._kernel import Kernel
from priorscope.models.kernels._matrix_file import MatrixFile, fingerprint, recorded_block
from priorscope.models.kernels._plan import Plan, plan_or_reason
from priorscope.models.kernels._range import narrowed
from priorscope.models.kernels._reference import check_inputs, reference_kernel
from priorscope.models.kernels._resolution import check_resolution
from priorscope.models.kernels._submit import Task, submitter
from priorscope.models.kernels.fused import OutOfRange, fused_average, fused_kernel

if TYPE_CHECKING:
    from priorscope.models.architectures._architecture import Architecture

__all__ = ["compute_block", "compute_kernel"]

HOURS = 3600.0  # seconds from which the time is told by a warning
PATHS = ("auto", "reference", "fused")

Block = tuple[int, int, int, int]  # rows start and stop, columns start and stop
Arguments: TypeAlias = "tuple[Architecture, Tensor, Tensor | None, tuple[str, ...], str, Plan | None, Average | None]"


def choose_path(arch: Architecture, x1: Tensor, x2: Tensor | None, path: str) -> Plan | None:
    """The fused program where it applies: CPU inputs without gradient and layers that all have a fused step."""
    if path not in PATHS:
        raise ValueError(f"path must be one of {PATHS}; got {path!r}.")
    if path == "reference":
        return None
    tracked = torch.is_grad_enabled() and (x1.requires_grad or (x2 is not None and x2.requires_grad))
    if x1.device.type != "cpu" or (x2 is not None and x2.device.type != "cpu"):
        obstacle = f"inputs are on {x1.device}"
    elif tracked:
        obstacle = "gradients are asked for"
    else:
        program = plan_or_reason(arch, tuple(x1.shape[1:]))
        if isinstance(program, Plan):
            return program
        obstacle = f"{arch.name} has no fused step for {program}"
    if path == "fused":
        raise ValueError(f"path='fused' is not possible here: {obstacle}. Use path='auto' or path='reference'.")
    return None


def compute_block(
    arch: Architecture,
    x1: Tensor,
    x2: Tensor | None,
    kinds: tuple[str, ...],
    path: str,
    program: Plan | None = None,
    average: Average | None = None,
) -> dict[str, Tensor]:
    """One block of the kernels, in the inputs' dtype, computed in float64; ``program`` where it is known already.

    At scales that the compiled formulas do not cover the reference computes the block too: it has the digits, or says which
    layer loses them. ``average`` has the moves over which the block is the mean.
    """
    if path == "reference":
        return reference_average(arch, x1, x2, kinds, average)
    if program is None:
        built = plan_or_reason(arch, tuple(x1.shape[1:]))
        assert isinstance(built, Plan)
        program = built
    first = _doubled(x1)
    second = None if x2 is None else _doubled(x2)
    dtype = np.float32 if x1.dtype == torch.float32 else np.float64
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            if average is None:
                nngp, ntk = fused_kernel(program, first, second, "ntk" in kinds, dtype)
            else:
                whole = first if second is None else second
                firsts = [first, *(_doubled(move(x1)) for move in average.left[1:])]
                seconds = [whole, *(_doubled(move(x1 if x2 is None else x2)) for move in average.moves[1:])]
                nngp, ntk = fused_average(program, firsts, seconds, "ntk" in kinds, dtype, symmetric=x2 is None)
    except OutOfRange:
        return reference_in_pieces(arch, x1, x2, kinds, average)
    found = {kind: torch.from_numpy(value) for kind, value in (("nngp", nngp), ("ntk", ntk)) if kind in kinds}
    if not all(sound(value, x1.dtype, first) for value in found.values()):
        return reference_in_pieces(arch, x1, x2, kinds, average)
    return {kind: narrowed(value, x1.dtype) for kind, value in found.items()}


def reference_average(
    arch: Architecture, x1: Tensor, x2: Tensor | None, kinds: tuple[str, ...], average: Average | None
) -> dict[str, Tensor]:
    """A block by the reference, averaged over moves where there are any; exactly symmetric where ``x2`` is None."""
    if average is None:
        kernel = reference_kernel(arch, x1, x2, kinds)
        return {kind: getattr(kernel, kind) for kind in kinds}
    second = x1 if x2 is None else x2
    totals: dict[str, Tensor] = {}
    for left in average.left:
        for right in average.moves:
            itself = x2 is None and left is right
            moved = left(x1)
            kernel = reference_kernel(arch, moved, None if itself else right(second), kinds)
            for kind in kinds:
                value = getattr(kernel, kind) / average.times
                totals[kind] = totals[kind] + value if kind in totals else value
    if x2 is None:
        totals = {kind: (value + value.mT) / 2 for kind, value in totals.items()}
    return totals


def sound(value: Tensor, dtype: torch.dtype, x: np.ndarray) -> bool:
    """Whether all entries are finite and the largest has all its digits; zero only for zero inputs."""
    size = float(value.abs().max())
    return isfinite(size) and (size >= torch.finfo(dtype).tiny or (size == 0 and not x.any()))


def reference_in_pieces(
    arch: Architecture, x1: Tensor, x2: Tensor | None, kinds: tuple[str, ...], average: Average | None = None
) -> dict[str, Tensor]:
    """A block by the reference, cut so that its working memory suffices."""
    n1, n2 = len(x1), len(x1 if x2 is None else x2)
    size = block_size(arch, tuple(x1.shape[1:]), None, available_memory() // 2, max(n1, n2))
    if size >= max(n1, n2):
        return reference_average(arch, x1, x2, kinds, average)
    target = Memory(kinds, n1, n2, x1)
    blocks = cut(n1, n2, size, x2 is None)
    for b, values in run_blocks(arch, x1, x2, kinds, "reference", blocks, None, average=average):
        target.put(b, values, mirror=x2 is None)
    return target.values


def cut(n1: int, n2: int, size: int, symmetric: bool) -> list[Block]:
    """Blocks that cover the matrix; of a symmetric one those on and above the diagonal."""
    rows = [(a, min(a + size, n1)) for a in range(0, n1, size)]
    columns = [(a, min(a + size, n2)) for a in range(0, n2, size)]
    return [(*r, *c) for r in rows for c in columns if not symmetric or c[0] >= r[0]]


def compute_kernel(
    arch: Architecture,
    x1: Tensor,
    x2: Tensor | None = None,
    *,
    kinds: tuple[str, ...] = ("nngp", "ntk"),
    path: str = "auto",
    dtype: torch.dtype | None = None,
    block: int | None = None,
    out: str | os.PathLike[str] | None = None,
    executor: TaskExecutor | None = None,
    progress: bool | None = None,
    memory: float | None = None,
    average: Average | None = None,
) -> Kernel:
    """The kernels between two batches; see :meth:`Architecture.kernel`. ``average`` has moves over which they are means."""
    check_inputs(x1, "x1")
    if x2 is not None:
        check_inputs(x2, "x2")
        if x1.shape[1:] != x2.shape[1:]:
            raise ValueError(
                f"kernel needs two batches of the same input shape; got {tuple(x1.shape[1:])} and {tuple(x2.shape[1:])}."
            )
    if len(x1) == 0 or (x2 is not None and len(x2) == 0):
        raise ValueError("kernel needs at least one input in each batch; got none.")
    if block is not None and block < 1:
        raise ValueError(f"block must be a positive number of inputs; got {block!r}.")
    if dtype is not None:
        x1, x2 = x1.to(dtype), None if x2 is None else x2.to(dtype)
    shape = tuple(x1.shape[1:])
    arch.check_input_shape(shape)
    program = choose_path(arch, x1, x2, path)
    chosen = "reference" if program is None else "fused"
    check_resolution(arch, x1, x2)
    n1, n2 = len(x1), len(x1 if x2 is None else x2)
    if out is not None and block is None:
        block = recorded_block(Path(out))  # of a run to go on with
    guess = estimate(
        arch,
        n1,
        None if x2 is None else n2,
        shape,
        path=chosen,
        memory=memory,
        block=block,
        on_disk=out is not None,
        spread=executor is not None,
        kinds=kinds,
        item_bytes=x1.element_size(),
        program=program,
        times=1 if average is None else average.times,
    )
    if not guess.fits:
        advice = (
            "give a smaller block" if block else ("use fewer inputs at once" if out else "write to a file with out=")
        )
        raise MemoryError(
            f"this kernel needs about {guess.memory / 1e9:.3g} GB and {guess.available / 1e9:.3g} GB may be used; "
            f"{advice}, ask for one kind only, or allow more with memory=."
        )
    if guess.seconds > HOURS:
        warnings.warn(
            f"the kernel of {arch.name} for {n1} x {n2} inputs will take some {guess.seconds / 3600:.2g} hours ({guess}); "
            "smaller or fewer inputs, an executor, or a file with out= that a later run goes on with may help.",
            stacklevel=3,
        )
    whole = out is None and executor is None and guess.block >= max(n1, n2)
    if whole:
        return Kernel(**compute_block(arch, x1, x2, kinds, chosen, program, average))
    blocks = cut(n1, n2, guess.block, x2 is None)
    target: Any
    if out is None:
        target = Memory(kinds, n1, n2, x1)
        todo = blocks
    else:
        key = fingerprint(arch, x1, x2, kinds, chosen, guess.block, average)
        target = MatrixFile(Path(out), kinds, (n1, n2), x1.dtype, key, guess.block)
        todo = [b for b in blocks if not target.has(b)]
    show = progress if progress is not None else guess.seconds > LONG_SECONDS
    over = "" if average is None else f" averaged over {average.name}"
    title = f"{arch.name}{over}, {n1} x {n2} inputs"
    with progress_bar(show, title, str(guess), len(blocks), len(blocks) - len(todo)) as advance:
        for b, values in run_blocks(arch, x1, x2, kinds, chosen, todo, executor, program, average):
            target.put(b, values, mirror=x2 is None)
            advance()
    found: Kernel = target.kernel()
    return found


class Memory:
    """Results held in tensors."""

    def __init__(self, kinds: tuple[str, ...], n1: int, n2: int, like: Tensor) -> None:
        self.values = {kind: torch.empty(n1, n2, dtype=like.dtype, device=like.device) for kind in kinds}
        self.parts: dict[str, dict[Block, Tensor]] | None = {kind: {} for kind in kinds} if like.requires_grad else None

    def put(self, block: Block, values: dict[str, Tensor], mirror: bool) -> None:
        a, b, c, d = block
        for kind, value in values.items():
            self.values[kind][a:b, c:d] = value
            if mirror and a != c:
                self.values[kind][c:d, a:b] = value.mT

    def kernel(self) -> Kernel:
        return Kernel(**self.values)


def _doubled(x: Tensor) -> NDArray[np.float64]:
    """A batch as the compiled path reads it."""
    return np.ascontiguousarray(x.detach().double().numpy())


def run_blocks(
    arch: Architecture,
    x1: Tensor,
    x2: Tensor | None,
    kinds: tuple[str, ...],
    path: str,
    blocks: list[Block],
    executor: TaskExecutor | None,
    program: Plan | None = None,
    average: Average | None = None,
) -> Iterator[tuple[Block, dict[str, Tensor]]]:
    """Blocks with their values, as they are done."""

    def arguments(b: Block) -> Arguments:
        first = x1[b[0] : b[1]]
        if x2 is None:
            second = None if b[:2] == b[2:] else x1[b[2] : b[3]]
        else:
            second = x2[b[2] : b[3]]
        # a worker elsewhere builds the program again, which is quicker than sending it
        return arch, first, second, kinds, path, program if executor is None else None, average

    if executor is None:
        for b in blocks:
            yield b, compute_block(*arguments(b))
        return
    submit, results = submitter(executor)
    waiting: dict[Task, Block] = {}
    queue = iter(blocks)
    ahead = 64  # blocks in flight, so that inputs and results of a long run are not all held at once
    try:
        for b in queue:
            waiting[submit(compute_block, *arguments(b))] = b
            if len(waiting) >= ahead:
                for done in results(waiting):
                    yield waiting.pop(done), done.result()
        while waiting:
            for done in results(waiting):
                yield waiting.pop(done), done.result()
    finally:
        for future in waiting:
            future.cancel()


@contextmanager
def progress_bar(show: bool, title: str, cost: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    """What it will cost, then a bar with the time left on the terminal; or nothing."""
    if not show:
        yield lambda: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns) as bar:
        bar.console.print(f"kernel of {title}: {cost}", markup=False, highlight=False)
        task = bar.add_task(f"kernel of {title}, blocks", total=total, completed=done)
        yield lambda: bar.advance(task)

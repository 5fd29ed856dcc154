"""Time and memory of a kernel, before it is computed."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import TYPE_CHECKING

import torch

from priorscope.machine import free_memory
from priorscope.models.kernels._plan import Plan, plan_or_reason

if TYPE_CHECKING:
    from priorscope.models.architectures._architecture import Architecture

__all__ = ["Estimate", "available_memory", "block_size", "estimate"]

# Seconds for one step on one pixel of one pair, one core, measured on an AMD EPYC with AVX2: global pooling on 8x8 images,
# 2026. Other machines and layers differ by some 3x.
FUSED_SECONDS = 4e-9
CHAIN_SECONDS = 1e-9  # circular 3x3 filters with rectifiers
REFERENCE_SECONDS = 2e-7
LONG_SECONDS = 5.0  # work above this is cut into pieces and shows a progress bar
PIECES = 12  # blocks along each side at most, for long work, files and executors
PIECE_SECONDS = 0.2  # what a block should take at least, so that writing and waiting do not count
REFERENCE_COPIES = 6  # arrays of one covariance's size alive at once in the reference


@dataclass(frozen=True)
class Estimate:
    """What a kernel will cost: ``seconds`` (rough, within some 3x), ``memory`` (bytes at the peak, results
    included), ``path``, ``block``.

    Example:
        >>> import priorscope as ps
        >>> guess = ps.models.gap(depth=3).estimate(100, None, (3, 8, 8))
        >>> guess.path, guess.seconds < 60, guess.fits
        ('fused', True, True)
    """

    path: str
    seconds: float
    memory: int  # bytes at the peak
    result_bytes: int
    block: int  # inputs on each side of a block
    available: int  # bytes that may be used
    unfused: str = ""  # what keeps it from the fused path, if anything

    @property
    def fits(self) -> bool:
        """Whether the memory suffices."""
        return self.memory <= self.available

    def __str__(self) -> str:
        why = f" (no fused step for {self.unfused})" if self.unfused else ""
        return (
            f"{self.path} path{why}: about {self.seconds:.3g} s, {self.memory / 1e9:.3g} GB "
            f"({self.result_bytes / 1e9:.3g} GB of results) of {self.available / 1e9:.3g} GB, blocks of {self.block}"
        )


def available_memory(memory: float | None = None) -> int:
    """Bytes that a kernel may use: what was given, or four fifths of what the machine has free."""
    if memory is not None:
        if memory <= 0:
            raise ValueError(f"memory must be a positive number of bytes; got {memory!r}.")
        return int(memory)
    return int(0.8 * free_memory())


def bytes_per_pair(arch: Architecture, input_shape: tuple[int, ...]) -> int:
    """Working memory of the reference for one pair of inputs (float64)."""
    needs = arch.body.needs(0)  # type: ignore[arg-type]
    shape, most = tuple(input_shape), 1
    for layer, need in zip(arch.layers, needs):
        pixels = prod(shape[1:])
        most = max(most, pixels**2 if int(need) == 2 else pixels)
        shape = layer.output_shape(shape)
    return 8 * most * REFERENCE_COPIES


def block_size(arch: Architecture, input_shape: tuple[int, ...], fused: Plan | None, budget: int, n: int) -> int:
    """Inputs on each side of a block whose working memory keeps to ``budget`` bytes; at least one."""
    if fused is not None:
        per_input = 8 * (4 * fused.n_variances + 4 * prod(fused.frame) * input_shape[0] + 16)
        limit = int(min(budget / (2 * per_input), (budget / 64) ** 0.5))
    else:
        limit = int((budget / bytes_per_pair(arch, input_shape)) ** 0.5)
    return max(1, min(n, limit))


def seconds_per_pair(arch: Architecture, input_shape: tuple[int, ...], fused: Plan | None) -> float:
    """On one core."""
    if fused is None:
        numbers = bytes_per_pair(arch, input_shape) / 8 / REFERENCE_COPIES
        return numbers * len(arch.layers) * REFERENCE_SECONDS
    seconds = fused.work * (CHAIN_SECONDS if fused.chain is not None else FUSED_SECONDS)
    return seconds + (0.0 if fused.n_stages else prod(input_shape) * 1e-10)


def estimate(
    arch: Architecture,
    n1: int,
    n2: int | None,
    input_shape: tuple[int, ...],
    *,
    path: str = "auto",
    memory: float | None = None,
    block: int | None = None,
    on_disk: bool = False,
    spread: bool = False,
    kinds: tuple[str, ...] = ("nngp", "ntk"),
    item_bytes: int = 4,
    program: Plan | str | None = None,
    times: int = 1,
) -> Estimate:
    """Cost of ``arch.kernel`` for n1 by n2 inputs (``n2=None``: symmetric); ``spread`` when an executor computes the blocks.

    ``program`` is the plan, or what stands against one, where it is known already; ``times`` how many such kernels are averaged.

    Example:
        >>> import priorscope as ps
        >>> print(ps.models.fcn(depth=2).estimate(10, 10, (5,), memory=1e9).block)
        10
    """
    shape = tuple(int(s) for s in input_shape)
    arch.check_input_shape(shape)
    if path == "reference":
        found: Plan | str = ""
    else:
        found = plan_or_reason(arch, shape) if program is None else program
    fused = found if isinstance(found, Plan) else None
    columns = n1 if n2 is None else n2
    pairs = n1 * (n1 + 1) / 2 if n2 is None else n1 * columns
    available = available_memory(memory)
    result = len(kinds) * n1 * columns * item_bytes
    held = 0 if on_disk else result
    most = max(n1, columns)
    size = block or block_size(arch, shape, fused, max((available - held) // 2, 1), most)
    seconds = times * pairs * seconds_per_pair(arch, shape, fused) / torch.get_num_threads()
    if block is None and (on_disk or spread or seconds > LONG_SECONDS):
        pieces = min(PIECES, max(4 if spread else 1, ceil((2 * seconds / PIECE_SECONDS) ** 0.5)))
        size = min(size, -(-most // pieces))
    rows, cols = min(size, n1), min(size, columns)
    if fused is not None:
        per_input = 8 * (4 * fused.n_variances + 4 * prod(fused.frame) * shape[0])
        lanes = 16
        per_thread = (
            8 * lanes * (fused.pairs.tile_size * 2 + 6 * fused.n_variances + (2 * fused.n_registers + 2) * fused.size)
        )  # more than a chain takes, with its 8 lanes
        peak = (
            held
            + (rows + cols) * per_input * (2 if times > 1 else 1)
            + 32 * rows * cols
            + torch.get_num_threads() * per_thread
        )
    else:
        per_pair = bytes_per_pair(arch, shape)
        peak = held + rows * cols * per_pair
    return Estimate(
        "fused" if fused is not None else "reference",
        float(seconds),
        int(peak),
        int(result),
        size,
        available,
        found if isinstance(found, str) else "",
    )

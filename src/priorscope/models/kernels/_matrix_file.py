"""Kernels on disk, written block by block, with a record of the finished blocks so that a killed run goes on where it was.

``out="k.npy"`` gives one memory-mapped file per kind (``k.nngp.npy``, ``k.ntk.npy``; just ``k.npy`` for a single kind),
``out="k.zarr"`` a Zarr group with one array per kind. The record stands beside: ``k.npy.blocks``, one line per block, the first
line saying what is computed.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.models.kernels._average import Average
from priorscope.models.kernels._kernel import Kernel
from priorscope.writing import write_whole

if TYPE_CHECKING:
    from priorscope.models.architectures._architecture import Architecture

__all__ = ["MatrixFile", "fingerprint", "recorded_block"]


def fingerprint(
    arch: Architecture,
    x1: Tensor,
    x2: Tensor | None,
    kinds: tuple[str, ...],
    path: str,
    block: int,
    average: Average | None = None,
) -> dict[str, object]:
    """What decides the numbers in a file: layers, inputs, moves over which it is the mean, kinds and dtype."""
    digest = hashlib.sha256(repr(arch.layers).encode())
    for move in () if average is None else average.moves:  # known by what they do to the first input
        digest.update(np.ascontiguousarray(move(x1[:1]).detach().cpu().numpy()).tobytes())
    for x in (x1, x2):
        digest.update(b"none" if x is None else repr((tuple(x.shape), str(x.dtype))).encode())
        if x is not None:
            digest.update(np.ascontiguousarray(x.detach().cpu().numpy()).tobytes())
    return {"content": digest.hexdigest(), "kinds": list(kinds), "dtype": str(x1.dtype), "path": path, "block": block}


def record_of(path: Path) -> Path:
    """The record of finished blocks beside a file."""
    return path.with_name(path.name + ".blocks")


def recorded_block(path: Path) -> int | None:
    """Inputs a block in a file that was begun; None where there is none."""
    record = record_of(path)
    if not record.exists():
        return None
    line, newline, _ = record.read_text().partition("\n")
    return int(json.loads(line)["block"]) if newline else None


class OnDisk(Protocol):
    """A matrix in a file, as numpy and zarr give it: written and read by slices."""

    def __setitem__(self, at: tuple[slice, slice], values: NDArray[np.floating]) -> None: ...


class MatrixFile:
    """Matrices ``(n1, n2)`` on disk and their record of finished blocks."""

    def __init__(
        self,
        path: Path,
        kinds: tuple[str, ...],
        shape: tuple[int, int],
        dtype: torch.dtype,
        key: dict[str, object],
        block: int,
    ) -> None:
        """Open the file, anew or where an unfinished run of the same kernel left it."""
        if path.suffix not in (".npy", ".zarr"):
            raise ValueError(f"out needs a name that ends in .npy or .zarr; got {str(path)!r}.")
        if not path.parent.exists():
            raise FileNotFoundError(f"the folder of out={str(path)!r} does not exist; make it first.")
        self.path, self.kinds, self.shape = path, kinds, shape
        self.dtype = torch.empty((), dtype=dtype).numpy().dtype
        self.record = record_of(path)
        self.done: set[tuple[int, ...]] = set()
        resume = self._read_record(key)
        self.arrays = {kind: self._open(kind, resume, block) for kind in kinds}
        if not resume:
            self._append(json.dumps(key))

    def _read_record(self, key: dict[str, object]) -> bool:
        """Whether there is a started file of the same kernel; refuses one of another."""
        if not self.record.exists():
            if self.path.exists() or any(self._name(kind).exists() for kind in self.kinds):
                raise FileExistsError(
                    f"{self.path} exists and has no record of blocks, so it cannot be gone on with. "
                    "Remove it or choose another name."
                )
            return False
        # a line cut off by the kill has no newline: it does not count, and goes
        text = self.record.read_text()
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            write_whole(self.record, whole)
        lines = whole.splitlines()
        if not lines:
            return False
        old = json.loads(lines[0])
        if old != key:
            differ = [name for name in key if old.get(name) != key[name]]
            words = "inputs or architecture" if "content" in differ else ", ".join(differ)
            raise ValueError(
                f"{self.path} was started with other {words}; to go on, call with the same; "
                f"else remove it and {self.record.name}."
            )
        self.done = {tuple(json.loads(line)) for line in lines[1:]}
        return True

    def _name(self, kind: str) -> Path:
        single = len(self.kinds) == 1 or self.path.suffix == ".zarr"
        return self.path if single else self.path.with_name(f"{self.path.stem}.{kind}.npy")

    def _open(self, kind: str, resume: bool, block: int) -> OnDisk:
        if self.path.suffix == ".npy":
            if resume:
                found: OnDisk = np.load(self._name(kind), mmap_mode="r+")
                return found
            return np.lib.format.open_memmap(self._name(kind), mode="w+", dtype=self.dtype, shape=self.shape)
        try:
            import zarr
        except ImportError as error:
            raise ImportError("out='….zarr' needs the package zarr; install priorscope[zarr] or use .npy.") from error
        group = zarr.open_group(str(self.path), mode="a")
        if resume:
            return cast(OnDisk, group[kind])
        chunks = tuple(min(block, n) for n in self.shape)
        return group.create_array(kind, shape=self.shape, chunks=chunks, dtype=self.dtype, overwrite=True)

    def _append(self, line: str) -> None:
        with open(self.record, "a") as record:
            record.write(line + "\n")
            record.flush()
            os.fsync(record.fileno())

    def has(self, block: tuple[int, ...]) -> bool:
        """Whether a block is finished."""
        return tuple(block) in self.done

    def put(self, block: tuple[int, int, int, int], values: dict[str, Tensor], mirror: bool) -> None:
        """Write one block (and its mirror image), then say so in the record."""
        a, b, c, d = block
        for kind, value in values.items():
            numbers = value.detach().cpu().numpy()
            array = self.arrays[kind]
            array[a:b, c:d] = numbers
            if mirror and a != c:
                array[c:d, a:b] = numbers.T
            if isinstance(array, np.memmap):
                array.flush()
        self._append(json.dumps(list(block)))
        self.done.add(tuple(block))

    def kernel(self) -> Kernel:
        """The matrices as they stand on disk."""
        return Kernel(**self.arrays)

"""The idx layout of MNIST: big-endian sizes, then numbers; plain or gzipped."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np

from priorscope.data.arrays._array import AnyArray
from priorscope.data.formats._bytes import first_bytes, opened, read_exactly
from priorscope.data.formats._format import Contents, Format, ReadOptions

__all__ = ["read_idx"]

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str | Path) -> AnyArray:
    """The array in an idx file (``.gz`` or plain), in native byte order.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "labels-idx1-ubyte"
        >>> _ = file.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
        >>> read_idx(file).tolist()
        [7, 8, 9]
    """
    path = Path(path)
    with opened(path) as stream:
        start = stream.read(4)
        if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _TYPES or not start[3]:
            raise ValueError(
                f"{path.name} is not an idx file: it must start with 0, 0, a type byte, the number of axes."
            )
        sizes = stream.read(4 * start[3])
        if len(sizes) < 4 * start[3]:
            raise ValueError(f"{path.name} ends inside its header of {start[3]} axes: fetch it again.")
        shape = struct.unpack(f">{start[3]}I", sizes)
        if len(shape) > 8:
            raise ValueError(f"{path.name} declares {len(shape)} axes; an idx file of data has at most 8.")
        kind = np.dtype(_TYPES[start[2]])
        raw = read_exactly(stream, math.prod(shape) * kind.itemsize, path.name, f"shape {shape}")
    return np.frombuffer(raw, kind).reshape(shape).astype(kind.newbyteorder("="))


def read_idx_folder(folder: Path) -> tuple[tuple[AnyArray, AnyArray], tuple[AnyArray, AnyArray] | None]:
    """Training images and labels, and those of the test part where they are there."""
    images, labels = (_file(folder, ("train",), what) for what in ("images", "labels"))
    if images is None or labels is None:
        raise ValueError(f"{folder.name} needs train-images-idx3-ubyte and train-labels-idx1-ubyte (plain or .gz).")
    train = (read_idx(images), read_idx(labels))
    images, labels = (_file(folder, ("t10k", "test"), what) for what in ("images", "labels"))
    if (images is None) != (labels is None):
        there = images or labels
        assert there is not None
        raise ValueError(f"{folder.name} has {there.name} and not the other file of the test part: add or remove one.")
    return train, None if images is None or labels is None else (read_idx(images), read_idx(labels))


def _file(folder: Path, part: tuple[str, ...], what: str) -> Path | None:
    for file in sorted(folder.iterdir()):
        if any(file.name.startswith(p) for p in part) and f"{what}-idx" in file.name.replace(".", "-"):
            return file
    return None


def _knows(path: Path) -> bool:
    if path.is_dir():
        return any("-idx" in f.name.replace(".", "-") for f in path.iterdir())
    start = first_bytes(path, 4)
    plain = len(start) == 4 and start[:2] == b"\0\0" and start[2] in _TYPES and 0 < start[3] <= 8
    return "-idx" in path.name.replace(".", "-") or (not path.suffix and plain)


def _read(path: Path, options: ReadOptions) -> Contents:
    if path.is_dir():
        (x, y), test = read_idx_folder(path)
        return Contents(x, y, test)
    labels = path.with_name(path.name.replace("images", "labels").replace("idx3", "idx1"))
    if isinstance(options.target, str):
        labels = path.with_name(options.target)
    if labels == path or not labels.exists():
        raise FileNotFoundError(f"the labels of {path.name} should lie beside it as {labels.name}.")
    return Contents(read_idx(path), read_idx(labels))


IDX = Format("idx", "idx files or a folder of them (plain or .gz)", _read, knows=_knows)

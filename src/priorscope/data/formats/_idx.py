"""The idx layout of MNIST: big-endian sizes, then bytes; plain or gzipped."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["read_idx"]

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str | Path) -> NDArray:
    """The array in an idx file (``.gz`` or plain), in native byte order.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "labels-idx1-ubyte"
        >>> _ = file.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
        >>> read_idx(file).tolist()
        [7, 8, 9]
    """
    path = Path(path)
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{path.name} is not a whole gzip file ({error}); fetch it again.") from error
    if len(raw) < 4 or raw[:2] != b"\0\0" or raw[2] not in _TYPES:
        raise ValueError(f"{path.name} is not an idx file: it must start with 0, 0, a type byte, the number of axes.")
    n_axes = raw[3]
    header = 4 + 4 * n_axes
    shape = struct.unpack(f">{n_axes}I", raw[4:header]) if len(raw) >= header else ()
    kind = np.dtype(_TYPES[raw[2]])
    wanted = header + int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    if len(raw) != wanted or not shape:
        raise ValueError(f"{path.name} should hold {wanted} bytes for shape {shape}; it has {len(raw)}: fetch it again")
    return np.frombuffer(raw, kind, offset=header).reshape(shape).astype(kind.newbyteorder("="))

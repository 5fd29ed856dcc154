"""Bytes of a file, packed by gzip or plain, read in pieces so that a small file cannot fill the memory."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from priorscope.data._memory import check_memory

__all__: list[str] = []

_PIECE = 1 << 24


def first_bytes(path: Path, n: int) -> bytes:
    """The first bytes of a file as it lies on disk; nothing for a folder or a file that cannot be opened."""
    try:
        with path.open("rb") as file:
            return file.read(n)
    except OSError:
        return b""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file as a stream, unpacked when it is gzip (by its first bytes, whatever its name); a damaged one is named."""
    packed = first_bytes(path, 2) == b"\x1f\x8b"
    if path.suffix.lower() == ".gz" and not packed:
        raise ValueError(f"{path.name} is not a whole gzip file: it does not start like one; fetch it again.")
    try:
        with gzip.open(path, "rb") if packed else path.open("rb") as stream:
            yield cast(BinaryIO, stream)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} is not a whole gzip file ({error}); fetch it again.") from error


def read_bytes(path: Path, times: int = 4) -> bytes:
    """The whole file, unpacked; refused when ``times`` its size does not fit into memory."""
    pieces, total = [], 0
    with opened(path) as stream:
        while piece := stream.read(_PIECE):
            total += len(piece)
            check_memory(times * total, path.name)
            pieces.append(piece)
    return b"".join(pieces)


def read_exactly(stream: BinaryIO, n: int, name: str, what: str) -> bytes:
    """``n`` bytes of the stream; what is cut off, and what follows, is refused."""
    check_memory(n, f"{name} ({what})")
    pieces, left = [], n
    while left and (piece := stream.read(min(left, _PIECE))):  # a stream may end long before what was declared
        pieces.append(piece)
        left -= len(piece)
    raw, more = b"".join(pieces), stream.read(1)
    if len(raw) != n or more:
        came = "more" if more else f"{len(raw)}"
        raise ValueError(f"{name} should hold {n} bytes of data for {what}; it has {came}: fetch or save it again.")
    return raw

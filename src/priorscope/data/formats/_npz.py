"""Archives of arrays as ``numpy.savez`` writes them; each array is checked before it is made, nothing is unpickled."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from priorscope.data.arrays._array import AnyArray
from priorscope.data.formats._array_names import assign_roles
from priorscope.data.formats._bytes import first_bytes
from priorscope.data.formats._format import Contents, Format, ReadOptions
from priorscope.data.formats._npy import read_array, read_header

__all__: list[str] = []

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    OSError,
    KeyError,
    UnicodeDecodeError,
)


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """What a broken archive raises, as one sentence."""
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except _DAMAGE as error:
        text = " ".join(str(error).split())[:120] or type(error).__name__
        raise ValueError(f"{path.name} is not a whole .npz archive ({text}); fetch or save it again.") from error


class _Archive:
    """The arrays of an open archive, by name."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path, self.archive = path, archive
        self.members = {i.filename.removesuffix(".npy"): i for i in archive.infolist() if i.filename.endswith(".npy")}

    def shape(self, name: str) -> tuple[int, ...]:
        with self.archive.open(self.members[name]) as stream:
            return read_header(cast(BinaryIO, stream), f"{name} in {self.path.name}")[0]

    def read(self, name: str) -> AnyArray:
        member = self.members[name]
        with self.archive.open(member) as stream:
            return read_array(cast(BinaryIO, stream), member.file_size, f"{name} in {self.path.name}")


def _read(path: Path, options: ReadOptions) -> Contents:
    with _damage_named(path), zipfile.ZipFile(path) as archive:
        arrays = _Archive(path, archive)
        roles = assign_roles(list(arrays.members), arrays.shape, path.name, options.target)
        test = None if roles.test is None else (arrays.read(roles.test[0]), arrays.read(roles.test[1]))
        return Contents(arrays.read(roles.x), arrays.read(roles.y), test, notes=roles.notes)


def _knows(path: Path) -> bool:
    """A zip archive with arrays in it, whatever its name."""
    if first_bytes(path, 4) != b"PK\x03\x04" or path.suffix.lower() not in ("", ".zip"):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except (*_DAMAGE, ValueError):
        return False


NPZ = Format("npz", ".npz", _read, (".npz",), _knows)

"""Arrays as numpy saves them: the header is checked against the size of the file before anything is made; never a pickle."""

from __future__ import annotations

import math
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from priorscope.data.arrays._array import AnyArray
from priorscope.data.formats._bytes import first_bytes, read_exactly
from priorscope.data.formats._format import Contents, Format, ReadOptions
from priorscope.data.tables._frame import Frame
from priorscope.data.tables._whole import whole_number

__all__: list[str] = []

MAGIC = b"\x93NUMPY"


def read_array(stream: BinaryIO, size: int, name: str) -> AnyArray:
    """The array in a stream of ``size`` bytes; arrays of objects, cut ones and those with a wrong shape are refused."""
    shape, fortran, kind = read_header(stream, name)
    wanted = math.prod(shape) * kind.itemsize
    held = size - stream.tell()
    if wanted != held:
        raise ValueError(
            f"{name} should hold {wanted} bytes of data for shape {shape} of {kind}; it has {max(held, 0)}: it was cut off "
            "or damaged. Save it again."
        )
    raw = read_exactly(stream, wanted, name, f"shape {shape} of {kind}")
    return np.frombuffer(raw, kind).reshape(shape, order="F" if fortran else "C")


def read_header(stream: BinaryIO, name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether in Fortran order, and type, as the header declares them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an old header is read all the same
            version = npy_format.read_magic(stream)
            if version not in ((1, 0), (2, 0)):
                raise ValueError(f"version {version} of the format is not read")
            reader = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
            shape, fortran, kind = reader(stream)
    except (zipfile.BadZipFile, zlib.error):  # the archive around it is damaged
        raise
    except Exception as error:  # the parser of numpy trips over a damaged header in many ways
        text = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{name} does not start as a numpy array does ({text}). Save it again with numpy.save."
        ) from error
    if kind.hasobject:
        raise ValueError(
            f"{name} holds Python objects and cannot be read without unpickling, which could run code. "
            "Save it again with plain numeric arrays."
        )
    if any(side < 0 for side in shape) or kind.itemsize == 0:
        raise ValueError(f"{name} declares the shape {shape} of {kind}, which no array has. Save it again.")
    return shape, fortran, kind


def read_npy(path: Path) -> AnyArray:
    """The array of an ``.npy`` file."""
    with path.open("rb") as stream:
        return read_array(stream, path.stat().st_size, path.name)


def split_columns(array: AnyArray, target: str | int | None, name: str) -> tuple[AnyArray, AnyArray]:
    """Inputs and targets of an array (n, columns) with the target in column ``target``, the last by default."""
    if array.ndim != 2 or array.shape[1] < 2:
        raise ValueError(
            f"{name} has shape {array.shape}; a single array needs shape (n, columns) with the target as one "
            "column (target=, the last by default). For images, pass target='labels.npy', a file beside it."
        )
    column = -1 if target is None else target
    if not isinstance(column, int) or isinstance(column, bool) or not -array.shape[1] <= column < array.shape[1]:
        raise ValueError(
            f"{name} has columns 0 to {array.shape[1] - 1}; the target cannot be column {column!r}. "
            "Pass target= as a position."
        )
    return np.delete(array, column, axis=1), array[:, column]


def _read(path: Path, options: ReadOptions) -> Contents | Frame:
    """Read inputs and targets from one array: fields, a file beside it, or one of its columns."""
    array = read_npy(path)
    target = options.target
    if array.dtype.names:
        return _fields(array, path.name)
    if isinstance(target, str) and whole_number(target):
        target = int(target)
    if isinstance(target, str):
        beside = path.parent / target
        if not beside.is_file():
            raise FileNotFoundError(f"no file {target} with the targets beside {path.name}; got target={target!r}.")
        return Contents(array, read_npy(beside))
    x, y = split_columns(array, target, path.name)
    last = array.shape[1] - 1
    told = f"target: the last column, {last}" if target is None else f"target: column {target % (last + 1)}"
    return Contents(x, y, notes=(told,))


def _fields(array: AnyArray, name: str) -> Frame:
    """A structured array as a table with the names of its fields."""
    import pandas as pd

    nested = [n for n in array.dtype.names or () if array.dtype[n].shape or array.dtype[n].names]
    if array.ndim != 1 or nested:
        raise ValueError(
            f"{name} is a structured array of shape {array.shape}; it needs one axis and one value per field"
            f"{' (not in ' + ', '.join(nested) + ')' if nested else ''}."
        )
    fields = {n: array[n].astype(array.dtype[n].newbyteorder("=")) for n in array.dtype.names or ()}
    return Frame.of(pd.DataFrame(fields), name)


def _knows(path: Path) -> bool:
    return first_bytes(path, len(MAGIC)) == MAGIC


NPY = Format("npy", ".npy", _read, (".npy",), _knows)

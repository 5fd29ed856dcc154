"""The binary layout of CIFAR-10: records of one label byte and 3 × 32 × 32 pixel bytes, channels first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from priorscope.data._memory import check_memory
from priorscope.data.arrays._array import AnyArray
from priorscope.data.formats._format import Contents, Format, ReadOptions

__all__ = ["read_cifar_binary"]

RECORD = 1 + 3 * 32 * 32


def read_cifar_binary(path: str | Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images (n, 3, 32, 32) and labels (n,) of one batch file.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "data_batch_1.bin"
        >>> _ = file.write_bytes(bytes([5]) + bytes(3072) + bytes([7]) + bytes(3072))
        >>> images, labels = read_cifar_binary(file)
        >>> images.shape, labels.tolist()
        ((2, 3, 32, 32), [5, 7])
    """
    path = Path(path)
    size = path.stat().st_size
    if size == 0 or size % RECORD:
        raise ValueError(
            f"{path.name} is not in the CIFAR-10 binary layout: {size} bytes is no multiple of {RECORD} "
            "(one label and 3 × 32 × 32 pixels). The pickled layout is never read; get the binary version."
        )
    check_memory(size, path.name)
    records = np.fromfile(path, np.uint8).reshape(-1, RECORD)
    if int(records[:, 0].max()) > 9:
        raise ValueError(f"{path.name} holds the label {int(records[:, 0].max())}; CIFAR-10 has labels 0 to 9.")
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].copy()


def read_cifar_folder(folder: Path) -> tuple[tuple[AnyArray, AnyArray], tuple[AnyArray, AnyArray] | None]:
    """All data_batch_*.bin as training data, test_batch.bin as test data."""
    batches = [read_cifar_binary(f) for f in sorted(folder.glob("data_batch_*.bin"))]
    if not batches:
        raise ValueError(f"{folder.name} needs data_batch_1.bin … data_batch_5.bin of the CIFAR-10 binary version.")
    train = (np.concatenate([b[0] for b in batches]), np.concatenate([b[1] for b in batches]))
    test = folder / "test_batch.bin"
    return train, read_cifar_binary(test) if test.exists() else None


def _read(path: Path, options: ReadOptions) -> Contents:
    if path.is_dir():
        (x, y), test = read_cifar_folder(path)
        return Contents(x, y, test, layout="channels_first")
    return Contents(*read_cifar_binary(path), layout="channels_first")


def _knows(path: Path) -> bool:
    return path.is_dir() and any(path.glob("*.bin"))


CIFAR_BINARY = Format("CIFAR-10 binary", "CIFAR-10 .bin or a folder of its batches", _read, (".bin",), _knows)

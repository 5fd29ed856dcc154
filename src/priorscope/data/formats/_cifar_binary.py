"""The binary layout of CIFAR-10: records of one label byte and 3 × 32 × 32 pixel bytes, channels first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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
    raw = np.fromfile(path, np.uint8)
    if len(raw) == 0 or len(raw) % RECORD:
        raise ValueError(
            f"{path.name} is not in the CIFAR-10 binary layout: {len(raw)} bytes is no multiple of {RECORD} "
            "(one label and 3 × 32 × 32 pixels). The pickled layout is never read; get the binary version."
        )
    records = raw.reshape(-1, RECORD)
    if int(records[:, 0].max()) > 9:
        raise ValueError(f"{path.name} holds the label {int(records[:, 0].max())}; CIFAR-10 has labels 0 to 9.")
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].copy()

"""One door for files: look at a path, see which layout it has, read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from priorscope.data._dataset import Dataset
from priorscope.data.arrays._from_arrays import from_arrays
from priorscope.data.formats._cifar_binary import read_cifar_binary
from priorscope.data.formats._csv import read_csv
from priorscope.data.formats._idx import read_idx
from priorscope.data.formats._image_folder import class_folders, common_size, read_image_folder

__all__ = ["load"]

_INPUT_KEYS = ("x", "inputs", "data", "images", "features")
_TARGET_KEYS = ("y", "targets", "target", "labels", "label")
_KNOWN = (
    ".npz, .npy, idx (plain or .gz), CIFAR-10 .bin, .csv or .tsv (plain or .gz), or a folder of such files or images"
)
_Pair = tuple[Any, Any]


def _open_numpy(path: Path) -> Any:
    """np.load that never unpickles."""
    try:
        return np.load(path, allow_pickle=False)
    except ValueError as error:
        raise ValueError(
            f"{path.name} cannot be read without unpickling, which could run code ({error}). "
            "Save it again with plain numeric arrays."
        ) from error


def _pick(arrays: Any, names: tuple[str, ...], part: str) -> NDArray | None:
    by_lower = {k.lower(): k for k in arrays}
    for name in names:
        forms = (f"{name}_{part}", f"{part}_{name}") if part else (name,)
        for form in forms:
            if form in by_lower:
                return arrays[by_lower[form]]
    return None


def _read_npz(path: Path) -> tuple[_Pair, _Pair | None]:
    with _open_numpy(path) as arrays:
        try:
            x, y = _pick(arrays, _INPUT_KEYS, "train"), _pick(arrays, _TARGET_KEYS, "train")
            xt, yt = _pick(arrays, _INPUT_KEYS, "test"), _pick(arrays, _TARGET_KEYS, "test")
            if x is None or y is None:
                x, y = _pick(arrays, _INPUT_KEYS, ""), _pick(arrays, _TARGET_KEYS, "")
        except ValueError as error:
            raise ValueError(f"{path.name} cannot be read without unpickling ({error}). Save plain arrays.") from error
        if x is None or y is None:
            raise ValueError(
                f"{path.name} needs arrays for inputs ({', '.join(_INPUT_KEYS)}) and targets "
                f"({', '.join(_TARGET_KEYS)}), plain or with _train and _test; it holds "
                f"{', '.join(arrays) or 'nothing'}."
            )
        return (x, y), (None if xt is None or yt is None else (xt, yt))


def _read_npy(path: Path, target: str | int | None) -> _Pair:
    array = _open_numpy(path)
    if isinstance(target, str):
        return array, _open_numpy(path.parent / target)
    if array.ndim != 2 or array.shape[1] < 2:
        raise ValueError(
            f"{path.name} has shape {array.shape}; a single .npy file needs shape (n, columns) with the target as one "
            "column (target=, the last by default). For images, pass target='labels.npy', a file beside it."
        )
    column = -1 if target is None else target
    return np.delete(array, column, axis=1), array[:, column]


def _idx_files(folder: Path, part: tuple[str, ...], what: str) -> Path | None:
    for file in sorted(folder.iterdir()):
        if any(file.name.startswith(p) for p in part) and f"{what}-idx" in file.name.replace(".", "-"):
            return file
    return None


def _read_idx_folder(folder: Path) -> tuple[_Pair, _Pair | None]:
    train = [_idx_files(folder, ("train",), what) for what in ("images", "labels")]
    test = [_idx_files(folder, ("t10k", "test"), what) for what in ("images", "labels")]
    if train[0] is None or train[1] is None:
        raise ValueError(f"{folder.name} needs train-images-idx3-ubyte and train-labels-idx1-ubyte (plain or .gz).")
    pair = (read_idx(train[0]), read_idx(train[1]))
    return pair, None if test[0] is None or test[1] is None else (read_idx(test[0]), read_idx(test[1]))


def read_cifar_folder(folder: Path) -> tuple[_Pair, _Pair | None]:
    """All data_batch_*.bin as training data, test_batch.bin as test data."""
    batches = [read_cifar_binary(f) for f in sorted(folder.glob("data_batch_*.bin"))]
    if not batches:
        raise ValueError(f"{folder.name} needs data_batch_1.bin … data_batch_5.bin of the CIFAR-10 binary version.")
    train = (np.concatenate([b[0] for b in batches]), np.concatenate([b[1] for b in batches]))
    test = folder / "test_batch.bin"
    return train, read_cifar_binary(test) if test.exists() else None


def _read_folder(folder: Path, size: Any, channels: int | None) -> tuple[_Pair, _Pair | None]:
    if any("-idx" in f.name.replace(".", "-") for f in folder.iterdir()):
        return _read_idx_folder(folder)
    if any(folder.glob("*.bin")):
        return read_cifar_folder(folder)
    if (folder / "x.npy").exists() and (folder / "y.npy").exists():
        return (_open_numpy(folder / "x.npy"), _open_numpy(folder / "y.npy")), None
    parts = {d.name.lower(): d for d in folder.iterdir() if d.is_dir()}
    train = parts.get("train", folder)
    if not class_folders(train):
        raise ValueError(
            f"{folder.name} holds no layout that is known here: {_KNOWN} (one subfolder of images a class, "
            "with or without train/ and test/ above them)."
        )
    test = parts.get("test", parts.get("val")) if train is not folder else None
    return read_image_folder(train, size, channels), None if test is None else read_image_folder(test, size, channels)


def load(
    path: str | Path,
    *,
    target: str | int | None = None,
    classes: str | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    size: int | tuple[int, int] | str | None = None,
    channels: int | None = None,
    name: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """A data set from a file or a folder, by its layout; nothing is ever unpickled.

    - ``.npz`` with arrays x, y (or inputs/targets, images/labels, …; with ``_train`` and ``_test`` for two splits);
    - ``.npy`` of (n, columns) with the target in column ``target`` (the last), or ``target="labels.npy"`` beside it;
    - ``.csv``, ``.tsv`` (also ``.gz``): numbers stay, words become one-hot columns, ``target`` names the target column
      (the last by default); words or few integers there are classes, other numbers a regression;
    - idx files (a folder with train-images-idx3-ubyte …, or one images file beside its labels), plain or ``.gz``;
    - the CIFAR-10 binary layout (a folder, or one ``.bin`` batch);
    - a folder of images, one subfolder a class, with or without ``train`` and ``test`` above; ``size`` resizes
      (``"common"``: images of different sizes to their median, and says so in ``notes``).

    ``classes`` is the label scheme. Where the layout has no test part, ``test_fraction`` of the rows becomes one.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "table.csv"
        >>> _ = file.write_text("a,colour,y\\n1,red,0.5\\n2,blue,1.5\\n3,red,2.5\\n")
        >>> data = load(file, test_fraction=0)
        >>> data.input_shape, data.task
        ((3,), 'regression')
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"no file or folder {path}; load reads {_KNOWN}.")
    test: _Pair | None = None
    notes: tuple[str, ...] = ()
    suffixes = [s.lower() for s in path.suffixes]
    if isinstance(size, str) and size != "common":
        raise ValueError(f"size is a side, (height, width) or 'common'; got {size!r}.")
    if path.is_dir():
        if size == "common":
            parts = {d.name.lower(): d for d in path.iterdir() if d.is_dir()}
            size, note = common_size(parts.get("train", path))
            notes = (note,) if note else ()
        (x, y), test = _read_folder(path, size, channels)
    elif ".npz" in suffixes:
        (x, y), test = _read_npz(path)
    elif ".npy" in suffixes:
        x, y = _read_npy(path, target)
    elif ".csv" in suffixes or ".tsv" in suffixes:
        x, y, columns = read_csv(path, target)
        shown = ", ".join(columns[:20]) + (f" and {len(columns) - 20} more" if len(columns) > 20 else "")
        notes = (f"input columns: {shown}",)
    elif ".bin" in suffixes:
        x, y = read_cifar_binary(path)
    elif "-idx" in path.name.replace(".", "-"):
        labels = path.with_name(path.name.replace("images", "labels").replace("idx3", "idx1"))
        if labels == path or not labels.exists():
            raise FileNotFoundError(f"the labels of {path.name} should lie beside it as {labels.name}.")
        x, y = read_idx(path), read_idx(labels)
    else:
        raise ValueError(f"{path.name} has no layout that is known here; load reads {_KNOWN}.")
    from dataclasses import replace

    data = from_arrays(
        x, y, test=test, test_fraction=test_fraction, seed=seed, classes=classes, name=name or path.stem, dtype=dtype
    )
    return replace(data, notes=(*notes, *data.notes)) if notes else data

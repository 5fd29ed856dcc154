"""Data sets from what a user already has in memory: arrays, tensors, torch data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from priorscope.data._checks import check_classes, check_enough, check_finite, check_rows, check_varied
from priorscope.data._dataset import Dataset, Split
from priorscope.data._labels import encode_labels

__all__ = ["from_arrays", "from_torch"]


def _inputs(x: Any, dtype: torch.dtype) -> Tensor:
    """Inputs as floats: bytes are scaled to [0, 1], (n, height, width) gets its channel axis, (n, channels, length) has it."""
    if isinstance(x, Tensor):
        tensor = x.detach().cpu()
    else:
        array = np.asarray(x)
        if array.dtype.kind not in "buif":
            raise ValueError(
                f"inputs must be numbers; got an array of type {array.dtype}. Use load(path) for a CSV file."
            )
        tensor = torch.from_numpy(np.array(array, dtype=array.dtype.newbyteorder("="), order="C"))
    scaled = tensor.to(dtype) / 255 if tensor.dtype == torch.uint8 and tensor.ndim >= 3 else tensor.to(dtype)
    return scaled[:, None] if scaled.ndim == 3 and not _is_signal(scaled.shape) else scaled


def _is_signal(shape: Any) -> bool:
    """Whether (n, a, b) are a channels of b samples, not images a high and b wide: at most 4 against 4 times as many, or 16."""
    _, a, b = shape
    return bool(a == 1 or (a <= 4 and 4 * a <= b) or 16 * a <= b)


def _labels_of(y: Any) -> tuple[np.ndarray, bool]:
    """Targets as an array, and whether they are classes (integers, booleans, words)."""
    array = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    return array, array.dtype.kind in "buiUSO" and array.ndim == 1


def _split_rows(n: int, test_fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    if not 0 <= test_fraction < 1:
        raise ValueError(f"test_fraction must lie in [0, 1); got {test_fraction}.")
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    n_test = round(n * test_fraction)
    return order[n_test:], order[:n_test]


def from_arrays(
    x: Any,
    y: Any,
    *,
    test: tuple[Any, Any] | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    classes: str | None = None,
    class_names: tuple[str, ...] | None = None,
    name: str = "data",
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """A data set from inputs ``x`` and targets ``y`` (arrays, tensors or lists).

    Integers, booleans or words in ``y`` are classes and are encoded by the scheme ``classes`` (see ``encode_labels``;
    default "classes"); floats are a regression. Byte images are scaled to [0, 1]; images without a channel axis get
    one. Long arrays (n, a, b), with a at most 4 and b at least 4a, or b at least 16a, are signals of a channels, which
    ``notes`` then says: give (n, 1, a, b) for images of that shape. Without
    ``test``, a random ``test_fraction`` of the rows is kept for testing.

    Example:
        >>> data = from_arrays([[0, 1], [1, 0], [1, 1], [0, 0]], ["a", "b", "b", "a"], test_fraction=0.0)
        >>> data.classes, data.train_labels.sort().values.tolist()
        (('a', 'b'), [0, 0, 1, 1])
    """
    inputs = _inputs(x, dtype)
    notes: tuple[str, ...] = ()
    if inputs.ndim == 3:
        notes = (f"inputs are read as signals of {inputs.shape[1]} channel(s) and {inputs.shape[2]} samples",)
    array, is_classes = _labels_of(y)
    rows = torch.from_numpy(np.zeros((len(array), 1)))
    check_rows(inputs, rows)
    check_enough(len(inputs))
    check_finite(inputs, "inputs")
    if test is not None:
        test_inputs = _inputs(test[0], dtype)
        test_array, _ = _labels_of(test[1])
        inputs = torch.cat([inputs, test_inputs]) if len(test_inputs) else inputs
        n_train = len(array)
        array = np.concatenate([array, test_array]) if len(test_array) else array
        train, rest = torch.arange(n_train), torch.arange(n_train, len(array))
    else:
        train, rest = _split_rows(len(inputs), test_fraction, seed)
    check_enough(len(train))
    if is_classes and classes != "real":
        found, codes = np.unique(array, return_inverse=True)
        names = class_names
        if names is None:
            names = tuple(str(v) for v in found)
            labels = torch.from_numpy(codes.astype(np.int64))
        else:
            labels = torch.from_numpy(array.astype(np.int64))
            if int(labels.min()) < 0 or int(labels.max()) >= len(names):
                raise ValueError(f"labels must lie in 0..{len(names) - 1} for {len(names)} class names.")
        check_classes(labels[train])
        targets = encode_labels(labels, classes or "classes", names, dtype)
        return Dataset(
            Split(inputs[train], targets[train]),
            Split(inputs[rest], targets[rest]),
            name,
            names,
            labels[train],
            labels[rest],
            notes=notes,
        )
    if classes not in (None, "real"):
        raise ValueError(
            f"classes={classes!r} needs integer or word labels of shape (n,); got {array.dtype} of {array.shape}. "
            "Convert the labels with y.astype(int), or leave classes out for a regression."
        )
    if array.dtype.kind not in "buif":
        raise ValueError(f"targets of a regression must be numbers; got an array of type {array.dtype}.")
    targets = torch.from_numpy(np.array(array)).to(dtype)
    check_finite(targets, "targets")
    check_varied(targets[train])
    parts = Split(inputs[train], targets[train]), Split(inputs[rest], targets[rest])
    return Dataset(*parts, name, task="regression", notes=notes)


def _stack(dataset: Any) -> tuple[Tensor, Tensor]:
    """All (input, target) pairs of a torch map-style data set."""
    if isinstance(dataset, torch.utils.data.TensorDataset) and len(dataset.tensors) == 2:
        return dataset.tensors[0], dataset.tensors[1]
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise ValueError(
            f"from_torch needs a map-style data set with __len__ and __getitem__; got {type(dataset).__name__}. "
            "Collect an iterable one into tensors and use from_arrays."
        )
    inputs, targets = [], []
    for i in range(len(dataset)):
        item = dataset[i]
        if not (isinstance(item, (tuple, list)) and len(item) == 2):
            raise ValueError(f"from_torch needs items (input, target); item {i} is a {type(item).__name__}.")
        image, target = item
        if not isinstance(image, Tensor):
            array = np.array(image)
            image = torch.from_numpy(np.moveaxis(array, -1, 0).copy() if array.ndim == 3 else array)
        inputs.append(image)
        targets.append(torch.as_tensor(target))
    check_enough(len(inputs))
    shapes = {tuple(v.shape) for v in inputs}
    if len(shapes) > 1:
        raise ValueError(f"from_torch needs inputs of one shape; got {sorted(shapes)[:4]}. Resize them first.")
    return torch.stack(inputs), torch.stack(targets)


def from_torch(
    dataset: Any,
    *,
    test: Any = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    classes: str | None = None,
    name: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """A data set from a torch map-style data set of (input, target) pairs; PIL images are read as channels first.

    Example:
        >>> pairs = torch.utils.data.TensorDataset(torch.rand(10, 1, 4, 4), torch.arange(10) % 2)
        >>> from_torch(pairs, test_fraction=0.2).train.inputs.shape
        torch.Size([8, 1, 4, 4])
    """
    x, y = _stack(dataset)
    return from_arrays(
        x,
        y,
        test=None if test is None else _stack(test),
        test_fraction=test_fraction,
        seed=seed,
        classes=classes,
        name=name or type(dataset).__name__,
        dtype=dtype,
    )

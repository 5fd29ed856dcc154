"""Data sets from torch data sets and loaders of (input, target) pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler, SubsetRandomSampler, TensorDataset

from priorscope.checks import SEED, checked, number
from priorscope.data._checks import check_enough
from priorscope.data._dataset import Dataset
from priorscope.data.arrays._array import AnyArray
from priorscope.data.arrays._from_arrays import from_arrays
from priorscope.data.arrays._layout import Layout
from priorscope.data.arrays._plain import plain_array

__all__ = ["from_torch"]


@runtime_checkable
class MapStyle(Protocol):
    """A data set with a length and items by number."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> object: ...


Source: TypeAlias = "MapStyle | DataLoader[object]"


@dataclass(frozen=True)
class _Pairs:
    """Inputs and targets of a data set, the layout of the inputs where it is known, and what there is to say on them."""

    x: Tensor | AnyArray
    y: Tensor | AnyArray
    layout: Layout | None = None
    notes: tuple[str, ...] = ()


@checked(test_fraction=number(least=0, below=1), seed=SEED)
def from_torch(
    dataset: Source,
    *,
    test: Source | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    classes: str | None = None,
    layout: Layout | None = None,
    name: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """A data set from a torch map-style data set, or a ``DataLoader``, of (input, target) pairs.

    PIL images are turned to channels first; tensors and arrays as in ``from_arrays``. A loader is read in the order of its
    data set, each row that its sampler may draw once.

    Example:
        >>> pairs = torch.utils.data.TensorDataset(torch.rand(10, 1, 4, 4), torch.arange(10) % 2)
        >>> from_torch(pairs, test_fraction=0.2).train.inputs.shape
        torch.Size([8, 1, 4, 4])
    """
    pairs, more = _pairs(dataset), None if test is None else _pairs(test)
    named = name or type(dataset.dataset if isinstance(dataset, DataLoader) else dataset).__name__
    data = from_arrays(
        pairs.x,
        pairs.y,
        test=None if more is None else (more.x, more.y),
        test_fraction=test_fraction,
        seed=seed,
        classes=classes,
        layout=layout or pairs.layout,
        name=named,
        dtype=dtype,
    )
    notes = pairs.notes if more is None else (*pairs.notes, *(n for n in more.notes if n not in pairs.notes))
    return data.noted(*notes)


def _pairs(dataset: Source) -> _Pairs:
    """All inputs and targets, and what there is to say on them."""
    if isinstance(dataset, DataLoader):
        return _of_loader(dataset)
    if isinstance(dataset, TensorDataset) and len(dataset.tensors) == 2:
        return _Pairs(dataset.tensors[0], dataset.tensors[1])
    if not isinstance(dataset, MapStyle):
        raise ValueError(
            f"from_torch needs a map-style data set with __len__ and __getitem__, or a DataLoader; got "
            f"{type(dataset).__name__}. Collect an iterable one into tensors and use from_arrays."
        )
    return _stacked(dataset[i] for i in range(len(dataset)))


def _of_loader(loader: DataLoader[object]) -> _Pairs:
    """The rows of a loader: by number where its sampler draws each row once, else batch by batch."""
    source, sampler = loader.dataset, loader.sampler
    plain = loader.collate_fn is torch.utils.data.default_collate and loader.batch_size is not None
    if plain and isinstance(source, MapStyle):
        n = len(source)
        if isinstance(sampler, SequentialSampler) or (
            isinstance(sampler, RandomSampler) and not sampler.replacement and sampler.num_samples == n
        ):
            return _pairs(source)
        if isinstance(sampler, SubsetRandomSampler):
            rows = sorted(int(i) for i in sampler.indices)
            found = _stacked(source[i] for i in rows)
            return replace(found, notes=(*found.notes, f"{len(rows)} of {n} rows: those the sampler draws"))
    xs, ys = [], []
    for batch in loader:
        if not (isinstance(batch, (tuple, list)) and len(batch) == 2):
            raise ValueError(f"from_torch needs batches (inputs, targets); got a {type(batch).__name__}.")
        xs.append(plain_array(batch[0], "inputs"))
        ys.append(plain_array(batch[1], "targets"))
    if not xs:
        raise ValueError("from_torch needs rows; the loader gave no batch.")
    shapes = {a.shape[1:] for a in xs if a.ndim}
    if len(shapes) != 1 or any(a.ndim == 0 for a in (*xs, *ys)):
        raise ValueError(
            f"from_torch needs batches of inputs of one shape with their targets; got inputs {sorted(shapes)[:4]}. "
            "Resize them first, and give the loader a batch_size."
        )
    x, y = np.concatenate(xs), np.concatenate(ys)
    return _Pairs(x, y, notes=(f"{len(x)} rows in the order in which the loader gave them",))


def _stacked(items: Iterator[object]) -> _Pairs:
    """Items (input, target) on top of each other; PIL images are turned to channels first."""
    inputs: list[AnyArray] = []
    targets: list[object] = []
    turned = 0
    for i, item in enumerate(items):
        if not (isinstance(item, (tuple, list)) and len(item) == 2):
            raise ValueError(f"from_torch needs items (input, target); item {i} is a {type(item).__name__}.")
        image, target = item
        array = plain_array(image, "inputs")
        if _is_picture(image) and array.ndim == 3:
            array, turned = np.moveaxis(array, -1, 0), turned + 1
        inputs.append(array)
        targets.append(target.detach().cpu().numpy() if isinstance(target, Tensor) else target)
    check_enough(len(inputs))
    shapes = {v.shape for v in inputs}
    if len(shapes) > 1:
        raise ValueError(f"from_torch needs inputs of one shape; got {sorted(shapes)[:4]}. Resize them first.")
    x = np.stack(inputs)
    y = plain_array([t.item() if isinstance(t, np.ndarray) and t.ndim == 0 else t for t in targets], "targets")
    if turned:
        return _Pairs(x, y, "channels_first", ("pictures with their channels last were turned to channels first",))
    return _Pairs(x, y)


def _is_picture(image: object) -> bool:
    from PIL import Image

    return isinstance(image, Image.Image)

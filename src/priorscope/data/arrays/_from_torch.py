"""Data sets from torch data sets and loaders of (input, target) pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import (
    DataLoader,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    TensorDataset,
)

from priorscope.checks import SEED, checked, number, whole
from priorscope.contracts import Fields
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


Source: TypeAlias = "MapStyle | DataLoader[object] | IterableDataset[object]"

_TARGETS = ("labels", "label", "target", "targets", "y", "class")  # names of the target among the parts of an item
_MOST = 20_000  # rows of a source that does not say how many it has


@dataclass(frozen=True)
class _Pairs:
    """Inputs and targets of a data set, the layout of the inputs where it is known, and what there is to say on them."""

    x: Tensor | AnyArray
    y: Tensor | AnyArray
    layout: Layout | None = None
    notes: tuple[str, ...] = ()
    fields: Fields | None = None


@checked(limit=whole(2), test_fraction=number(least=0, below=1), seed=SEED)
def from_torch(
    dataset: Source,
    *,
    test: Source | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    classes: str | None = None,
    layout: Layout | None = None,
    name: str | None = None,
    limit: int = _MOST,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """A data set from a torch data set, or a ``DataLoader``, of (input, target) pairs or of dictionaries.

    PIL images are turned to channels first; tensors and arrays as in ``from_arrays``. A loader is read in the order of its
    data set, each row that its sampler may draw once; of an iterable source the first ``limit`` rows. In dictionaries (of
    Hugging Face's kind) the target is called "labels" or the like; several other parts (tokens and their mask) are laid one
    after the other, and ``data.fields`` says how. Token lists of several lengths are padded with zeros beside a mask.

    Example:
        >>> pairs = torch.utils.data.TensorDataset(torch.rand(10, 1, 4, 4), torch.arange(10) % 2)
        >>> from_torch(pairs, test_fraction=0.2).train.inputs.shape
        torch.Size([8, 1, 4, 4])
    """
    pairs, more = _pairs(dataset, limit), None if test is None else _pairs(test, limit)
    if more is not None and more.fields != pairs.fields:
        raise ValueError(
            "train and test have parts of other names or lengths; pad both to one length, or give all rows at once."
        )
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
    return replace(data.noted(*notes), fields=pairs.fields)


def _pairs(dataset: Source, limit: int = _MOST) -> _Pairs:
    """All inputs and targets, and what there is to say on them."""
    if isinstance(dataset, DataLoader):
        return _of_loader(dataset, limit)
    if isinstance(dataset, IterableDataset):
        rows = list(islice(iter(dataset), limit + 1))
        found = _stacked(iter(rows[:limit]))
        told = (
            f"the first {limit} rows of a source that goes on"
            if len(rows) > limit
            else "all rows of an iterable source"
        )
        return replace(found, notes=(*found.notes, told))
    if isinstance(dataset, TensorDataset) and len(dataset.tensors) == 2:
        return _Pairs(dataset.tensors[0], dataset.tensors[1])
    if not isinstance(dataset, MapStyle):
        raise ValueError(
            f"from_torch needs a data set with __len__ and __getitem__, an IterableDataset or a DataLoader; got "
            f"{type(dataset).__name__}. Collect it into tensors and use from_arrays."
        )
    return _stacked(dataset[i] for i in range(len(dataset)))


def _of_loader(loader: DataLoader[object], limit: int = _MOST) -> _Pairs:
    """The rows of a loader: by number where its sampler draws each row once, else batch by batch."""
    source, sampler = loader.dataset, loader.sampler
    plain = loader.collate_fn is torch.utils.data.default_collate and loader.batch_size is not None
    if plain and isinstance(source, IterableDataset):
        return _pairs(source, limit)
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
    parts: dict[str, list[object]] = {}
    endless = isinstance(source, IterableDataset)
    for batch in loader:
        if isinstance(batch, Mapping):
            for key, value in batch.items():
                parts.setdefault(str(key), []).extend(value)
        elif isinstance(batch, (tuple, list)) and len(batch) == 2:
            xs.append(plain_array(batch[0], "inputs"))
            ys.append(plain_array(batch[1], "targets"))
        else:
            raise ValueError(
                f"from_torch needs batches (inputs, targets), or dictionaries with a target; got a {type(batch).__name__}."
            )
        if endless and sum(map(len, xs)) + len(next(iter(parts.values()), [])) >= limit:
            break
    if parts:
        found = _by_name(parts)
        return replace(found, notes=(*found.notes, f"{len(found.x)} rows in the order in which the loader gave them"))
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


def _by_name(parts: Mapping[str, list[object]]) -> _Pairs:
    """The target among named parts, and the others: one as it is, several laid one after the other."""
    name = next((name for name in _TARGETS if name in parts), None)
    if name is None:
        raise ValueError(
            f"from_torch needs the target of items with parts {', '.join(parts)}; it is looked for as {', '.join(_TARGETS)}. "
            "Call it so, or give items (input, target)."
        )
    targets = _targets(parts[name])
    rest = {key: value for key, value in parts.items() if key not in _TARGETS and _has_numbers(value[0])}
    left = [key for key in parts if key not in rest and key != name]
    told = tuple([f"parts without numbers are left out: {', '.join(left)}"] if left else [])
    if not rest:
        raise ValueError(
            f"from_torch found no part with numbers beside the target {name!r} in items with {', '.join(parts)}. Texts become "
            "tokens by a tokenizer, or rows of a frame: from_frame reads them."
        )
    lengths = {len(v) for value in rest.values() for v in map(_array, value) if v.ndim == 1}
    if len(rest) == 1 and len(lengths) < 2:
        found = _stacked(zip(next(iter(rest.values())), targets.tolist(), strict=True))
        return replace(found, notes=(f"inputs are {next(iter(rest))!r}, targets {name!r}", *told, *found.notes))
    fields, rows = Fields.packed({key: [_array(v) for v in value] for key, value in rest.items()})
    words = ", ".join(f"{part.name} {'×'.join(map(str, part.shape)) or '1'}" for part in fields)
    note = f"inputs have parts, laid one after the other: {words}; targets are {name!r}"
    return _Pairs(rows.numpy(), targets, None, (note, *told), fields)


def _array(value: object) -> AnyArray:
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _has_numbers(value: object) -> bool:
    return _is_picture(value) or _array(value).dtype.kind in "buif"


def _targets(values: Iterable[object]) -> AnyArray:
    found = [t.detach().cpu().numpy() if isinstance(t, Tensor) else t for t in values]
    return plain_array([t.item() if isinstance(t, np.ndarray) and t.ndim == 0 else t for t in found], "targets")


def _stacked(items: Iterator[object]) -> _Pairs:
    """Items (input, target) on top of each other, or by name; PIL images are turned to channels first."""
    inputs: list[AnyArray] = []
    targets: list[object] = []
    turned = 0
    parts: dict[str, list[object]] = {}
    for i, item in enumerate(items):
        if isinstance(item, Mapping):
            if i and set(item) != set(parts):
                raise ValueError(
                    f"from_torch needs items with the same parts; item {i} has {', '.join(map(str, item))}."
                )
            for key, value in item.items():
                parts.setdefault(str(key), []).append(value)
            continue
        if not (isinstance(item, (tuple, list)) and len(item) == 2):
            raise ValueError(
                f"from_torch needs items (input, target), or dictionaries with a target; item {i} is a {type(item).__name__}."
            )
        image, target = item
        array = plain_array(image, "inputs")
        if _is_picture(image) and array.ndim == 3:
            array, turned = np.moveaxis(array, -1, 0), turned + 1
        inputs.append(array)
        targets.append(target)
    if parts:
        return _by_name(parts)
    check_enough(len(inputs))
    shapes = {v.shape for v in inputs}
    if len(shapes) > 1 and all(v.ndim == 1 and v.dtype.kind in "iu" for v in inputs):
        return _by_name({"input_ids": list(inputs), "labels": targets})
    if len(shapes) > 1:
        raise ValueError(f"from_torch needs inputs of one shape; got {sorted(shapes)[:4]}. Resize them first.")
    x, y = np.stack(inputs), _targets(targets)
    if turned:
        return _Pairs(x, y, "channels_first", ("pictures with their channels last were turned to channels first",))
    return _Pairs(x, y)


def _is_picture(image: object) -> bool:
    from PIL import Image

    return isinstance(image, Image.Image)

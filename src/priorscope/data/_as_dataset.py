"""Whatever a user calls data, as a data set: one door before the ways in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias, Union

import torch
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from priorscope.data._dataset import Dataset
from priorscope.data.arrays._from_arrays import from_arrays
from priorscope.data.arrays._from_bunch import from_bunch
from priorscope.data.arrays._from_frame import from_frame
from priorscope.data.arrays._from_torch import MapStyle, from_torch
from priorscope.data.arrays._layout import Layout
from priorscope.data.arrays._plain import Values, is_frame
from priorscope.data.formats._load import load

__all__ = ["as_dataset"]

Data: TypeAlias = Union[Dataset, str, Path, Mapping[str, Values], "DataLoader[object]", MapStyle, Values]


def as_dataset(
    data: Data,
    y: Values | None = None,
    *,
    target: str | int | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    classes: str | None = None,
    layout: Layout | None = None,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """A data set from anything that is one: inputs and targets, a path, a frame, a bunch, a torch data set or loader.

    A ``Dataset`` is handed back as it is. With ``y``, ``data`` are the inputs; ``target`` names a column of a file or a frame.

    Example:
        >>> as_dataset([[0.0], [1.0], [2.0]], [0.5, 0.7, 0.1], test_fraction=0.0).task
        'regression'
        >>> from sklearn.datasets import load_wine
        >>> as_dataset(load_wine()).input_shape
        (13,)
    """
    if isinstance(data, Dataset):
        if y is not None or target is not None:
            raise ValueError("a Dataset has its targets; leave y and target out, or use data.with_targets(function).")
        return data
    if y is not None:
        if target is not None or isinstance(data, (str, Path, DataLoader)):
            raise ValueError("y goes with inputs in memory; for a file or a loader leave it out and name the target.")
        return from_arrays(
            data,  # type: ignore[arg-type]  # what is no array is refused there, by name
            y,
            test_fraction=test_fraction,
            seed=seed,
            classes=classes,
            layout=layout,
            dtype=dtype,
        )
    if isinstance(data, (str, Path)):
        return load(
            data, target=target, test_fraction=test_fraction, seed=seed, classes=classes, layout=layout, dtype=dtype
        )
    if is_frame(data):
        return from_frame(data, target, test_fraction=test_fraction, seed=seed, classes=classes, dtype=dtype)
    if target is not None:
        raise ValueError(f"target names a column of a file or a frame; {type(data).__name__} has none. Pass y.")
    if isinstance(data, Mapping):
        return from_bunch(data, test_fraction=test_fraction, seed=seed, classes=classes, layout=layout, dtype=dtype)
    if isinstance(data, (DataLoader, TorchDataset)):
        return from_torch(
            data,  # type: ignore[arg-type]  # one without a length is refused there
            test_fraction=test_fraction,
            seed=seed,
            classes=classes,
            layout=layout,
            dtype=dtype,
        )
    if isinstance(data, tuple) and len(data) == 2:
        return as_dataset(
            data[0], data[1], test_fraction=test_fraction, seed=seed, classes=classes, layout=layout, dtype=dtype
        )
    raise TypeError(
        f"{type(data).__name__} alone is no data: pass inputs and targets, a path, a frame with its target, a bunch, or a "
        "torch data set."
    )

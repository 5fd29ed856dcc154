"""Whatever a user calls data, as a data set: one door before the ways in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard, Union

import numpy as np
import torch
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from priorscope.checks import SEED, checked, number
from priorscope.data._dataset import Dataset
from priorscope.data.arrays._from_arrays import from_arrays
from priorscope.data.arrays._from_bunch import from_bunch
from priorscope.data.arrays._from_frame import from_frame, taken_column
from priorscope.data.arrays._from_torch import MapStyle, from_torch
from priorscope.data.arrays._layout import Layout
from priorscope.data.arrays._missing import Missing
from priorscope.data.arrays._plain import Values, is_frame
from priorscope.data.formats._load import load
from priorscope.data.formats._load_frame import load_frame
from priorscope.data.formats._registry import formats_in_words
from priorscope.data.published._named import KNOWN_NAMES, closest_name, is_known_name, named

__all__ = ["Data", "as_dataset"]

Ways: TypeAlias = dict[str, Any]  # how arrays become a data set: arguments of from_arrays

Data: TypeAlias = Union[Dataset, str, Path, Mapping[str, Values], "DataLoader[object]", MapStyle, Values]


@checked(test_fraction=number(least=0, below=1), seed=SEED)
def as_dataset(
    data: Data,
    y: Values | None = None,
    *,
    target: str | int | tuple[str, ...] | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    classes: str | None = None,
    layout: Layout | None = None,
    missing: Missing | None = None,
    groups: Values | None = None,
    time: Values | None = None,
    keep: Collection[str] = (),
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """A data set from anything that is one: inputs and targets, a name, a path, a frame, a bunch, a torch data set or loader.

    A ``Dataset`` is handed back as it is. With ``y``, ``data`` are the inputs; a word ``y`` (or ``target``) names a column of a
    file or a frame. ``missing`` ("refuse" or "median") says what becomes of gaps among the inputs; by default tables are
    filled in and arrays are refused. ``groups`` and ``time``, an array or the name of a column of a file or a frame, say which
    rows belong together (of a person, a place, a series) and which come first: rows are left out by groups then, and later
    rows are forecast from earlier ones (:class:`priorscope.data.Structure`). Columns of tables that number the rows are left
    out, but for those in ``keep``.

    Example:
        >>> as_dataset([[0.0], [1.0], [2.0]], [0.5, 0.7, 0.1], test_fraction=0.0).task
        'regression'
        >>> from sklearn.datasets import load_wine
        >>> as_dataset(load_wine()).input_shape, as_dataset("digits").input_shape
        ((13,), (1, 8, 8))
    """
    if isinstance(data, Dataset):
        if y is not None or target is not None:
            raise ValueError("a Dataset has its targets; leave y and target out, or use data.with_targets(function).")
        if groups is not None or time is not None:
            raise ValueError("a Dataset has its structure; give groups and time when it is made.")
        return data
    if isinstance(y, str) and (is_frame(data) or isinstance(data, (str, Path))):
        target = _one_target(y, target)
        y = None
    if groups is not None or time is not None:
        data = _with_rows(data, groups, time, alone=y is None)
        if is_frame(data) and y is not None:
            data, groups = taken_column(data, groups, "groups")
            data, time = taken_column(data, time, "time")
    ways: Ways = {"test_fraction": test_fraction, "seed": seed, "classes": classes, "dtype": dtype}
    if groups is not None or time is not None:
        ways |= {"groups": groups, "time": time}
    gaps: Ways = {} if missing is None else {"missing": missing}
    if y is not None:
        if target is not None or isinstance(data, (str, Path, DataLoader)):
            raise ValueError("y goes with inputs in memory; for a file or a loader leave it out and name the target.")
        if is_frame(data):
            gaps = {"missing": missing or "median"}
            ways |= {"keep": keep}
        return from_arrays(data, y, layout=layout, **ways, **gaps)  # type: ignore[arg-type]  # no array: refused there
    if isinstance(data, (str, Path)):
        name = ".".join(target) if isinstance(target, tuple) else target
        return _by_text(data, name, {"layout": layout, "keep": keep, **ways, **gaps})
    if is_frame(data):
        return from_frame(data, target, keep=keep, **ways, **gaps)
    if target is not None:
        raise ValueError(f"target names a column of a file or a frame; {type(data).__name__} has none. Pass y.")
    if isinstance(data, Mapping):
        return from_bunch(data, layout=layout, **ways, **gaps)
    if isinstance(data, (DataLoader, TorchDataset)) or _has_items(data):
        return from_torch(data, layout=layout, **ways)  # one without a length is refused there
    if isinstance(data, tuple) and len(data) == 2:
        return as_dataset(data[0], data[1], layout=layout, **ways, **gaps)
    raise TypeError(
        f"{type(data).__name__} alone is no data: pass inputs and targets, a path, a frame with its target, a bunch, or a "
        "torch data set."
    )


def _has_items(data: object) -> TypeGuard[MapStyle]:
    """Whether this is a data set of dictionaries, as those of Hugging Face are, or a list of such items."""
    if not isinstance(data, MapStyle) or isinstance(data, (tuple, np.ndarray, torch.Tensor)) or not len(data):
        return False
    try:
        return isinstance(data[0], Mapping)
    except (KeyError, IndexError, TypeError):
        return False


def _one_target(y: str, target: str | int | tuple[str, ...] | None) -> str:
    if target is not None:
        raise ValueError(f"the target is named twice, {y!r} and {target!r}; leave one of them out.")
    return y


def _with_rows(data: Data, groups: Values | None, time: Values | None, alone: bool) -> Data:
    """The data as rows that groups and times go with: the table of a file, a frame, or arrays."""
    if isinstance(data, (str, Path)) and not is_known_name(data):
        return load_frame(data, keep=[name for name in (groups, time) if isinstance(name, str)])[0]
    by_name = isinstance(groups, str) or isinstance(time, str)
    if is_frame(data) or not (by_name or (alone and not (isinstance(data, tuple) and len(data) == 2))):
        return data
    raise ValueError(
        f"groups and time go with a table (a column's name, or one value per row) or with arrays (one value per row); "
        f"{type(data).__name__} {'has no columns' if by_name else 'gives no rows in order'}. Pass inputs, targets and arrays."
    )


def _by_text(text: str | Path, target: str | int | None, ways: Ways) -> Dataset:
    """A data set by its name, or from the file or folder at a path; images of different sizes are brought to their median."""
    if is_known_name(text):
        if target is not None:
            raise ValueError(
                f"a target names a column of a table; {text} has none. Use classes='parity', for instance."
            )
        return named(str(text), ways["classes"])
    if not Path(text).expanduser().exists():
        close = closest_name(str(text))
        hint = f" Did you mean {close!r}?" if close else ""
        raise FileNotFoundError(
            f"{str(text)!r} is neither a known data set ({', '.join(KNOWN_NAMES)}) nor a file or folder.{hint} Files may be "
            f"{formats_in_words()}."
        )
    return load(text, target=target, size="common", **ways)

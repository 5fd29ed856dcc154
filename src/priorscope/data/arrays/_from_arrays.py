"""Data sets from inputs and targets in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from priorscope.checks import SEED, checked, number
from priorscope.data._checks import check_classes, check_enough, check_finite, check_rows, check_varied
from priorscope.data._dataset import Dataset, Split
from priorscope.data._labels import encode_labels
from priorscope.data.arrays._aligned import aligned
from priorscope.data.arrays._array import AnyArray
from priorscope.data.arrays._floats import as_floats
from priorscope.data.arrays._layout import Layout, channels_first
from priorscope.data.arrays._missing import Missing, check_missing, fill_missing
from priorscope.data.arrays._plain import Values, is_frame, plain_array
from priorscope.data.arrays._targets import Targets, read_targets
from priorscope.data.rows import Structure
from priorscope.data.tables._pandas import encode_frame, joined_frames

__all__ = ["from_arrays"]


@checked(test_fraction=number(least=0, below=1), seed=SEED)
def from_arrays(
    x: Values,
    y: Values,
    *,
    test: tuple[Values, Values] | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    classes: str | None = None,
    class_names: Sequence[str] | None = None,
    layout: Layout | None = None,
    missing: Missing = "refuse",
    groups: Values | None = None,
    time: Values | None = None,
    keep: Collection[str] = (),
    name: str = "data",
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """A data set from inputs ``x`` and targets ``y`` (arrays, tensors, frames or lists).

    Words, booleans, few integers, floats that are all 0 or 1, and one-hot rows in ``y`` are classes, encoded by the scheme
    ``classes`` (see ``encode_labels``; default "classes"); other numbers are a regression, and ``classes="real"`` makes
    one of any numbers. Byte images are scaled to [0, 1].

    Images (n, height, width, channels) are turned to channels first, images (n, height, width) get a channel; long arrays
    (n, a, b), with a at most 4 and b at least 4a, or b at least 16a, are signals of a channels. ``layout`` ("channels_first",
    "channels_last" or, for three axes, "grey") settles what the shape leaves open. ``missing="median"`` fills in NaN among
    the inputs from the training rows. Columns of a frame that number the rows are left out, but for those in ``keep``. Whatever
    was decided or filled in is told in ``notes``.

    Without ``test``, a random ``test_fraction`` of the rows is kept for testing: whole ``groups`` where each row's group is
    given, the last rows where its ``time`` is.

    Example:
        >>> data = from_arrays([[0, 1], [1, 0], [1, 1], [0, 0]], ["a", "b", "b", "a"], test_fraction=0.0)
        >>> data.classes, data.train_labels.sort().values.tolist()
        (('a', 'b'), [0, 0, 1, 1])
    """
    check_missing(missing)
    y, joined = aligned(x, y)
    if test is not None:
        test = (test[0], aligned(*test)[0])
    x, test, columns, told_frame = _frames(x, test, keep)
    told_frame = (*joined, *told_frame)
    array, target = plain_array(x, "inputs"), plain_array(y, "targets")
    _check_numbers(array, "inputs")
    _check_lengths(array, target, "inputs and targets")
    inputs, notes = _inputs(array, dtype, "inputs")
    notes = (*told_frame, *notes)
    check_rows(inputs, inputs)
    check_enough(len(inputs))
    inputs, found, told = channels_first(inputs, layout)
    notes += told
    held: Structure | None = None
    if test is None:
        reading = read_targets(target, None, classes, class_names)
        if groups is not None or time is not None:
            known = reading.numbers if reading.labels is None else reading.labels
            assert known is not None
            held = Structure.of(array, known, groups=_values(groups), time=_values(time))
        train, rest = _split_rows(len(inputs), test_fraction, seed, held)
    elif groups is not None or time is not None:
        raise ValueError(
            "groups and time are of the rows that are divided; with a test part of its own leave them out, or pass all rows."
        )
    else:
        more, more_notes, test_target = _test_part(test, array, inputs, found, dtype)
        train, rest = torch.arange(len(inputs)), torch.arange(len(inputs), len(inputs) + len(more))
        inputs, notes = torch.cat([inputs, more]), (*notes, *(n for n in more_notes if n not in notes))
        reading = read_targets(target, test_target, classes, class_names)
    check_enough(len(train))
    if missing == "median":
        inputs, told = fill_missing(inputs, train)
        notes += told
    check_finite(inputs if test is None else inputs[train], "inputs")
    check_finite(inputs[rest], "test inputs")
    made = replace(_assembled(inputs, reading, train, rest, classes, name, dtype, notes), columns=columns)
    if held is None:
        return made
    rows = train.numpy()
    return replace(
        made.noted(*held.notes),
        groups=None if groups is None else torch.from_numpy(held.blocks[rows]),
        time=None if held.time is None else torch.from_numpy(held.time[rows]),
    )


def _assembled(
    inputs: Tensor,
    reading: Targets,
    train: Tensor,
    rest: Tensor,
    classes: str | None,
    name: str,
    dtype: torch.dtype,
    notes: tuple[str, ...],
) -> Dataset:
    """The two splits with their targets encoded."""
    notes = (*notes, *reading.notes)
    if reading.labels is None:
        assert reading.numbers is not None
        targets, told = as_floats(reading.numbers, dtype, "targets")
        check_varied(targets[train])
        parts = Split(inputs[train], targets[train]), Split(inputs[rest], targets[rest])
        return Dataset(*parts, name, task="regression", notes=(*notes, *told))
    labels = torch.from_numpy(reading.labels)
    check_classes(labels[train])
    if reading.signs:
        assert reading.numbers is not None
        targets = torch.from_numpy(np.array(reading.numbers)).to(dtype)
    elif classes == "parity" and reading.codes is not None:
        targets = encode_labels(torch.from_numpy(reading.codes), "parity", reading.names, dtype)
    else:
        targets = encode_labels(labels, classes or "classes", reading.names, dtype)
    absent = sorted(set(labels[rest].tolist()) - set(labels[train].tolist()))
    if absent:
        shown = ", ".join(reading.names[i] for i in absent[:5])
        notes += (f"{len(absent)} class(es) of the test rows have no training row: {shown}",)
    return Dataset(
        Split(inputs[train], targets[train]),
        Split(inputs[rest], targets[rest]),
        name,
        reading.names,
        labels[train],
        labels[rest],
        notes=notes,
    )


def _frames(
    x: Values, test: tuple[Values, Values] | None, keep: Collection[str]
) -> tuple[Values, tuple[Values, Values] | None, tuple[str, ...], tuple[str, ...]]:
    """Inputs in pandas frames as arrays with names, training and test rows encoded together; anything else as it came."""
    rest = None if test is None else test[0]
    if not is_frame(x):
        if is_frame(rest):
            raise ValueError("the test inputs are a frame and the training inputs are not; give both as frames.")
        return x, test, (), ()
    if test is None or rest is None:
        array, names, notes = encode_frame(x, keep)
        return array, test, names, notes
    if not is_frame(rest):
        raise ValueError("the training inputs are a frame and the test inputs are not; give both as frames.")
    array, names, notes = encode_frame(joined_frames(x, rest), keep)
    return array[: len(x)], (array[len(x) :], test[1]), names, notes


def _values(column: Values | None) -> AnyArray | None:
    """One value per row: dates too, which inputs may not be."""
    return None if column is None else np.asarray(column) if not isinstance(column, Tensor) else column.numpy()


def _check_numbers(array: AnyArray, what: str) -> None:
    if array.dtype.kind not in "buif":
        raise ValueError(
            f"{what} must be numbers; got an array of type {array.dtype}. Use load(path) for a CSV file, or pass a pandas "
            "frame, whose columns of words become one-hot columns."
        )


def _check_lengths(x: AnyArray, y: AnyArray, what: str) -> None:
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError(f"{what} must have one row per sample; got shapes {x.shape} and {y.shape}.")
    if len(x) != len(y):
        raise ValueError(
            f"{what} must have as many rows as each other; got {len(x)} inputs and {len(y)} targets. "
            "Pass the targets of these rows."
        )


def _inputs(array: AnyArray, dtype: torch.dtype, what: str) -> tuple[Tensor, tuple[str, ...]]:
    """Inputs as floats; bytes with three axes or more are pixels and are scaled to [0, 1]."""
    tensor, notes = as_floats(array, dtype, what)
    return (tensor / 255 if array.dtype == np.uint8 and array.ndim >= 3 else tensor), notes


def _test_part(
    test: tuple[Values, Values], train: AnyArray, inputs: Tensor, layout: Layout | None, dtype: torch.dtype
) -> tuple[Tensor, tuple[str, ...], AnyArray]:
    """Test inputs read as the training inputs were, and the test targets."""
    array, target = plain_array(test[0], "test inputs"), plain_array(test[1], "test targets")
    _check_lengths(array, target, "test inputs and test targets")
    if len(array) == 0:
        return inputs[:0], (), target
    _check_numbers(array, "test inputs")
    if (train.dtype == np.uint8) != (array.dtype == np.uint8) and array.ndim >= 3:
        raise ValueError(
            f"training inputs are {train.dtype} and test inputs {array.dtype}: bytes are scaled to [0, 1] and floats are "
            "not. Give both in one type."
        )
    if array.ndim != train.ndim or array.shape[1:] != train.shape[1:]:
        raise ValueError(f"train and test must have the same input shape; got {train.shape[1:]} and {array.shape[1:]}.")
    tensor, notes = _inputs(array, dtype, "test inputs")
    turned, _, _ = channels_first(tensor, layout)
    return turned, notes, target


def _split_rows(n: int, test_fraction: float, seed: int, held: Structure | None) -> tuple[Tensor, Tensor]:
    """Rows to train on and to test on, drawn at random, or as the structure says; all in order where none are tested on."""
    n_test = round(n * test_fraction)
    if n_test == 0:
        return torch.arange(n), torch.arange(0)
    if held is not None:
        ladder = held.nested([n - n_test], seed, test=n_test)
        return torch.from_numpy(ladder.train[0]), torch.from_numpy(ladder.test)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return order[n_test:], order[:n_test]

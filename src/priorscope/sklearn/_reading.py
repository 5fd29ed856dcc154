"""How what a user gives as rows becomes the inputs of a network: decided on the training rows, done to new rows alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, validate_data
from torch import Tensor

from priorscope.contracts import Fields, Shape
from priorscope.sklearn._estimator import is_frame
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._rows import Rows, needs_encoding

__all__ = ["Reading", "reading", "readings_of_own"]

Array = NDArray[np.float64]
Given: TypeAlias = object  # arrays, tensors, frames, or parts by name


@dataclass(frozen=True, eq=False)
class Reading:
    """Rows as they come, as inputs (n, \\*shape) in float32: checked, encoded or taken apart, standardised.

    ``rows`` encodes frames and turns channels first; ``fields`` are named parts; ``own`` is the shape of one row that the
    network takes as it is.
    """

    inputs: Inputs | None = None
    rows: Rows | None = None
    fields: Fields | None = None
    own: Shape | None = None
    notes: tuple[str, ...] = ()

    def __call__(self, machine: BaseEstimator, X: Given) -> Tensor:
        """New rows."""
        if self.fields is not None:
            return packed(self.fields, X)
        assert self.inputs is not None
        if self.rows is not None:
            rows = self.rows(X)
        else:
            several = self.own is not None and len(self.own) > 1
            rows = validate_data(
                machine, as_array(X), reset=False, dtype=np.float64, ensure_all_finite="allow-nan", allow_nd=several
            )
            if several and rows.shape[1:] != self.own and rows[0].size != int(np.prod(self.own or ())):
                raise ValueError(f"X has rows of shape {rows.shape[1:]}; the network was fitted to rows of {self.own}.")
            rows = rows.reshape(len(rows), -1)
        return self.inputs(rows).float()


def reading(
    machine: BaseEstimator, X: Given, y: ArrayLike, input_shape: Shape | None, standardise: bool
) -> tuple[Reading, Tensor]:
    """The reading of rows for networks of this library, which take channels first, and the rows read by it."""
    if needs_encoding(X):
        check_consistent_length(X, y)
        encoded = Rows.learnt(X, input_shape)
        rows = encoded(X)
        validate_data(machine, X, reset=True, skip_check_array=True)
        machine.n_features_in_ = len(X.columns) if is_frame(X) else rows.shape[1]
        inputs = Inputs.learnt(rows, encoded.shape, standardise)
        return Reading(inputs, encoded), inputs(rows).float()
    rows = _checked(machine, X, y)
    inputs = Inputs.learnt(rows, _shaped(rows.shape[1:], input_shape), standardise)
    return Reading(inputs), inputs(rows).float()


def readings_of_own(
    machine: BaseEstimator,
    X: Given,
    y: ArrayLike,
    input_shape: Shape | None,
    fields: Fields | None,
    *,
    standardise: bool,
    sequential: bool,
) -> Iterator[tuple[Reading, Tensor]]:
    """Readings of rows for a network of the user, in turn: by name; in the shape in which they came; with channels first."""
    if isinstance(X, Mapping) or fields is not None or _items(X):
        named, rows = _named(X, fields)
        check_consistent_length(rows, y)
        machine.n_features_in_ = named.size
        yield Reading(fields=named), rows
        return
    several = _axes(X) > 2
    if is_frame(X) and needs_encoding(X):
        yield reading(machine, X, y, input_shape, standardise)
        return
    if not (several and input_shape is not None):
        array = as_array(X)
        found = _checked(machine, array, y)
        shape, flat = _shaped(found.shape[1:], input_shape), found.reshape(len(found), -1)
        inputs = Inputs.learnt(flat, shape, standardise, last=len(shape) == 2 and sequential)
        if not standardise and isinstance(array, np.ndarray) and array.dtype == np.uint8 and len(shape) > 2:
            inputs = replace(inputs, scale=np.full_like(inputs.scale, 255.0))
        yield Reading(inputs, own=shape), inputs(flat).float()
    if several:
        yield reading(machine, as_array(X), y, input_shape, standardise)


def as_array(X: Given) -> Given:
    """Tensors as arrays, wherever they are; all else as it is."""
    if isinstance(X, Tensor):
        X = X.detach().cpu()
        return (X.float() if X.dtype is torch.bfloat16 else X).numpy()
    return X


def packed(fields: Fields, X: Given) -> Tensor:
    """Rows of named parts, given by name, item by item or laid one after the other."""
    X = _by_name(X)
    if isinstance(X, Mapping):
        return fields.rows(X)
    rows = torch.as_tensor(as_array(X)).float()
    if rows.ndim != 2 or rows.shape[1] != fields.size:
        raise ValueError(
            f"rows of {', '.join(fields.names)} have {fields.size} numbers; got shape {tuple(rows.shape)}. Give them by name."
        )
    return rows


def _items(X: Given) -> TypeGuard[list[Mapping[str, object]]]:
    return isinstance(X, list) and bool(X) and all(isinstance(item, Mapping) for item in X)


def _by_name(X: Given) -> Given:
    """Items with named parts as parts with items; all else as it is."""
    return {name: [item[name] for item in X] for name in X[0]} if _items(X) else X


def _named(X: Given, fields: Fields | None) -> tuple[Fields, Tensor]:
    if fields is not None:
        return fields, packed(fields, X)
    found = _by_name(X)
    assert isinstance(found, Mapping)
    return Fields.packed(found)


def _axes(X: Given) -> int:
    """How many axes rows have; 2 where they do not say."""
    return int(getattr(X, "ndim", 2))


def _checked(machine: BaseEstimator, X: Given, y: ArrayLike) -> Array:
    """Rows of numbers, NaN for gaps, by scikit-learn's rules."""
    found: Array
    found, _ = validate_data(
        machine,
        X,
        y,
        dtype=np.float64,
        ensure_all_finite="allow-nan",
        multi_output=True,
        ensure_min_samples=2,
        allow_nd=_axes(X) > 2,
    )
    return found


def _shaped(given: Shape, input_shape: Shape | None) -> Shape:
    """The shape of one input: as it came, or as the user says."""
    if input_shape is None:
        return tuple(given)
    shape = tuple(int(s) for s in input_shape)
    if int(np.prod(shape)) != int(np.prod(given)):
        raise ValueError(
            f"input_shape {shape} needs {int(np.prod(shape))} features per row; X has {int(np.prod(given))}. Reshape or drop "
            "columns, or pass another input_shape."
        )
    return shape

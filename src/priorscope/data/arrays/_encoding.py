"""How inputs of any form become tensors: learnt from training rows once, used on new rows alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from priorscope.data._checks import check_finite
from priorscope.data.arrays._array import AnyArray
from priorscope.data.arrays._layout import Layout, channels_first
from priorscope.data.arrays._plain import Values, is_frame, plain_array
from priorscope.data.tables._coding import FrameCoding
from priorscope.printing import printed

__all__ = ["Encoding"]


@printed
@dataclass(frozen=True)
class Encoding:
    """Inputs (n, …) of a user as a tensor (n, \\*shape) in float64: frames one-hot, gaps filled in, channels first.

    Everything is decided by the rows that :meth:`learn` is given: words of a column, medians for gaps, which axis holds the
    channels, whether bytes are pixels. New rows are then read the same way; a word never seen before is none of the known
    ones (zeros), and a missing column is refused. ``notes`` says what was decided.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [1.0, None, 3.0], "kind": ["a", "b", "a"]})
        >>> coding = Encoding.learn(frame)
        >>> coding(pd.DataFrame({"kind": ["b", "c"], "age": [None, 5.0]})).tolist()
        [[2.0, 0.0, 1.0], [5.0, 0.0, 0.0]]
    """

    shape: tuple[int, ...]
    medians: Tensor
    given: tuple[int, ...] = ()  # shape of one row as it came
    layout: Layout | None = None
    pixels: bool = False  # bytes, scaled to [0, 1]
    frame: FrameCoding | None = None
    notes: tuple[str, ...] = ()

    @staticmethod
    def columns(names: tuple[str, ...], words: tuple[tuple[str, ...] | None, ...]) -> FrameCoding:
        """The coding of a frame from what was stored of one: names in order, the words of columns that hold words."""
        return FrameCoding(names, words)

    @classmethod
    def learn(cls, x: Values, *, shape: Sequence[int] | None = None, layout: Layout | None = None) -> Encoding:
        """Decide on training rows; ``shape`` is that of one input, for rows that are flattened images or signals."""
        frame, array = None, None
        if is_frame(x):
            frame = FrameCoding.learn(x)
            array = frame(x)
        array = _numbers(x) if array is None else array
        given = tuple(array.shape[1:])
        pixels = array.dtype == np.uint8 and array.ndim >= 3
        rows = torch.from_numpy(np.array(array, dtype=np.float64))
        if shape is not None and given != tuple(shape):
            if int(np.prod(given)) != int(np.prod(tuple(shape))):
                raise ValueError(
                    f"inputs of shape {tuple(shape)} have {int(np.prod(tuple(shape)))} numbers per row; X has "
                    f"{int(np.prod(given))}. Give rows of that shape, or leave the shape out."
                )
            rows, found, told = _turned(rows, tuple(shape), layout)
        else:
            rows, found, told = channels_first(rows, "channels_first" if shape is not None else layout)
        medians = _medians(rows)
        notes = (*(frame.notes if frame else ()), *told, *_gaps(rows))
        return cls(tuple(rows.shape[1:]), medians, given, found, pixels, frame, notes)

    def __call__(self, x: Values) -> Tensor:
        """New rows as a tensor (n, \\*shape)."""
        if self.frame is not None:
            if not is_frame(x):
                raise ValueError(
                    f"the model was fitted on a frame with columns {', '.join(self.frame.names[:10])}; got "
                    f"{type(x).__name__}. Give a frame with these columns."
                )
            rows = torch.from_numpy(self.frame(x))
        else:
            if is_frame(x):
                x = x.to_numpy()
            array = _numbers(x)
            given = tuple(array.shape[1:])
            if array.ndim < 2 or int(np.prod(given)) != int(np.prod(self.shape)):
                raise ValueError(
                    f"X has {int(np.prod(given)) if array.ndim > 1 else 0} features (rows of shape {given}), but the model "
                    f"is expecting {int(np.prod(self.shape))} features as input (rows of shape {self.given})."
                )
            if self.pixels != (array.dtype == np.uint8) and array.ndim >= 3:
                raise ValueError(
                    f"the model was fitted on {'bytes' if self.pixels else 'numbers'}, and X is of type {array.dtype}: bytes "
                    "are scaled to [0, 1] and other numbers are not. Give both in one type."
                )
            rows = torch.from_numpy(np.array(array, dtype=np.float64))
            if given == self.given and given != self.shape:
                rows = _turned(rows, self.shape, self.layout)[0]
            rows = rows.reshape(len(rows), *self.shape)
        return self._filled(rows) / 255 if self.pixels else self._filled(rows)

    def _filled(self, rows: Tensor) -> Tensor:
        filled = torch.where(torch.isnan(rows), self.medians, rows)
        check_finite(filled, "inputs")
        return filled


def _turned(
    rows: Tensor, shape: tuple[int, ...], layout: Layout | None
) -> tuple[Tensor, Layout | None, tuple[str, ...]]:
    """Rows of another shape as inputs of ``shape``: channels first where axes say so, else in the order of the numbers."""
    if rows.ndim > 2 and layout is not None:
        return channels_first(rows, layout)
    if rows.ndim > 2:
        try:
            turned, found, told = channels_first(rows, None)
        except ValueError:
            turned, found, told = rows, None, ()
        if tuple(turned.shape[1:]) == shape:
            return turned, found, told
    return rows.reshape(len(rows), *shape), layout, ()


def _numbers(x: object) -> AnyArray:
    """Inputs as an array of numbers with one row per sample; anything else is refused in the words scikit-learn uses."""
    array = plain_array(x, "inputs")
    if array.dtype.kind not in "buif":
        raise ValueError(
            f"inputs must be numbers; got an array of type {array.dtype}. Pass a pandas frame, whose columns of words become "
            "one-hot columns."
        )
    if array.ndim < 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: inputs need one row per sample. Reshape your data, with "
            "X[:, None] for one number per sample."
        )
    if array.shape[0] == 0 or 0 in array.shape[1:]:
        raise ValueError(
            f"Found array with {array.shape[0]} sample(s) and {int(np.prod(array.shape[1:]))} feature(s) "
            f"(shape={array.shape}) while a minimum of 1 is required."
        )
    return array


def _medians(rows: Tensor) -> Tensor:
    """Median of each number over the rows that have it; a number without any value counts as zero."""
    if not bool(torch.isnan(rows).any()):
        return torch.zeros(rows.shape[1:], dtype=rows.dtype)
    return torch.nan_to_num(torch.nanquantile(rows, 0.5, dim=0))


def _gaps(rows: Tensor) -> tuple[str, ...]:
    holes = torch.isnan(rows).reshape(len(rows), -1)
    count = int(holes.sum())
    if not count:
        return ()
    return (
        f"{count} missing value{'s' if count > 1 else ''} in {int(holes.any(1).sum())} of {len(rows)} rows: filled in with "
        "training medians",
    )

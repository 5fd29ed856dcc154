"""Columns of a frame as numbers, learnt once: which words a column has, and that new rows are read alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priorscope.data.tables._column import Column
from priorscope.data.tables._frame import Frame
from priorscope.data.tables._pandas import column_name, frame_columns
from priorscope.data.tables._table import categories

if TYPE_CHECKING:
    import pandas as pd

__all__: list[str] = []


@dataclass(frozen=True)
class FrameCoding:
    """Names of the columns in order, the words of those that hold words (None for numbers), and what was decided.

    Example:
        >>> import pandas as pd
        >>> coding = FrameCoding.learn(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))
        >>> coding.names, coding.words
        (('a', 'b'), (None, ('x', 'y')))
    """

    names: tuple[str, ...]
    words: tuple[tuple[str, ...] | None, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def learn(cls, frame: pd.DataFrame) -> FrameCoding:
        """Read the columns of training rows; those without any value and those that number the rows are left out."""
        read = Frame.of(frame).samples(None)
        columns, told = read.columns, read.notes
        empty = [c.name for c in columns if c.gaps.all()]
        full = [c for c in columns if not c.gaps.all()]
        if not full:
            raise ValueError(f"inputs must have at least one feature with values; got a frame of shape {frame.shape}.")
        words = tuple(_words(c) for c in full)
        notes = [*told, *(note for c in full for note in c.notes)]
        if empty:
            notes.append(f"columns without any value are left out: {', '.join(empty[:10])}")
        hot = [f"{c.name} ({len(found)})" for c, found in zip(full, words, strict=True) if found is not None]
        if hot:
            notes.append(f"columns of words became one column of 0 and 1 per word: {', '.join(hot[:10])}")
        return cls(tuple(c.name for c in full), words, tuple(notes))

    def __call__(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Rows as numbers (n, columns), NaN in the gaps of numbers."""
        have = {column_name(name).strip() for name in frame.columns}
        lacking = [
            name for name in self.names if name not in have and " (" not in name and not name.startswith("column ")
        ]
        if lacking:
            raise ValueError(
                f"the frame lacks {', '.join(map(repr, lacking[:5]))}, which the model was fitted on; it has "
                f"{', '.join(sorted(have)[:10])}."
            )
        columns = {c.name: c for c in frame_columns(frame, "the frame")[0]}
        parts = []
        for name, words in zip(self.names, self.words, strict=True):
            column = columns[name]
            parts.append(_numbers(column)[:, None] if words is None else _hot(column, words))
        return np.concatenate(parts, 1)


def _words(column: Column) -> tuple[str, ...] | None:
    """The words of a column in order, an empty one last where cells are missing; None for numbers."""
    if column.kind != "words":
        return None
    words = categories(column)
    return (*words, *([""] if column.gaps.any() else []))


def _numbers(column: Column) -> NDArray[np.float64]:
    if column.kind == "words" and not column.gaps.all():
        odd = next(word for word in column.words if word)
        raise ValueError(f"column {column.name!r} held numbers when the model was fitted; now it holds {odd!r}.")
    return column.numbers


def _hot(column: Column, words: tuple[str, ...]) -> NDArray[np.float64]:
    cells = np.array(column.words, dtype=str) if column.labels is not None else _written(column)
    return np.stack([np.equal(cells, word) for word in words], 1).astype(np.float64)


def _written(column: Column) -> NDArray[np.str_]:
    """Numbers where words are known: as they would be written."""
    return np.array(["" if np.isnan(v) else f"{v:g}" for v in column.numbers], dtype=str)

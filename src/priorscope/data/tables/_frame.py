"""Rows with named columns: what every table is once it is read, whatever format it came in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priorscope.data.tables._column import Column
from priorscope.data.tables._counting import counting_columns
from priorscope.printing import printed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Frame"]


@printed
@dataclass(frozen=True)
class Frame:
    """Rows with named columns, the target among them or not: values, names and kinds, and what was decided in reading.

    A reader of tables returns one; ``index`` names a column that is known to number the rows.

    Example:
        >>> import pandas as pd
        >>> frame = Frame.of(pd.DataFrame({"size": [1.5, None], "kind": ["a", "b"]}))
        >>> frame.names, frame.kinds, len(frame)
        (('size', 'kind'), ('numbers', 'words'), 2)
    """

    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    index: str | None = None
    apart: tuple[str, ...] = ()  # what a second reader makes of it, where that differs
    rows: NDArray[np.int64] | None = None  # which rows these are of those that were read; None: all

    @classmethod
    def of(cls, values: pd.DataFrame, what: str = "the frame") -> Frame:
        """The columns of a pandas frame, read by their types and, where they hold objects, cell by cell."""
        from priorscope.data.tables._pandas import frame_columns

        columns, notes = frame_columns(values, what)
        return cls(tuple(columns), notes)

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called, in order."""
        return tuple(c.name for c in self.columns)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What the columns hold."""
        return tuple(c.kind for c in self.columns)

    def __len__(self) -> int:
        return len(self.columns[0].numbers) if self.columns else 0

    def samples(self, target: str | None, keep: Collection[str] = ()) -> Frame:
        """The frame without columns that number the rows (but for those in ``keep``) and rows without any input; all told.

        A row that holds the ``target`` alone is a total or the like, and no sample; where the target is None all rows stay.

        Example:
            >>> import pandas as pd
            >>> frame = Frame.of(pd.DataFrame({"id": [1, 2, 3, None], "size": [2.0, 3, 5, None], "sum": [4.0, 5, 6, 9]}))
            >>> found = frame.samples("sum")
            >>> found.names, len(found), found.notes[0]
            (('size', 'sum'), 3, '1 of 4 rows holds no input and is left out, such as data row 4 (sum 9)')
        """
        whole = self._with_inputs([c for c in self.columns if c.name != target], target)
        inputs = [c for c in whole.columns if c.name != target]
        out = [c.name for c in counting_columns(inputs, self.index) if c.name not in keep]
        notes = tuple(
            f"column {name!r} numbers the rows and is left out"
            + ("" if name == self.index else f" (keep={[name]} keeps it)")
            for name in out
        )
        fewer = replace(
            whole, columns=tuple(c for c in whole.columns if c.name not in out), notes=(*whole.notes, *notes)
        )
        return fewer._with_inputs([c for c in inputs if c.name not in out], target) if out else fewer

    def _with_inputs(self, inputs: Sequence[Column], target: str | None) -> Frame:
        """The rows that hold any of these inputs; all of them where there is one column, whose gaps are gaps."""
        if len(inputs) < 2 or target is None:
            return self
        gone = np.logical_and.reduce([c.gaps for c in inputs])
        if not gone.any() or gone.all():
            return self
        first, n = int(np.flatnonzero(gone)[0]), int(gone.sum())
        held = next((c for c in self.columns if c.name == target), None)
        value = "" if held is None or held.gaps[first] else f" ({target} {held.cell(first)})"
        note = (
            f"{n} of {len(self)} rows {'holds' if n == 1 else 'hold'} no input and {'is' if n == 1 else 'are'} left out, such as "
            f"data row {first + 1}{value}"
        )
        rows = (np.arange(len(self)) if self.rows is None else self.rows)[~gone]
        return replace(self, columns=tuple(c.take(~gone) for c in self.columns), notes=(*self.notes, note), rows=rows)

    def pandas(self) -> pd.DataFrame:
        """The same as a pandas frame: integers where none is missing, other numbers as floats, words with None in gaps.

        Example:
            >>> import pandas as pd
            >>> Frame.of(pd.DataFrame({"a": ["1", "2"], "b": ["x", ""]})).pandas().isna().to_numpy().tolist()
            [[False, False], [False, True]]
        """
        import pandas as pd

        return pd.DataFrame({column.name: _values(column) for column in self.columns})


def _values(column: Column) -> NDArray[np.generic]:
    """The cells of a column in the type that says what they are."""
    if column.kind == "numbers":
        whole = column.whole and not column.gaps.any() and np.abs(column.numbers).max() < 2**53
        return column.numbers.astype(np.int64) if whole else column.numbers
    return np.array([word or None for word in column.words], dtype=object)

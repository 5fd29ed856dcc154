"""Columns that number the rows: found by their values, whatever they are called."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from priorscope.data.tables._column import Column

__all__: list[str] = []

INDEX_NAMES = frozenset({"", "unnamed: 0", "index", "idx", "id", "rownames", "row", "no", "no.", "nr", "nr.", "#"})
IN_ORDER, IN_ANY_ORDER = (
    10,
    20,
)  # rows from which 1, 2, 3 … and mixed or rising integers are believed to be no measurement
_CLOCK = re.compile(
    r"(?:^|[^a-z])(?:year|jahr|month|week|day|date|time|hour|minute|second|age|step|epoch|t|x|rank|order)s?(?:$|[^a-z])"
)


def counting_columns(columns: Sequence[Column], index: str | None = None) -> list[Column]:
    """The columns that number the rows: ``index``, and those that :func:`counts_rows` finds; never all of them.

    A single column of numbers that counts stays, for it is all there is to learn from.
    """
    found = [c for c in columns if c.name == index or counts_rows(c)]
    return found if len(found) < len(columns) else found[:-1]


def counts_rows(column: Column) -> bool:
    """Whether a column numbers the rows.

    One that is called id, index or the like does when it counts 0, 1, 2 … or 1, 2, 3 …. Whatever it is called, a column of
    integers does when they are consecutive (10 rows or more in order, 20 in any order), or only rise without two alike (20
    rows), but for names of time, age, rank and order, where such numbers say something.

    Example:
        >>> from priorscope.data.tables._column import read_column
        >>> cells = [str(v) for v in range(100, 130)]
        >>> [counts_rows(read_column(name, cells, ".", "t")) for name in ("PassengerId", "year")]
        [True, False]
    """
    values = column.numbers
    if column.kind != "numbers" or len(values) < 3 or np.isnan(values).any():
        return False
    if column.name.strip().lower() in INDEX_NAMES and counts_from_start(column):
        return True
    if len(values) < IN_ORDER or not column.whole:
        return False
    if _CLOCK.search(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column.name).lower()):
        return False
    steps = np.diff(values)
    if (steps == 1).all() or len(values) < IN_ANY_ORDER:
        return bool((steps == 1).all())
    return bool((steps > 0).all()) or bool((np.diff(np.sort(values)) == 1).all())


def counts_from_start(column: Column) -> bool:
    """Whether a column counts 0, 1, 2 … or 1, 2, 3 … in this order."""
    values = column.numbers
    if column.kind != "numbers" or len(values) < 3:
        return False
    return bool(values[0] in (0, 1) and (np.diff(values) == 1).all())

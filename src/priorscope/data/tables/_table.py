"""Columns as inputs and a target: words become one-hot columns, an index is left out, everything else is told."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorscope.data.arrays._array import AnyArray
from priorscope.data.arrays._targets import FEW
from priorscope.data.tables._column import Column
from priorscope.data.tables._frame import Frame
from priorscope.data.tables._whole import whole_number

__all__: list[str] = []

MAX_CATEGORIES = 100
MANY_ROWS = 10  # fewer rows may each have their own word by chance
TARGET_NAMES = frozenset({"target", "targets", "label", "labels", "class", "outcome"})


@dataclass(frozen=True)
class Table:
    """Inputs (n, columns) with NaN in the gaps, the names of their columns, the targets, what was decided, and which rows."""

    x: NDArray[np.float64]
    names: tuple[str, ...]
    y: AnyArray
    notes: tuple[str, ...]
    rows: NDArray[np.int64]


def unique_names(names: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Names that differ: empty ones by position, the second of two alike with a number; and a note.

    Example:
        >>> unique_names(["a", "", "a"])
        (['a', 'column 1', 'a (2)'], ('columns with the same name are told apart: a (2)',))
    """
    out: list[str] = []
    renamed: list[str] = []
    for i, name in enumerate(names):
        base = new = name.strip() or f"column {i}"
        count = 1
        while new in out:
            count += 1
            new = f"{base} ({count})"
        if count > 1:
            renamed.append(new)
        out.append(new)
    note = (f"columns with the same name are told apart: {', '.join(renamed[:5])}",) if renamed else ()
    return out, note


def find_target(names: Sequence[str], target: str | int | tuple[str, ...] | None, file: str) -> int:
    """The position of the target column: by name, else by position (also one in digits), the last by default."""
    target = ".".join(target) if isinstance(target, tuple) else target
    if target is None:
        return len(names) - 1
    if isinstance(target, str) and target.strip() not in names and whole_number(target):
        target = int(target)
    if isinstance(target, int):
        if -len(names) <= target < len(names):
            return target % len(names)
    elif target.strip() in names:
        if f"{target.strip()} (2)" in names:
            raise ValueError(f"{file} has several columns {target!r}; give the position of the target instead.")
        return list(names).index(target.strip())
    shown = ", ".join(names[:20]) + _more(names)
    close = difflib.get_close_matches(str(target), names, 1)
    hint = f" Did you mean {close[0]!r}?" if close and isinstance(target, str) else ""
    raise ValueError(f"{file} has no column {target!r} for the target; its columns are {shown}.{hint}")


def make_table(
    columns: Sequence[Column],
    target: str | int | tuple[str, ...] | None,
    file: str,
    index: str | None = None,
    keep: Collection[str] = (),
) -> Table:
    """Inputs and targets of the columns; ``index`` names a column that is known to number the rows.

    Columns without any value and rows without any input are left out. So are columns that number the rows, but for those
    that ``keep`` names. Gaps in words are a category of their own; gaps in numbers stay NaN; gaps in the target are refused.

    Example:
        >>> from priorscope.data.tables._column import read_column
        >>> columns = [read_column("a", ["1", "2"], ".", "t"), read_column("b", ["x", "y"], ".", "t")]
        >>> make_table(columns, "a", "t").names
        ('b=x', 'b=y')
    """
    names = [c.name for c in columns]
    full = [c for c in columns if not c.gaps.all()]
    if not full:
        raise ValueError(f"{file} holds no values at all.")
    if target is None:
        name = full[-1].name
        _check_last(full, file)
    else:
        name = names[find_target(names, target, file)]
    samples = Frame(tuple(columns), index=index).samples(name, keep)
    chosen = next(c for c in samples.columns if c.name == name)
    notes = [f"target: {'the last column' if target is None else 'column'}{',' * (target is None)} {name!r}"]
    if chosen.gaps.any():
        whole = columns[names.index(name)].gaps
        first = int(np.flatnonzero(whole)[0])
        raise ValueError(
            f"the target column {name!r} of {file} has missing values in {int(whole.sum())} of {len(whole)} rows (first in "
            f"data row {first + 1}). Fill them in or drop these rows first."
        )
    inputs = [c for c in samples.columns if c is not chosen and not c.gaps.all()]
    if not inputs:
        raise ValueError(f"{file} needs a target column and at least one input column; it has one column.")
    notes += samples.notes
    empty = [c.name for c in columns if c.gaps.all()]
    if empty:
        notes.append(f"columns without any value are left out: {', '.join(empty[:10])}")
    x, encoded, told = encode_inputs(inputs, file)
    notes.insert(1, f"input columns: {', '.join(encoded[:20])}" + _more(encoded))
    notes += told
    notes += () if chosen.kind == "truth" else chosen.notes
    n_repeated = _repeated(columns)
    if n_repeated:
        notes.append(f"{n_repeated} of {len(x)} rows repeat an earlier row; they may fall on both sides of the split")
    rows = np.arange(len(x)) if samples.rows is None else samples.rows
    return Table(x, tuple(encoded), _targets(chosen), tuple(notes), rows)


def _check_last(columns: Sequence[Column], file: str) -> None:
    """Ask which column is the target where another than the last is called so."""
    *before, last = (c.name for c in columns)
    called = [name for name in before if name.lower() in TARGET_NAMES]
    if called and last.lower() not in {"y", *TARGET_NAMES}:
        raise ValueError(
            f"the target of {file} may be the last column, {last!r}, or {called[0]!r} by its name. Pass target= with the name."
        )


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - 20} more" if len(names) > 20 else ""


def encode_inputs(columns: Sequence[Column], file: str) -> tuple[NDArray[np.float64], list[str], tuple[str, ...]]:
    """Inputs (n, columns) with one column of 0 and 1 per word, the names of the columns, and notes on them."""
    arrays: list[NDArray[np.float64]] = []
    names: list[str] = []
    notes: list[str] = []
    for column in columns:
        found, labels = _encoded(column, file, notes)
        arrays += found
        names += labels
        notes += column.notes
    constant = [n for n, values in zip(names, arrays) if len(values) > 1 and (values == values[0]).all()]
    if constant:
        notes.append(f"input columns that never change: {', '.join(constant[:10])}")
    return np.stack(arrays, 1), names, tuple(notes)


def categories(column: Column, of: str = "") -> list[str]:
    """The different words of a column in order; refused where they are too many, or where every row has its own.

    Example:
        >>> from priorscope.data.tables._column import read_column
        >>> categories(read_column("colour", ["red", "blue", "red"], ".", "t"))
        ['blue', 'red']
    """
    words = sorted(set(column.words) - {""})
    if len(words) > MAX_CATEGORIES:
        raise ValueError(
            f"column {column.name!r}{of} has {len(words)} different words, too many for one-hot columns "
            f"(at most {MAX_CATEGORIES}). Drop it if it is a name or an identifier, or encode it yourself."
        )
    if len(words) >= MANY_ROWS and len(words) == len(column.words):
        raise ValueError(
            f"column {column.name!r}{of} has another word in every row, such as {words[0]!r}: as one-hot columns they would say "
            "nothing. Drop it if it is a name or an identifier; write it as numbers if it holds some."
        )
    return words


def _encoded(column: Column, file: str, notes: list[str]) -> tuple[list[NDArray[np.float64]], list[str]]:
    """The numbers of a column, or one column of 0 and 1 per word."""
    if column.kind != "words":
        return [column.numbers], [column.name]
    words = categories(column, f" of {file}")
    cells = np.array(column.words, dtype=str)
    arrays = [np.equal(cells, word).astype(np.float64) for word in words]
    names = [f"{column.name}={word}" for word in words]
    if column.gaps.any():
        notes.append(f"column {column.name!r}: {int(column.gaps.sum())} missing words are a category of their own")
        arrays.append(column.gaps.astype(np.float64))
        names.append(f"{column.name}=(missing)")
    return arrays, names


def _repeated(columns: Sequence[Column]) -> int:
    """How many rows are equal to an earlier one, by a hash of 64 bits per row."""
    import pandas as pd

    total = np.zeros(len(columns[0].numbers), dtype=np.uint64)
    for column in columns:
        cells = column.numbers if column.labels is None else column.labels.astype(object)
        total = total * np.uint64(0x9E3779B97F4A7C15) + pd.util.hash_array(cells, categorize=False)
    return len(total) - len(np.unique(total))


def _targets(column: Column) -> AnyArray:
    """Words and truth values as words; few integers as integers, other numbers as floats."""
    if column.kind != "numbers":
        return np.array(column.words, dtype=str)
    if not column.whole:
        return column.numbers
    if np.abs(column.numbers).max() < 2**53:
        few = len(np.unique(column.numbers)) <= FEW
        return column.numbers.astype(np.int64) if few else column.numbers
    words = column.words  # digits beyond those of a float: classes by their words
    plain = all(whole_number(c) for c in words) and len(set(words)) <= FEW
    return np.array(words, dtype=str) if plain else column.numbers

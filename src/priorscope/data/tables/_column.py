"""One column of a table: numbers, truth values or words; dates, units and mixtures are refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from priorscope.data.tables._notation import Decimal, Numeral, read_numeral

__all__: list[str] = []

GAPS = frozenset(  # a gap in any column
    {"", "na", "n/a", "nan", "-nan", "null", "(null)", "?", "-", "--", ".", "nat", "#n/a", "#na", "#n/a n/a", "<na>"}
    | {"missing", "undefined", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan", "#value!", "#div/0!", "#null!"}
)
NUMBER_GAPS = GAPS | {"none", "nil"}  # words, but no numbers
TRUTH = ({"yes", "no"}, {"true", "false"}, {"y", "n"}, {"t", "f"}, {"on", "off"})
TRUE = frozenset({"yes", "true", "y", "t", "on"})
_LONGEST_GAP = max(map(len, NUMBER_GAPS))
_PLAIN = re.compile(r"[+-]?(?:[0-9]{1,300}\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?(?:[T ]+\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})(?:[T ]+\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*(?:[ap]m)?"
    rf"|(?:\w+,?\s+)?(?:\d{{1,2}}[ .\-]+)?{_MONTH}[ .,\-]+\d{{1,4}}(?:,?[ \-]+\d{{2,4}})?",
    re.IGNORECASE,
)
_UNIT = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?\s*([^\W\d_]+[²³]?|°[CF]?)")


@dataclass(frozen=True)
class Column:
    """A column as read: ``numbers`` (NaN for a gap; truth values are 0 and 1) or ``words`` (empty for a gap).

    ``labels`` are its cells as words, for use as classes (None where the numbers say it all); ``whole`` says that all
    numbers are written as integers.
    """

    name: str
    kind: Literal["numbers", "truth", "words"]
    numbers: NDArray[np.float64]
    labels: NDArray[np.str_] | None = None
    whole: bool = False
    notes: tuple[str, ...] = ()

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Which rows hold nothing."""
        return np.isnan(self.numbers) if self.labels is None else self.labels == ""

    @property
    def words(self) -> list[str]:
        """The cells as words."""
        return [""] * len(self.numbers) if self.labels is None else self.labels.tolist()

    def cell(self, row: int) -> str:
        """One cell as it is told in a sentence."""
        return f"{self.numbers[row]:g}" if self.labels is None else str(self.labels[row])

    def take(self, rows: NDArray[np.bool_]) -> Column:
        """The column with these rows."""
        return replace(self, numbers=self.numbers[rows], labels=None if self.labels is None else self.labels[rows])


def read_column(name: str, cells: Sequence[str], decimal: Decimal, file: str) -> Column:
    """What the cells of a column are; see the notes of the column for what was decided.

    Example:
        >>> read_column("a", ["1", "NA", "2.5"], ".", "t.csv").numbers.tolist(), read_column("b", ["x", "y"], ".", "t").kind
        ([1.0, nan, 2.5], 'words')
    """
    cells = [cell.strip() for cell in cells]
    distinct = dict.fromkeys(cells)
    gaps = {c for c in distinct if len(c) <= _LONGEST_GAP and c.lower() in NUMBER_GAPS}
    if decimal == "." and len(gaps) < len(distinct) and all(_PLAIN.fullmatch(c) for c in distinct if c not in gaps):
        return _plain_numbers(name, cells, gaps, file)
    numerals = {c: read_numeral(c, decimal) for c in distinct if c not in gaps}
    if numerals and all(v is not None for v in numerals.values()):
        return _numbers(name, cells, {c: v for c, v in numerals.items() if v is not None}, gaps, decimal, file)
    present = [c for c in cells if c.lower() not in GAPS]
    n_numbers = sum(numerals.get(c) is not None for c in present)
    if 2 * n_numbers > len(present):
        row = next(i for i, c in enumerate(cells) if c not in gaps and numerals[c] is None)
        raise ValueError(
            f"column {name!r} of {file} holds numbers, but {cells[row]!r} in data row {row + 1}. If that stands "
            "for a missing value, fill it in or drop the row; if the column holds codes, make all of them words."
        )
    _check_dates(name, present, file)
    return _words(name, cells, n_numbers)


def words_column(name: str, cells: Sequence[str]) -> Column:
    """The cells as words, whatever they hold."""
    labels = np.array([cell.strip() for cell in cells], dtype=str)
    return Column(name, "words", np.full(len(labels), np.nan), labels)


def _plain_numbers(name: str, cells: Sequence[str], gaps: set[str], file: str) -> Column:
    """Numbers written as programs write them: the same as ``_numbers``, faster."""
    values = np.array([np.nan if c in gaps else float(c) for c in cells], dtype=np.float64)
    _check_range(name, cells, values, file)
    present = [c for c in cells if c not in gaps]
    whole = all(c.lstrip("+-").isdecimal() for c in present)
    notes = []
    if any(len(c) > 1 and c.lstrip("+-")[:1] == "0" and c.lstrip("+-")[1:2].isdecimal() for c in present):
        notes.append(f"column {name!r}: leading zeros are dropped; make it words if these are codes")
    if whole and np.nanmax(np.abs(values)) >= 2**53 and len({int(c) for c in present}) > len(set(map(float, present))):
        notes.append(
            f"column {name!r}: integers above 2^53 that differ in their last digits are read as the same number"
        )
    labels = np.array(["" if c in gaps else c for c in cells], dtype=str)
    return Column(name, "numbers", values, labels, whole, tuple(notes))


def _check_range(name: str, cells: Sequence[str], values: NDArray[np.float64], file: str) -> None:
    if np.isinf(values).any():
        huge = cells[int(np.flatnonzero(np.isinf(values))[0])]
        raise ValueError(f"column {name!r} of {file} holds {huge[:40]}, beyond the range of float64; rescale it.")


def _numbers(
    name: str, cells: Sequence[str], numerals: dict[str, Numeral], gaps: set[str], decimal: Decimal, file: str
) -> Column:
    """A column of numbers in one unit; mixed currencies, and percentages beside plain numbers, are refused."""
    money = {v.money for v in numerals.values()} - {""}
    percent = {v.percent for v in numerals.values()}
    if len(money) > 1 or (money and True in percent):
        raise ValueError(
            f"column {name!r} of {file} mixes {', '.join(sorted(money))}{' and %' if True in percent else ''}: these are not "
            "the same unit. Convert them first."
        )
    if len(percent) > 1:
        row = next(i for i, c in enumerate(cells) if c in numerals and not numerals[c].percent)
        raise ValueError(
            f"column {name!r} of {file} mixes percentages and plain numbers ({cells[row]!r} in data row {row + 1}). "
            "Write all of them one way."
        )
    values = np.array([np.nan if c in gaps else numerals[c].value for c in cells], dtype=np.float64)
    _check_range(name, cells, values, file)
    notes = []
    if money:
        notes.append(f"column {name!r}: amounts in {money.pop()} are read as numbers")
    if True in percent:
        notes.append(f"column {name!r}: percentages are read as fractions, 5% as 0.05")
    if any(v.grouped for v in numerals.values()):
        example = next(c for c, v in numerals.items() if v.grouped)
        notes.append(f"column {name!r}: {example} is read as {numerals[example].value:g}, with separated thousands")
    labels = np.array(["" if c in gaps else c for c in cells], dtype=str)
    return Column(name, "numbers", values, labels, all(v.whole for v in numerals.values()), tuple(notes))


def _words(name: str, cells: Sequence[str], n_numbers: int) -> Column:
    """A column of words, or of truth values where all cells are yes and no or the like."""
    labels = np.array(["" if c.lower() in GAPS else c for c in cells], dtype=str)
    lower = {c.lower() for c in labels.tolist()} - {""}
    if lower and any(lower <= pair for pair in TRUTH):
        numbers = np.array([np.nan if not c else float(c.lower() in TRUE) for c in labels.tolist()])
        if len(set(labels.tolist()) - {""}) > len(lower):  # YES and yes are one
            labels = np.array([c.lower() for c in labels.tolist()], dtype=str)
        shown = ", ".join(f"{c} is {int(c in TRUE)}" for c in sorted(lower))
        return Column(name, "truth", numbers, labels, notes=(f"column {name!r} holds truth values: {shown}",))
    notes = []
    if n_numbers:
        notes.append(f"column {name!r} holds words and {n_numbers} numbers; all are read as words")
    found = sorted(set(labels.tolist()) - {""})
    if len(lower) < len(found):
        alike = next(c for c in found if sum(c.lower() == d.lower() for d in found) > 1)
        both = ", ".join(d for d in found if d.lower() == alike.lower())
        notes.append(f"column {name!r}: words that differ only in case are kept apart, such as {both}")
    return Column(name, "words", np.full(len(labels), np.nan), labels, notes=tuple(notes))


def _check_dates(name: str, present: Sequence[str], file: str) -> None:
    """Refuse dates, times, and numbers with a unit: as words they would mean nothing."""
    if not present:
        return
    n_dates = sum(_DATE.fullmatch(c) is not None for c in present)
    if 2 * n_dates > len(present):
        raise ValueError(
            f"column {name!r} of {file} holds dates or times such as {present[0]!r}. Turn it into numbers first (days since "
            "the first, month, weekday), or drop it."
        )
    units = [_UNIT.fullmatch(c) for c in present]
    if all(units) and len({u[1] for u in units if u}) == 1 and len(set(present)) > 2:
        raise ValueError(
            f"column {name!r} of {file} holds numbers with a unit, such as {present[0]!r}. Write the numbers alone."
        )

"""Text as a table: its encoding, what stands between the columns, whether the first row holds names."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from priorscope.data.formats._row_of_names import has_names, mostly_numbers
from priorscope.data.tables._notation import Decimal, is_numeral, votes

__all__: list[str] = []

_SEPARATORS = ("\t", ";", "|", ",")
_BLANK = " "
_SAMPLE = 200  # rows that are looked at to find the separator
_LINES = 1000  # lines that hold them, with empty ones and fields of several lines
_NAMES = {"\t": "tabs", ";": "';'", "|": "'|'", ",": "','", _BLANK: "blanks"}


@dataclass(frozen=True)
class TextTable:
    """Names and cells (column by column) of a table, its decimal sign, and what was decided on the way.

    ``named`` says that there is a row of names, ``index`` is that of a first column which the row does not have, as R writes it;
    ``body`` is the text without what stands before the table.
    """

    names: list[str]
    columns: list[list[str]]
    decimal: Decimal
    separator: str
    named: bool
    body: str
    index: str | None = None
    notes: tuple[str, ...] = field(default=())


def decode(raw: bytes, file: str) -> tuple[str, tuple[str, ...]]:
    """Bytes as text: by their mark, as UTF-8, else as Latin-1 with a note; what is no text is refused."""
    for mark, code in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if raw.startswith(mark):
            try:
                return _checked(raw.decode(code), file), ()
            except UnicodeDecodeError as error:
                raise ValueError(f"{file} cannot be read as a table: it is no whole {code} text ({error}).") from error
    try:
        return _checked(raw.decode("utf-8"), file), ()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    controls = sum((ord(c) < 32 and c not in "\t\n\r\f") or 127 <= ord(c) < 160 for c in text[:100_000])
    if "\0" in text or controls > 0.02 * min(len(text), 100_000):
        raise ValueError(f"{file} cannot be read as a table: it holds bytes that are no text. Save it as UTF-8.")
    return text, ("the text is not UTF-8; it is read as Latin-1",)


def _checked(text: str, file: str) -> str:
    if "\0" in text:
        raise ValueError(f"{file} cannot be read as a table: it holds zero bytes, so it is no text. Save it as UTF-8.")
    return text


def read_text_table(text: str, file: str, header: bool | None, decimal: Decimal | None) -> TextTable:
    """The table in a text; ``header`` and ``decimal`` are found out when None."""
    text, notes, told = _without_preamble(text)
    if not text.strip():
        raise ValueError(f"{file} is empty; a table needs a row of names and at least 2 rows of data.")
    separator = told or find_separator(text, file)
    rows = [row for row in _rows(text, separator, file) if any(cell.strip() for cell in row)]
    rows, index, more = _even(rows, separator, file)
    notes += more
    notes += separator_note(separator)
    named, why = has_names(rows, file) if header is None else (header, "")
    if index is not None and not named:
        raise ValueError(f"the first row of {file} has one field less than the others, and they have no names. Add it.")
    notes += (why,) if why else ()
    names = [cell.strip() for cell in rows[0]] if named else [f"column {i}" for i in range(len(rows[0]))]
    body = rows[1:] if named else rows
    if not body:
        raise ValueError(f"{file} has a row of names and no rows of data; a table needs at least 2.")
    columns = [list(column) for column in zip(*body)]
    sign, note = (decimal, "") if decimal is not None else _find_decimal(columns, separator, file)
    if decimal is None and note:
        notes += (note,)
    return TextTable(names, columns, sign, separator, named, text, index, notes)


def _without_preamble(text: str) -> tuple[str, tuple[str, ...], str | None]:
    """The text without a line that names the separator, lines of remarks, and the sign before a row of names."""
    separator = None
    if text[:4].lower() == "sep=" and len(text) > 5 and text[4] in "\t;|," and text[5] in "\r\n":
        separator, text = text[4], text[6:].lstrip("\r\n")
    lines = text.lstrip("\r\n").splitlines(keepends=True)
    n = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    if n == 0 or n == len(lines):
        return text, (), separator
    last = lines[n - 1].lstrip("#").strip()
    wide = [s for s in _SEPARATORS if s in last and last.count(s) == lines[n].count(s)]
    if wide or (len(last.split()) == len(lines[n].split()) > 1):  # numpy.savetxt writes the names like this
        lines[n - 1], n = last + "\n", n - 1
    notes = (f"{n} lines of remarks (#) are left out",) if n else ()
    return "".join(lines[n:]), notes, separator


def _rows(text: str, separator: str, file: str) -> Iterator[list[str]]:
    if separator == _BLANK:
        yield from (line.split() for line in text.splitlines())
        return
    try:
        stream = io.StringIO(text, newline="")
        yield from csv.reader(stream, delimiter=separator, skipinitialspace=separator != "\t", strict=True)
    except csv.Error as error:
        raise ValueError(f"{file} cannot be read as a table ({error}): check the quotation marks.") from error


def separator_note(separator: str) -> tuple[str, ...]:
    """What to tell of a separator that is not the comma."""
    return () if separator == "," else (f"columns are separated by {_NAMES[separator]}",)


def find_separator(text: str, file: str) -> str:
    """The separator that splits every row into as many fields, most of them numbers; blanks if no other does."""
    text = _first_lines(text)
    best: tuple[float, int, str] | None = None
    loose: tuple[float, str] | None = None
    trouble: ValueError | None = None
    for separator in (*_SEPARATORS, _BLANK):
        if separator == _BLANK and (best or loose):
            break
        if separator not in text:
            continue
        try:
            rows = [r for r in islice(_rows(text, separator, file), _SAMPLE) if any(c.strip() for c in r)]
        except ValueError as error:
            trouble = error
            continue
        widths = Counter(len(r) for r in rows)
        width, often = max(widths.items(), key=lambda item: (item[1], item[0]))
        if width < 2:
            continue
        body = [len(r) for r in rows[1:]]
        if len(widths) == 1 or (set(body) == {len(rows[0]) + 1} and len(rows) > 2):
            cells = [c for r in rows[1:] or rows for c in r]
            score = sum(is_numeral(c) for c in cells) / max(len(cells), 1)
            if best is None or (score, width) > best[:2]:
                best = (score, width, separator)
        elif separator != _BLANK and (loose is None or often / len(rows) > loose[0]):
            loose = (often / len(rows), separator)
    if best is not None:
        return best[2]
    if loose is not None:
        return loose[1]
    if trouble is not None:
        raise trouble
    return ","


def _first_lines(text: str) -> str:
    """The lines that are looked at: a text is not copied to read its first rows."""
    end = -1
    for _ in range(_LINES):
        end = text.find("\n", end + 1)
        if end < 0:
            return text
    return text if text.count('"', 0, end) % 2 else text[: end + 1]  # inside of quotes: another line is needed


def _even(rows: list[list[str]], separator: str, file: str) -> tuple[list[list[str]], str | None, tuple[str, ...]]:
    """Rows of one length, refusing others; a first row one field short gets a name for the first column."""
    widths = Counter(len(r) for r in rows)
    if len(rows) > 2 and {len(r) for r in rows[1:]} == {len(rows[0]) + 1}:
        if not any(r[-1].strip() for r in rows[1:]):  # a separator at the end of every row
            return [rows[0], *(r[:-1] for r in rows[1:])], None, ()
        first = [r[0] for r in rows[1:]]
        if len(set(first)) == len(first):
            name = "row names"
            return [[name, *rows[0]], *rows[1:]], name, ()
    if len(widths) > 1:
        width = max(widths.items(), key=lambda item: (item[1], item[0]))[0]
        number, row = next((i, r) for i, r in enumerate(rows, 1) if len(r) != width)
        raise ValueError(
            f"{file} cannot be read as a table: row {number} has {len(row)} fields, most rows have {width} (between "
            f"{_NAMES[separator]}). Quote fields that hold the separator, and give every row as many."
        )
    return rows, None, ()


def _find_decimal(columns: Sequence[Sequence[str]], separator: str, file: str) -> tuple[Decimal, str]:
    """The decimal sign of the whole table, by the columns that leave no doubt; with a note for a comma."""
    if not any("," in c for column in columns for c in column):
        return ".", ""
    points = commas = either = False
    open_cell = ""
    for column in columns:
        if not mostly_numbers(column):
            continue
        point, comma, both = votes(c.strip() for c in dict.fromkeys(column))
        points, commas = points or point > 0, commas or comma > 0
        if both and not (point or comma):
            with_comma = next((c for c in column if "," in c), "")
            either, open_cell = either or bool(with_comma), with_comma or open_cell
    if commas and points:
        raise ValueError(
            f"{file} has numbers with a decimal point and numbers with a decimal comma. Write all of them one way, or pass "
            "decimal='.' or decimal=','."
        )
    if commas:
        return ",", "the decimal sign is a comma"
    if either and not points and separator != ",":
        cell = open_cell.strip()
        raise ValueError(
            f"{cell!r} in {file} may be {cell.replace(',', '')} or {cell.replace(',', '.')}. "
            "Pass decimal='.' (the comma separates thousands) or decimal=','."
        )
    return ".", ""

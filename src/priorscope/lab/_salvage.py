"""Saving what is whole from a store that was damaged or cut short."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priorscope.lab._paper import SCALES
from priorscope.lab._row import DamagedRow, Row
from priorscope.lab._store import Store
from priorscope.lab._store_file import StoreError, as_text

_HOLE = 1000  # results in a row, beyond those that an index lists, that may be missing before we take it that there are no more
_PAGES = 100_000  # a header that announces so many more pages than there are is itself damaged


@dataclass(frozen=True)
class Salvaged:
    """How many results were saved, how many the damage took, and whether checksums vouch for the saved ones.

    Example:
        >>> print(Salvaged(saved=198, dropped=2, verified=True))
        198 results saved, 2 dropped as damaged
    """

    saved: int
    dropped: int
    verified: bool

    def __str__(self) -> str:
        doubt = (
            "" if self.verified else "; the store was of a layout without checksums, so values may have changed unseen"
        )
        return f"{self.saved} results saved, {self.dropped} dropped as damaged{doubt}"


def salvage(damaged: str | os.PathLike[str], new: str | os.PathLike[str]) -> Salvaged:
    """Copy every whole result of a damaged store into a new one; the damaged file is only read.

    A file cut short has lost its last pages: they are replaced by empty ones in a temporary copy, and each result is
    then read by itself, so that a hole costs the results that lay in it and no others. A result whose checksum is wrong is
    dropped.

    Example:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> with Store(folder / "a.sqlite") as store:
        ...     _ = store.put("squares", 1, {"x": 3, "seed": 0}, {"square": 9})
        >>> salvage(folder / "a.sqlite", folder / "b.sqlite")
        Salvaged(saved=1, dropped=0, verified=True)
    """
    source = Path(damaged)
    if not source.exists():
        raise FileNotFoundError(f"there is no store at {source} to salvage.")
    if Path(new).exists():
        raise ValueError(f"salvage writes a new store, but {new} exists; name a file that is not there yet.")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.sqlite"
        shutil.copyfile(source, copy)
        wal = Path(f"{source}-wal")
        if wal.exists():
            shutil.copyfile(wal, f"{copy}-wal")
        _mend_header(copy)
        try:
            found = _whole_rows(copy)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite may quote a damaged layout in its message
            raise StoreError(f"nothing could be read from {source}: {error}; restore a copy of it.") from error
    if not found.rows and found.lost:
        raise StoreError(f"none of the {found.lost} results in {source} is whole; restore a copy of it.")
    with Store(new) as store:
        store.put_rows(found.rows, found.scales)
    return Salvaged(len(found.rows), found.lost, found.summed)


def _mend_header(path: Path) -> None:
    """Write into the copy the bytes with which every store of ours begins, and the length that the header states.

    File format of SQLite, sec. 1.3: page size at 16, versions and fixed fractions from 18, pages at 28.
    """
    with open(path, "r+b") as file:
        header = file.read(100)
        (size,) = struct.unpack(">H", header[16:18]) if len(header) == 100 else (0,)
        size = 65536 if size == 1 else size
        size = size if size in (2**k for k in range(9, 17)) else 4096
        if len(header) < 100 or not (header.startswith(b"SQLite format 3\0") or os.path.getsize(path) >= size):
            raise StoreError(f"the first page of {path.name} is gone: nothing can be saved from this file.")
        file.seek(0)
        file.write(
            b"SQLite format 3\0" + struct.pack(">H", 1 if size == 65536 else size) + bytes((2, 2, 0, 64, 32, 32))
        )
        (pages,) = struct.unpack(">I", header[28:32])
        there = os.path.getsize(path)
        if there < size * pages <= there + size * _PAGES:
            file.truncate(size * pages)
        elif there < size * pages:
            file.seek(28)
            file.write(struct.pack(">I", there // size))


@dataclass(frozen=True)
class _Found:
    rows: list[Row]
    scales: dict[str, list[str]]
    lost: int
    summed: bool


def _whole_rows(copy: Path) -> _Found:
    """Read every row that the damage left whole, one by one, and count those that it took."""
    with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as db:
        db.text_factory = as_text
        names = [row[1] for row in db.execute("PRAGMA table_info(results)")]
        if len(names) not in (9, 10):
            raise sqlite3.DatabaseError("the table of results is gone")
        summed = len(names) == 10
        known: set[int] = set()  # numbers of the rows that the two indices list
        for index in ("sqlite_autoindex_results_1", "results_by_paper"):
            known |= {n for (n,) in _until_error(db, f"SELECT rowid FROM results INDEXED BY {index}") if n > 0}
        rows: dict[int, Row] = {}
        number, last = 0, max((n for n in known if n <= 2 * len(known) + _HOLE), default=0)  # others are damaged too
        while number < last + _HOLE:  # rows are numbered from 1 without gaps, but for the holes
            number += 1
            values = next(_until_error(db, "SELECT * FROM results WHERE rowid=?", number), None)
            if values is None:
                continue
            known.add(number)
            last = max(last, number)
            with contextlib.suppress(DamagedRow):
                row = Row.checked(values[:9], values[9] if summed else None, summed=summed)
                row.read()
                rows[number] = row
        keys = {row.key for row in rows.values()}
        scales: dict[str, list[str]] = {}
        for key, scale in _until_error(db, "SELECT key, scale FROM scales"):
            if key in keys and scale in SCALES:
                scales.setdefault(key, []).append(scale)
    unique = {row.key: row for row in rows.values()}
    return _Found(list(unique.values()), scales, len(known - rows.keys()), summed)


def _until_error(db: sqlite3.Connection, query: str, *values: int) -> Iterator[tuple[Any, ...]]:
    """The rows of a query up to the first that cannot be read."""
    with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
        yield from db.execute(query, values)

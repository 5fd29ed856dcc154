"""Saving what is whole from a store that was cut short."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from priorscope.lab._point import decode_result
from priorscope.lab._store import Store, StoreError

__all__ = ["salvage"]

_HOLE = 5000  # results in a row that may be missing before we take it that there are no more


def salvage(damaged: str | os.PathLike[str], new: str | os.PathLike[str]) -> int:
    """Copy every whole result of a damaged store into a new one; the damaged file is only read. Gives the number saved.

    A file cut short has lost its last pages: they are replaced by empty ones in a temporary copy, and each result is
    then read by itself, so that a hole costs the results that lay in it and no others.

    Example:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> with Store(folder / "a.sqlite") as store:
        ...     _ = store.put("squares", 1, {"x": 3, "seed": 0}, {"square": 9})
        >>> salvage(folder / "a.sqlite", folder / "b.sqlite")
        1
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
        _pad(copy)
        try:
            return _copy_rows(copy, new)
        except sqlite3.DatabaseError as error:
            raise StoreError(f"nothing could be read from {source}: {error}; restore a copy of it.") from error


def _pad(path: Path) -> None:
    """Bring a cut file back to the length its header states (file format, sec. 1.3: page size at 16, pages at 28)."""
    with open(path, "r+b") as file:
        header = file.read(100)
        if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
            raise StoreError(f"the first page of {path.name} is gone: nothing can be saved from this file.")
        (size,) = struct.unpack(">H", header[16:18])
        (pages,) = struct.unpack(">I", header[28:32])
        whole = (65536 if size == 1 else size) * pages
        if os.path.getsize(path) < whole:
            file.truncate(whole)


def _copy_rows(copy: Path, new: str | os.PathLike[str]) -> int:
    db = sqlite3.connect(copy, isolation_level=None)
    saved = 0
    try:
        scales: dict[str, list[str]] = {}
        for key, scale in _whole(db, "SELECT key, scale FROM scales"):
            scales.setdefault(key, []).append(scale)
        with Store(new) as store, store._transaction() as out:
            rowid = last_whole = 0
            while rowid - last_whole < _HOLE:  # rows are numbered from 1 without gaps, but for the holes
                rowid += 1
                row = next(_whole(db, f"SELECT * FROM results WHERE rowid={rowid}"), None)
                if row is None or not _decodes(row):
                    continue
                last_whole = rowid
                out.execute("INSERT OR IGNORE INTO results VALUES (?,?,?,?,?,?,?,?,?)", row)
                out.executemany(
                    "INSERT OR IGNORE INTO scales VALUES (?,?)", [(row[0], s) for s in scales.get(row[0], [])]
                )
                saved += 1
    finally:
        db.close()
    return saved


def _decodes(row: tuple[Any, ...]) -> bool:
    """Whether the metrics and arrays of a row can be read: a hole may lie inside it."""
    try:
        decode_result(row[4], row[5])
    except Exception:
        return False
    return True


def _whole(db: sqlite3.Connection, query: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a query up to the first that cannot be read."""
    try:
        yield from db.execute(query)
    except sqlite3.DatabaseError:
        return

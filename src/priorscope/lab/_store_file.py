"""The file of a store: opened or laid out, refused where it is another program's, upgraded, written one transaction at a time."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from priorscope.lab._row import COLUMNS, Column, DamagedRow, Row

_SCHEMA_VERSION = 2  # 1 had no checksums
_APPLICATION_ID = 0x7072_7363  # "prsc", so that another program's SQLite file is told apart
_SCHEMA = """
CREATE TABLE IF NOT EXISTS results (
    key TEXT PRIMARY KEY, paper TEXT NOT NULL, version INTEGER NOT NULL, point TEXT NOT NULL,
    metrics TEXT NOT NULL, arrays BLOB, code TEXT NOT NULL, seconds REAL NOT NULL, finished REAL NOT NULL, checksum TEXT);
CREATE INDEX IF NOT EXISTS results_by_paper ON results (paper, version);
CREATE TABLE IF NOT EXISTS scales (key TEXT NOT NULL, scale TEXT NOT NULL, PRIMARY KEY (key, scale)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS failures (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, paper TEXT NOT NULL, version INTEGER NOT NULL, point TEXT NOT NULL,
    attempt INTEGER NOT NULL, traceback TEXT NOT NULL, code TEXT NOT NULL, at REAL NOT NULL);
"""


class StoreError(RuntimeError):
    """The store cannot be read or written; what it already holds is untouched.

    Example:
        >>> import sqlite3, tempfile
        >>> from priorscope.lab import Store
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     other = sqlite3.connect(f"{folder}/other.sqlite")
        ...     other.executescript("CREATE TABLE songs (name)").close()
        ...     other.close()
        ...     try:
        ...         Store(f"{folder}/other.sqlite")
        ...     except StoreError as error:
        ...         print(str(error).removeprefix(folder))
        /other.sqlite is an SQLite file, but not a priorscope store. Give another --store.
    """


def as_text(data: bytes) -> str:
    """Stored text; bytes that damage has made no UTF-8 are kept apart, so that they are found by the checksum.

    Example:
        >>> as_text(b"caf\\xc3\\xa9"), as_text(b"\\xff") == chr(0xDCFF)
        ('café', True)
    """
    return data.decode("utf-8", "surrogateescape")


class StoreFile:
    """An SQLite file of ours, open: ``transaction()`` to write, ``rows()`` to read, every trouble told as a StoreError.

    ``summed`` says whether the table of results has checksums.
    """

    def __init__(self, path: str, *, readonly: bool) -> None:
        """Open the file, or make it where there is none; a file that is no store of ours is refused."""
        self.path, self.readonly = path, readonly
        memory = self.path == ":memory:"
        exists = not memory and os.path.exists(self.path)
        if readonly and not exists:
            raise FileNotFoundError(f"there is no store at {self.path}; run `priorscope reproduce NAME` to make one.")
        if not (memory or readonly):
            self._make_parent(exists)
        self.summed = True  # whether the table of results has checksums
        try:
            self._connection = self._connect(memory)
            self._connection.text_factory = as_text
            self._check()
        except sqlite3.DatabaseError as error:
            self._close_quietly()
            raise self.explain(error) from error
        except UnicodeDecodeError as error:  # SQLite's own message, when it quotes a damaged layout
            self._close_quietly()
            raise StoreError(f"store {self.path}: its layout is not text; {self.damaged()}.") from error
        except StoreError:
            self._close_quietly()
            raise

    def _make_parent(self, exists: bool) -> None:
        parent = Path(self.path).resolve().parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot make the folder of the store {self.path}: {error}. Give another --store."
            ) from error
        if not os.access(parent, os.W_OK) or (exists and not os.access(self.path, os.W_OK)):
            raise StoreError(
                f"the store {self.path} cannot be written here (read-only file or folder). Nothing was changed. "
                "Copy it to a folder of yours, give another --store, or open it with Store(path, readonly=True)."
            )

    def _connect(self, memory: bool) -> sqlite3.Connection:
        if memory:
            return sqlite3.connect(":memory:", isolation_level=None)
        uri = Path(self.path).resolve().as_uri()
        if self.readonly:
            # A write-ahead log needs a writable folder even to read; where there is none nobody else writes either.
            wal = os.path.exists(self.path + "-wal")
            folder_writable = os.access(Path(self.path).resolve().parent, os.W_OK)
            uri += "?mode=ro" if wal or folder_writable else "?mode=ro&immutable=1"
        return sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None)

    def _check(self) -> None:
        """Refuse the files of other programs and of newer layouts; lay out an empty file, and bring an old one up to date."""
        db = self._connection
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version > _SCHEMA_VERSION and application == _APPLICATION_ID:
            raise StoreError(
                f"the store {self.path} was written by a newer priorscope (layout {version}; this one reads up to "
                f"{_SCHEMA_VERSION}). Nothing was changed. Upgrade priorscope, or give another --store."
            )
        if tables and application != _APPLICATION_ID:
            raise StoreError(f"{self.path} is an SQLite file, but not a priorscope store. Give another --store.")
        columns = [row[1] for row in db.execute("PRAGMA table_info(results)")]
        expected = [*COLUMNS.split(", "), *(["checksum"] if version > 1 or "checksum" in columns else [])]
        if (
            tables and columns != expected
        ):  # a store with checksums is never taken for an old one, which would get new ones
            found = ", ".join(columns) or "no columns"
            raise StoreError(f"store {self.path}: its table of results has {found}; {self.damaged()}.")
        if tables:
            self._look_through()
        self.summed = "checksum" in columns or not tables
        if self.readonly:
            return
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        if not tables:
            db.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id={_APPLICATION_ID}; "
                f"PRAGMA user_version={_SCHEMA_VERSION}; COMMIT;"
            )
        elif not self.summed:
            self._add_checksums()

    def _look_through(self) -> None:
        """Refuse a file whose pages do not fit together, or whose results are other ones in the table than in its indexes.

        A single wrong bit can end the table, or the search in an index, early; SQLite then reads fewer rows without a word.
        ``integrity_check`` and not ``quick_check``, which does not look into indexes.
        """
        (found,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise StoreError(f"store {self.path}: {' '.join(str(found).split())}; {self.damaged()}.")

    def _add_checksums(self) -> None:
        """Bring a store of layout 1 to layout 2, all or nothing, and say so."""
        with self.transaction() as db:
            if "checksum" in [row[1] for row in db.execute("PRAGMA table_info(results)")]:
                self.summed = True  # another process was faster
                return
            db.execute("ALTER TABLE results ADD COLUMN checksum TEXT")
            done = 0
            for (number,) in db.execute("SELECT rowid FROM results").fetchall():
                values = db.execute(f"SELECT {COLUMNS} FROM results WHERE rowid=?", [number]).fetchone()
                with contextlib.suppress(DamagedRow):  # what cannot be read gets no checksum, and stays damaged
                    row = Row.checked(values, None, summed=False)
                    row.read()
                    db.execute("UPDATE results SET checksum=? WHERE rowid=?", [row.checksum(), number])
                    done += 1
            db.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
        self.summed = True
        warnings.warn(
            f"the store {self.path} was of layout 1: {done} results got a checksum. Versions of priorscope before this "
            "one cannot open it any more.",
            stacklevel=5,
        )

    def damaged(self) -> str:
        return (
            "the file is damaged or cut short and was left as it is: restore a copy, or save every whole result "
            f"into a new store with `priorscope salvage {self.path} NEW`"
        )

    def explain(self, error: sqlite3.DatabaseError) -> StoreError:
        """SQLite's message, with what it means here and what to do."""
        code = getattr(error, "sqlite_errorname", "")  # errors of the module's own have none
        if code.startswith("SQLITE_FULL"):
            advice = "the disk is full: what was stored is safe; free some space and run the same command to go on"
        elif code.startswith("SQLITE_READONLY"):
            advice = "it is open for reading only: open it without readonly=True, or copy it where you may write"
        elif code.startswith(("SQLITE_LOCKED", "SQLITE_BUSY")):
            advice = "another process has been writing it for 30 s: wait for that run to end, or give another --store"
        elif code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            advice = self.damaged()
        else:
            advice = "nothing was changed"
        return StoreError(f"store {self.path}: {error}; {advice}.")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction; whatever goes wrong in SQLite comes out as a StoreError, and nothing is half written."""
        db = self._connection
        try:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise self.explain(error) from error

    def rows(self, query: str, values: Iterable[Column] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(query, tuple(values)).fetchall()
        except sqlite3.DatabaseError as error:
            raise self.explain(error) from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _close_quietly(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()

"""The run store: one SQLite file, one transaction per result, written by the client alone."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from priorscope.lab._paper import Paper
from priorscope.lab._point import Metrics, Point, canonical_json, encode_result, point_key
from priorscope.lab._row import COLUMNS, Column, DamagedRow, Row

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Store", "StoreError", "default_store_path"]

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


def default_store_path() -> Path:
    """``$PRIORSCOPE_STORE``, or ``runs/store.sqlite`` under the working directory.

    Example:
        >>> default_store_path().suffix
        '.sqlite'
    """
    return Path(os.environ.get("PRIORSCOPE_STORE") or Path("runs") / "store.sqlite")


class Store:
    """All runs of all papers in one SQLite file (write-ahead log, one transaction per result).

    A process killed at any moment leaves every finished result whole and no half of one. A key is stored once: a second
    ``put`` of the same point changes nothing. Open it with ``readonly=True`` to look without ever writing.

    Example:
        >>> store = Store(":memory:")
        >>> store.put("squares", 1, {"x": 3, "seed": 0}, {"square": 9})
        True
        >>> store.table("squares")[["x", "seed", "square"]].values.tolist()
        [[3, 0, 9]]
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, readonly: bool = False) -> None:
        """Open the file, or make it where there is none; a file that is no store of ours is refused."""
        self.path = str(default_store_path() if path is None else path)
        self.readonly = readonly
        memory = self.path == ":memory:"
        exists = not memory and os.path.exists(self.path)
        if readonly and not exists:
            raise FileNotFoundError(f"there is no store at {self.path}; run `priorscope reproduce NAME` to make one.")
        if not (memory or readonly):
            self._make_parent(exists)
        self._summed = True  # whether the table of results has checksums
        try:
            self._connection = self._connect(memory)
            self._connection.text_factory = as_text
            self._check()
        except sqlite3.DatabaseError as error:
            self._close_quietly()
            raise self._explain(error) from error
        except UnicodeDecodeError as error:  # SQLite's own message, when it quotes a damaged layout
            self._close_quietly()
            raise StoreError(f"store {self.path}: its layout is not text; {self._damaged()}.") from error
        except StoreError:
            self._close_quietly()
            raise

    # -- opening ---------------------------------------------------------------------------------------------------

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
        application = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
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
            raise StoreError(f"store {self.path}: its table of results has {found}; {self._damaged()}.")
        self._summed = "checksum" in columns or not tables
        if self.readonly:
            return
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        if not tables:
            db.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id={_APPLICATION_ID}; "
                f"PRAGMA user_version={_SCHEMA_VERSION}; COMMIT;"
            )
        elif not self._summed:
            self._add_checksums()

    def _add_checksums(self) -> None:
        """Bring a store of layout 1 to layout 2, all or nothing, and say so."""
        with self._transaction() as db:
            if "checksum" in [row[1] for row in db.execute("PRAGMA table_info(results)")]:
                self._summed = True  # another process was faster
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
        self._summed = True
        warnings.warn(
            f"the store {self.path} was of layout 1: {done} results got a checksum. Versions of priorscope before this "
            "one cannot open it any more.",
            stacklevel=4,
        )

    def _damaged(self) -> str:
        return (
            "the file is damaged or cut short and was left as it is: restore a copy, or save every whole result "
            f"into a new store with `priorscope salvage {self.path} NEW`"
        )

    def _explain(self, error: sqlite3.DatabaseError) -> StoreError:
        """SQLite's message, with what it means here and what to do."""
        code = getattr(error, "sqlite_errorname", "")  # errors of the module's own have none
        if code.startswith("SQLITE_FULL"):
            advice = "the disk is full: what was stored is safe; free some space and run the same command to go on"
        elif code.startswith("SQLITE_READONLY"):
            advice = "it is open for reading only: open it without readonly=True, or copy it where you may write"
        elif code.startswith(("SQLITE_LOCKED", "SQLITE_BUSY")):
            advice = "another process has been writing it for 30 s: wait for that run to end, or give another --store"
        elif code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            advice = self._damaged()
        else:
            advice = "nothing was changed"
        return StoreError(f"store {self.path}: {error}; {advice}.")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
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
            raise self._explain(error) from error

    def _rows(self, query: str, values: Iterable[Column] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(query, tuple(values)).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._explain(error) from error

    # -- writing ---------------------------------------------------------------------------------------------------

    def put(
        self,
        paper: str,
        version: int,
        point: Point,
        result: Metrics,
        *,
        scale: str | None = None,
        seconds: float = 0.0,
        code: str = "",
    ) -> bool:
        """Store one result in one transaction; False when the point was there already."""
        metrics, arrays = encode_result(point, result)
        return self.put_encoded(paper, version, point, metrics, arrays, scale=scale, seconds=seconds, code=code)

    def put_encoded(
        self,
        paper: str,
        version: int,
        point: Point,
        metrics: str,
        arrays: bytes | None,
        *,
        scale: str | None = None,
        seconds: float = 0.0,
        code: str = "",
    ) -> bool:
        """As :meth:`put`, for a result that a worker has already turned into JSON and npz bytes."""
        key = point_key(paper, version, point)
        row = Row(key, paper, version, canonical_json(point), metrics, arrays, code, float(seconds), time.time())
        return self.put_rows([row], {key: [scale]} if scale is not None else {}) == 1

    def put_rows(self, rows: Iterable[Row], scales: Mapping[str, Iterable[str]]) -> int:
        """Store rows with the scales of their keys in one transaction; gives how many were new."""
        new = 0
        with self._transaction() as db:
            for row in rows:
                values = (*row.columns(), row.checksum())
                new += db.execute("INSERT OR IGNORE INTO results VALUES (?,?,?,?,?,?,?,?,?,?)", values).rowcount
            marks = [(key, scale) for key, names in scales.items() for scale in names]
            db.executemany("INSERT OR IGNORE INTO scales VALUES (?,?)", marks)
        return new

    def put_failure(self, paper: str, version: int, point: Point, attempt: int, traceback: str, code: str = "") -> None:
        """Keep the traceback of a failed attempt."""
        key = point_key(paper, version, point)
        row = (key, paper, version, canonical_json(point), attempt, traceback, code, time.time())
        with self._transaction() as db:
            db.execute(
                "INSERT INTO failures (key, paper, version, point, attempt, traceback, code, at) VALUES (?,?,?,?,?,?,?,?)",
                row,
            )

    def mark_scale(self, keys: Iterable[str], scale: str) -> None:
        """Note that stored points belong to a scale too (grids of two scales may share points)."""
        with self._transaction() as db:
            db.executemany("INSERT OR IGNORE INTO scales VALUES (?,?)", [(key, scale) for key in keys])

    # -- reading ---------------------------------------------------------------------------------------------------

    def has(self, paper: str, version: int, point: Point) -> bool:
        """Whether the point has a result."""
        return bool(self._rows("SELECT 1 FROM results WHERE key=?", [point_key(paper, version, point)]))

    def get(self, paper: str, version: int, point: Point) -> Metrics | None:
        """The result of a point, arrays included, or None."""
        rows = self._whole("WHERE r.key=?", [point_key(paper, version, point)])
        return rows[0][2] if rows else None

    def _whole(self, where: str, values: Iterable[Column]) -> list[tuple[Row, Point, Metrics]]:
        """The rows of a query on results ``r`` with point and result, each checked: the first that is damaged ends it."""
        columns = ", ".join(f"r.{name}" for name in COLUMNS.split(", "))
        checksum = "r.checksum" if self._summed else "NULL"
        rows = []
        for number, given, *found in self._rows(
            f"SELECT r.rowid, {checksum}, {columns} FROM results r {where}", values
        ):
            try:
                row = Row.checked(tuple(found), given, summed=self._summed)
                rows.append((row, *row.read()))
            except DamagedRow as error:
                raise StoreError(
                    f"store {self.path}: result {number} (paper {found[1]!r}, point {found[3]!r}) is damaged: {error}. The "
                    "file was left as it is: restore a copy, or save every whole result into a new store with "
                    f"`priorscope salvage {self.path} NEW`."
                ) from error
        return rows

    def keys(self, paper: str, version: int) -> set[str]:
        """The keys of all stored points of a paper's version."""
        query = "SELECT key FROM results WHERE paper=? AND version=?"
        return {key for (key,) in self._rows(query, [paper, version])}

    def papers(self) -> dict[str, int]:
        """Each paper that has results, with its newest stored version."""
        return dict(self._rows("SELECT paper, max(version) FROM results GROUP BY paper ORDER BY paper"))

    def swept(self, paper: str, version: int) -> dict[str, float]:
        """Each scale of which a sweep has results, with the time (seconds since 1970) at which its newest was stored."""
        query = (
            "SELECT scale, max(finished) FROM results r JOIN scales s ON s.key = r.key WHERE paper=? AND version=? "
            "GROUP BY scale"
        )
        return dict(self._rows(query, [paper, version]))

    def table(self, paper: str | Paper, scale: str | None = None, *, details: bool = False) -> pd.DataFrame:
        """A tidy table: one row per run, the point's fields, then the metrics and arrays.

        For a :class:`Paper`, runs of its version, with a scale the points of that grid in its order, whichever sweep ran
        them; for a name, runs of the newest stored version, with a scale those that its sweeps ran or found. ``details``
        adds ``run_seconds``, ``run_code`` and ``run_finished``.
        """
        import pandas as pd

        name = paper.name if isinstance(paper, Paper) else paper
        version = paper.version if isinstance(paper, Paper) else self.papers().get(paper, 0)
        marked = scale is not None and not isinstance(paper, Paper)
        where = "JOIN scales s ON s.key = r.key AND s.scale = ? " if marked else ""
        where += "WHERE r.paper=? AND r.version=? ORDER BY r.point"
        rows = self._whole(where, [*([scale] if marked else []), name, version])
        if isinstance(paper, Paper) and scale:
            rows = _in_grid(rows, paper, scale)
        records = []
        for row, point, result in rows:
            record = {**point, **result}
            if details:
                record |= {"run_seconds": row.seconds, "run_code": row.code, "run_finished": row.finished}
            records.append(record)
        return pd.DataFrame.from_records(records) if records else pd.DataFrame()

    def rows(self, paper: Paper, scale: str) -> list[Row]:
        """The stored results of a scale's points, as they were stored, in the order of the grid."""
        found = self._whole("WHERE r.paper=? AND r.version=?", [paper.name, paper.version])
        return [row for row, _, _ in _in_grid(found, paper, scale)]

    def failures(self, paper: str | None = None) -> pd.DataFrame:
        """Failed attempts: paper, version, point, attempt and the traceback."""
        import pandas as pd

        columns = ["paper", "version", "point", "attempt", "traceback"]
        query = f"SELECT {', '.join(columns)} FROM failures" + (" WHERE paper=?" if paper else "") + " ORDER BY id"
        return pd.DataFrame(self._rows(query, [paper] if paper else []), columns=columns)

    # -- closing ---------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file. Results are safe without it."""
        self._connection.close()

    def _close_quietly(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.path!r})"


def _in_grid(rows: list[tuple[Row, Point, Metrics]], paper: Paper, scale: str) -> list[tuple[Row, Point, Metrics]]:
    place = {paper.key(point): i for i, point in enumerate(paper.points(scale))}
    return sorted((row for row in rows if row[0].key in place), key=lambda row: place[row[0].key])

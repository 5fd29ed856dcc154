"""The run store: one SQLite file, one transaction per result, written by the client alone."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from priorscope.lab._paper import Paper
from priorscope.lab._point import Metrics, Point, canonical_json, encode_result, point_key
from priorscope.lab._row import COLUMNS, Column, DamagedRow, Row
from priorscope.lab._store_file import StoreError, StoreFile

if TYPE_CHECKING:
    import pandas as pd


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
        self._file = StoreFile(self.path, readonly=readonly)

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
        with self._file.transaction() as db:
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
        with self._file.transaction() as db:
            db.execute(
                "INSERT INTO failures (key, paper, version, point, attempt, traceback, code, at) VALUES (?,?,?,?,?,?,?,?)",
                row,
            )

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """One transaction of the file, for what the lab notes beside results."""
        return self._file.transaction()

    def mark_scale(self, keys: Iterable[str], scale: str) -> None:
        """Note that stored points belong to a scale too (grids of two scales may share points)."""
        with self._file.transaction() as db:
            db.executemany("INSERT OR IGNORE INTO scales VALUES (?,?)", [(key, scale) for key in keys])

    # -- reading ---------------------------------------------------------------------------------------------------

    def has(self, paper: str, version: int, point: Point) -> bool:
        """Whether the point has a result."""
        return bool(self._file.rows("SELECT 1 FROM results WHERE key=?", [point_key(paper, version, point)]))

    def get(self, paper: str, version: int, point: Point) -> Metrics | None:
        """The result of a point, arrays included, or None."""
        rows = self._whole("WHERE r.key=?", [point_key(paper, version, point)])
        return next((metrics for _, _, metrics in rows), None)

    def _whole(self, where: str, values: Iterable[Column]) -> list[tuple[Row, Point, Metrics]]:
        """The rows of a query on results ``r`` with point and result, each checked: the first that is damaged ends it."""
        columns = ", ".join(f"r.{name}" for name in COLUMNS.split(", "))
        checksum = "r.checksum" if self._file.summed else "NULL"
        rows = []
        for number, given, *found in self._file.rows(
            f"SELECT r.rowid, {checksum}, {columns} FROM results r {where}", values
        ):
            try:
                row = Row.checked(tuple(found), given, summed=self._file.summed)
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
        return {key for (key,) in self._file.rows(query, [paper, version])}

    def seconds(self, paper: str, version: int) -> list[float]:
        """How long each stored point of a paper's version took."""
        return [
            took
            for (took,) in self._file.rows("SELECT seconds FROM results WHERE paper=? AND version=?", [paper, version])
        ]

    def papers(self) -> dict[str, int]:
        """Each paper that has results, with its newest stored version."""
        return dict(self._file.rows("SELECT paper, max(version) FROM results GROUP BY paper ORDER BY paper"))

    def swept(self, paper: str, version: int) -> dict[str, float]:
        """Each scale of which a sweep has results, with the time (seconds since 1970) at which its newest was stored."""
        query = (
            "SELECT scale, max(finished) FROM results r JOIN scales s ON s.key = r.key WHERE paper=? AND version=? "
            "GROUP BY scale"
        )
        return dict(self._file.rows(query, [paper, version]))

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
        return pd.DataFrame(self._file.rows(query, [paper] if paper else []), columns=columns)

    # -- closing ---------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file. Results are safe without it."""
        self._file.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.path!r})"


def _in_grid(rows: list[tuple[Row, Point, Metrics]], paper: Paper, scale: str) -> list[tuple[Row, Point, Metrics]]:
    place = {paper.key(point): i for i, point in enumerate(paper.points(scale))}
    return sorted((row for row in rows if row[0].key in place), key=lambda row: place[row[0].key])

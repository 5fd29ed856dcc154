"""Points that are running now, noted in the store, so that several clients of one store share them out."""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable
from types import TracebackType
from typing import Literal

from priorscope.lab._store import Store

BEAT = 5.0  # seconds between two notes that this client lives
SILENT = 60.0  # seconds without one after which its points are anybody's

_TABLE = (
    "CREATE TABLE IF NOT EXISTS running (key TEXT PRIMARY KEY, owner TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID"
)


class Running:
    """The points that this client has taken. A thread notes every few seconds that it lives; at the end all are given back.

    A store in memory or open for reading has no other clients: there every point can be taken.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.shared = store.path != ":memory:" and not store.readonly
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._end = threading.Event()
        self._beats = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Running:
        if self.shared:
            with self.store.transaction() as db:
                db.execute(_TABLE)
            self._beats.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.shared:
            self._end.set()
            with (
                contextlib.suppress(Exception),
                self.store.transaction() as db,
            ):  # a full disk: they expire by themselves
                db.execute("DELETE FROM running WHERE owner=?", [self.owner])

    def take(self, key: str) -> Literal["ours", "theirs", "stored"]:
        """Takes a point: *ours* to run now, *theirs* while another client runs it, *stored* when its result is there."""
        if not self.shared:
            return "ours"
        with self.store.transaction() as db:
            if db.execute("SELECT 1 FROM results WHERE key=?", [key]).fetchone():
                return "stored"
            now = time.time()
            held = db.execute("SELECT owner FROM running WHERE key=? AND at>?", [key, now - SILENT]).fetchone()
            if held and held[0] != self.owner and not _gone(held[0]):
                return "theirs"
            db.execute("INSERT OR REPLACE INTO running VALUES (?,?,?)", [key, self.owner, now])
        return "ours"

    def give_back(self, keys: Iterable[str]) -> None:
        """Points that this client will not finish: others may run them at once."""
        if self.shared:
            with self.store.transaction() as db:
                db.executemany("DELETE FROM running WHERE key=? AND owner=?", [(key, self.owner) for key in keys])

    def _beat(self) -> None:
        while not self._end.wait(BEAT):
            with contextlib.suppress(sqlite3.Error):  # a busy store: the next beat will do
                other = sqlite3.connect(self.store.path, timeout=BEAT, isolation_level=None)
                try:
                    other.execute("UPDATE running SET at=? WHERE owner=?", [time.time(), self.owner])
                finally:
                    other.close()


def _gone(owner: str) -> bool:
    """Whether a client was a process of this machine that has ended, so that nobody waits for its points."""
    host, pid, _ = owner.split(":")
    if host != socket.gethostname() or os.name != "posix":
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False

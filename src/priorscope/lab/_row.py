"""One stored result as a row of the table ``results``, and the checksum that tells a damaged one."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from priorscope.lab._point import Metrics, Point, decode_result, point_key

Column: TypeAlias = str | int | float | bytes | None  # what SQLite keeps

COLUMNS = "key, paper, version, point, metrics, arrays, code, seconds, finished"
"""What a checksum is taken of, in this order.

Example:
    >>> len(COLUMNS.split(", "))
    9
"""


class DamagedRow(ValueError):
    """A row that is not what was stored; the message says how that shows.

    Example:
        >>> row = Row("k", "squares", 1, '{"seed":0}', '{"y":1}', None, "", 0.5, 0.0)
        >>> try:
        ...     Row.checked(row.columns(), "the checksum of another row", summed=True)
        ... except DamagedRow as error:
        ...     print(error)
        its checksum does not match
    """


@dataclass(frozen=True)
class Row:
    """The columns of one stored result.

    Example:
        >>> row = Row("k", "squares", 1, '{"seed":0}', '{"y":1}', None, "", 0.5, 0.0)
        >>> row.checksum() == Row("k", "squares", 1, '{"seed":0}', '{"y":2}', None, "", 0.5, 0.0).checksum()
        False
    """

    key: str
    paper: str
    version: int
    point: str
    metrics: str
    arrays: bytes | None
    code: str
    seconds: float
    finished: float

    def columns(self) -> tuple[Column, ...]:
        """The values as the table takes them."""
        return (
            self.key,
            self.paper,
            self.version,
            self.point,
            self.metrics,
            self.arrays,
            self.code,
            self.seconds,
            self.finished,
        )

    def checksum(self) -> str:
        """A hash of every column: each with its length, so that nothing can move from one into the next."""
        texts = (self.key, self.paper, self.point, self.metrics, self.code)
        parts = [text.encode("utf-8", "surrogateescape") for text in texts]
        parts.append(b"none" if self.arrays is None else b"some" + self.arrays)
        parts.append(struct.pack("<qdd", self.version, self.seconds, self.finished))
        digest = hashlib.blake2b(digest_size=16)
        for part in parts:
            digest.update(struct.pack("<q", len(part)) + part)
        return digest.hexdigest()

    def read(self) -> tuple[Point, Metrics]:
        """The point and its result; :class:`DamagedRow` when they cannot be read or do not belong to the key."""
        try:
            point, result = json.loads(self.point), decode_result(self.metrics, self.arrays)
            right = point_key(self.paper, self.version, point) == self.key
        except Exception as error:  # whatever json, zip or numpy make of damaged bytes
            raise DamagedRow(f"it cannot be read ({type(error).__name__}: {error})") from error
        if not right or not isinstance(result, dict):
            raise DamagedRow("its point does not belong to its key")
        return point, result

    @classmethod
    def checked(cls, values: tuple[Any, ...], checksum: str | None, *, summed: bool) -> Row:
        """The row with these columns, if it is what was stored; ``summed``: whether the store has checksums."""
        kinds = (str, str, int, str, str, bytes, str, float, float)
        if not all(type(v) is kind or (v is None and kind is bytes) for v, kind in zip(values, kinds, strict=True)):
            raise DamagedRow("its columns have the wrong types")
        row = cls(*values)
        if summed and row.checksum() != checksum:
            raise DamagedRow("its checksum does not match")
        return row


def commits(codes: Iterable[str]) -> str | None:
    """The commits of the code that made some runs, in one text; None where none is known.

    Example:
        >>> commits(["0.1.0@34cd", "0.1.0@12ab", "0.1.0@34cd"])
        '12ab, 34cd'
    """
    known = {commit for code in codes for commit in code.split("@")[-1].split(", ")}
    return ", ".join(sorted(known - {""})) or None

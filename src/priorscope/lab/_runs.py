"""Runs that move between machines: those of one paper, complete or not, whole in a text file."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass
from pathlib import Path

from priorscope.lab._paper import Paper
from priorscope.lab._point import Metrics, canonical_json, point_key
from priorscope.lab._row import Row, commits
from priorscope.lab._store import Store
from priorscope.writing import write_whole

_FORMAT = 1
_KIND = "runs"  # a table of judged runs (lab/_evidence.py) has no kind


@dataclass(frozen=True)
class Runs:
    """Runs of one version of a paper at one scale, as they were stored, and how many a complete set has.

    Example:
        >>> print(Runs("squares", 1, "small", 39, ()))
        0 of 39 runs
    """

    paper: str
    version: int
    scale: str
    wanted: int
    rows: tuple[Row, ...]

    @property
    def commit(self) -> str | None:
        """Of the code that ran, several when points ran at different ones."""
        return commits(row.code for row in self.rows)

    def __str__(self) -> str:
        return f"{len(self.rows)} of {self.wanted} runs"


@dataclass(frozen=True)
class TakenUp:
    """What became of runs that were offered to a store.

    ``strangers`` are runs of points that today's grid does not have; ``other_version`` is the version they were made under,
    where the paper is at another one (then none is taken).

    Example:
        >>> print(TakenUp(taken=12, known=0, strangers=0, wanted=39, commit="12ab"))
        12 of 39 runs taken, made at commit 12ab
    """

    taken: int
    known: int
    strangers: int
    wanted: int
    commit: str | None
    other_version: int | None = None

    def __str__(self) -> str:
        if self.other_version is not None:
            return (
                f"no runs taken: {self.strangers} are of version {self.other_version} of the paper, which has changed"
            )
        told = f"{self.taken} of {self.wanted} runs taken"
        told += f", made at commit {self.commit}" if self.taken and self.commit else ""
        told += f"; {self.known} were stored before" if self.known else ""
        return told + (
            f"; {self.strangers} left out, whose points are not in the grid of today" if self.strangers else ""
        )


def stored_runs(paper: Paper, store: Store, scale: str) -> Runs:
    """The stored runs of a scale, complete or not, in the order of the grid.

    Example:
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda s: [{"x": x, "seed": 0} for x in (1, 2)], lambda p: {})
        >>> store = Store(":memory:")
        >>> _ = store.put("squares", 1, {"x": 2, "seed": 0}, {"square": 4})
        >>> print(stored_runs(paper, store, "small"))
        1 of 2 runs
    """
    return Runs(paper.name, paper.version, scale, len(paper.points(scale)), tuple(store.rows(paper, scale)))


def write_runs(runs: Runs, file: str | os.PathLike[str]) -> Path:
    """Write runs to a text file: the same runs give the same bytes.

    The first line says which paper, version, scale and code, how many runs there are, and of how many. Each other line is one
    run as the store keeps it: point, metrics, arrays of any length (npz in base64), code, seconds, and its checksum.

    Example:
        >>> import tempfile
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda s: [{"x": x, "seed": 0} for x in (1, 2)], lambda p: {})
        >>> store = Store(":memory:")
        >>> _ = store.put("squares", 1, {"x": 2, "seed": 0}, {"square": 4}, code="0.1.0@12ab", seconds=0.5)
        >>> file = write_runs(stored_runs(paper, store, "small"), tempfile.mkdtemp() + "/squares.jsonl")
        >>> print(file.read_text().splitlines()[0])
        {"format":1,"kind":"runs","paper":"squares","version":1,"scale":"small","commit":"12ab","seconds":0.5,"runs":1,"of":2}
    """
    head = {
        "format": _FORMAT,
        "kind": _KIND,
        "paper": runs.paper,
        "version": runs.version,
        "scale": runs.scale,
        "commit": runs.commit,
        "seconds": round(sum(row.seconds for row in runs.rows), 1),
        "runs": len(runs.rows),
        "of": runs.wanted,
    }
    lines = [head, *(_line(row) for row in runs.rows)]
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    return write_whole(file, text)


def read_runs(file: str | os.PathLike[str]) -> Runs:
    """What :func:`write_runs` wrote. A line that was changed, lost or doubled makes the whole file unusable.

    Example:
        >>> read_runs("no-such-file.jsonl")
        Traceback (most recent call last):
        ...
        FileNotFoundError: ...
    """
    path, rows = Path(file), dict[str, Row]()
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    try:
        head = json.loads(lines[0])
        if head["format"] != _FORMAT or head.get("kind") != _KIND:
            raise ValueError(f"kind {head.get('kind')!r}, format {head['format']}; {_KIND!r}, {_FORMAT} is read here")
        if len(lines) - 1 != head["runs"]:
            raise ValueError(f"{len(lines) - 1} runs, where {head['runs']} are announced")
        for line in lines[1:]:
            row = _row(json.loads(line), head["paper"], head["version"])
            if row.key in rows:
                raise ValueError("a point that is there already")
            rows[row.key] = row
        return Runs(head["paper"], head["version"], head["scale"], head["of"], tuple(rows.values()))
    except (ValueError, TypeError, KeyError, AttributeError) as error:  # a damaged row is a ValueError too
        where = f"line {len(rows) + 2}" if rows else "line 1 or 2"
        raise ValueError(
            f"{path}, {where}, is not what was written there ({type(error).__name__}: {error}). None of its runs is "
            "taken: restore the file or remove it."
        ) from error


def take_up(runs: Runs, paper: Paper, store: Store) -> TakenUp:
    """Put runs into a store, so that a sweep goes on from them: only of the paper's version, and of points in its grid.

    Example:
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda s: [{"x": x, "seed": 0} for x in (1, 2)], lambda p: {})
        >>> there, here = Store(":memory:"), Store(":memory:")
        >>> _ = there.put("squares", 1, {"x": 2, "seed": 0}, {"square": 4})
        >>> print(take_up(stored_runs(paper, there, "small"), paper, here))
        1 of 2 runs taken
        >>> here.table(paper, "small").to_dict("records")
        [{'seed': 0, 'x': 2, 'square': 4}]
    """
    if runs.paper != paper.name:
        raise ValueError(f"these are runs of {runs.paper!r}; a store of {paper.name!r} has no use for them.")
    if runs.version != paper.version:
        return TakenUp(0, 0, len(runs.rows), runs.wanted, runs.commit, other_version=runs.version)
    points = paper.points(runs.scale)
    grid = {paper.key(point) for point in points}
    there = store.keys(paper.name, paper.version)
    fit = [row for row in runs.rows if row.key in grid]
    new = [row for row in fit if row.key not in there]
    taken = store.put_rows(new, {row.key: [runs.scale] for row in fit})
    strangers = len(runs.rows) - len(fit)
    return TakenUp(taken, len(fit) - taken, strangers, len(points), commits(row.code for row in new))


def _line(row: Row) -> Metrics:
    """A row as JSON. Point and metrics become values; the checksum is that of the row which :func:`_row` makes of them."""
    line: Metrics = {
        "point": json.loads(row.point),
        "metrics": json.loads(row.metrics),
        "arrays": None if row.arrays is None else base64.b64encode(row.arrays).decode(),
        "code": row.code,
        "seconds": row.seconds,
        "finished": row.finished,
    }
    return {**line, "checksum": _unchecked(line, row.paper, row.version).checksum()}


def _unchecked(line: Metrics, paper: str, version: int) -> Row:
    arrays = None if line["arrays"] is None else base64.b64decode(line["arrays"], validate=True)
    point, metrics = canonical_json(line["point"]), json.dumps(line["metrics"])
    times = (float(line["seconds"]), float(line["finished"]))
    return Row(point_key(paper, version, line["point"]), paper, version, point, metrics, arrays, line["code"], *times)


def _row(line: Metrics, paper: str, version: int) -> Row:
    row = Row.checked(_unchecked(line, paper, version).columns(), line["checksum"], summed=True)
    row.read()
    return row

"""Tables of judged runs that travel with the repository: one file per paper, one line per run."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from priorscope.lab._paper import Paper
from priorscope.lab._point import Metrics, point_key
from priorscope.lab._row import commits
from priorscope.lab._store import Store
from priorscope.printing import printed
from priorscope.writing import write_whole

if TYPE_CHECKING:
    import pandas as pd

_FORMAT = 1
_LONGEST = 256  # numbers; longer arrays are left out of the file (and named in it)
_ARRAY = "array"  # {"array": "float32", "shape": [2, 2], "values": [...]} stands for an array


@printed
@dataclass(frozen=True)
class Evidence:
    """The runs that verdicts are judged from: one row per run in the order of the grid, and where they come from.

    Example:
        >>> import pandas as pd
        >>> Evidence("squares", 1, "small", None, 0.1, ["key"], pd.DataFrame({"x": [3], "square": [9]})).file
        'runs/squares.jsonl'
    """

    paper: str
    version: int
    scale: str
    commit: str | None  # of the code that ran, several when points ran at different ones
    seconds: float  # of all runs together
    keys: list[str]
    table: pd.DataFrame

    @property
    def file(self) -> str:
        """The name of its file, as seen from the ledger."""
        return f"runs/{self.paper}.jsonl"


def evidence_from(paper: Paper, store: Store, scale: str) -> Evidence:
    """The stored runs of a scale that is complete.

    Example:
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda scale: [{"x": 3, "seed": 0}], lambda point: {})
        >>> store = Store(":memory:")
        >>> _ = store.put("squares", 1, {"x": 3, "seed": 0}, {"square": 9}, seconds=0.25, code="0.1.0@12ab")
        >>> found = evidence_from(paper, store, "small")
        >>> found.table.to_dict("records"), found.commit
        ([{'seed': 0, 'x': 3, 'square': 9}], '12ab')
    """
    table = store.table(paper, scale, details=True)
    points = paper.points(scale)
    if len(table) != len(points):
        raise ValueError(f"{len(table)} of {len(points)} points of {paper.name!r} at scale {scale} are stored.")
    return Evidence(
        paper.name,
        paper.version,
        scale,
        commits(table["run_code"]),
        round(float(table["run_seconds"].sum()), 1),
        [paper.key(point) for point in points],
        table.drop(columns=["run_seconds", "run_code", "run_finished"]),
    )


def write_evidence(paper: Paper, store: Store, scale: str, folder: str | os.PathLike[str]) -> Path:
    """Write the complete runs of a scale to ``folder/NAME.jsonl``: the same runs give the same bytes.

    The first line says which paper, version, scale, code and seconds; each other line has a point and its metrics, with
    floats in full. Arrays of more than 256 numbers are left out, and named in the first line: a measure that needs
    one cannot be judged again from the file, so reduce it in ``run``.

    Example:
        >>> import tempfile
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda scale: [{"x": 3, "seed": 0}], lambda point: {})
        >>> store = Store(":memory:")
        >>> _ = store.put("squares", 1, {"x": 3, "seed": 0}, {"square": 9})
        >>> file = write_evidence(paper, store, "small", tempfile.mkdtemp())
        >>> print(file.read_text().splitlines()[1])
        {"point":{"seed":0,"x":3},"metrics":{"square":9}}
    """
    found = evidence_from(paper, store, scale)
    points = paper.points(scale)
    left_out: set[str] = set()
    lines = []
    for point in points:
        result = store.get(paper.name, paper.version, point)
        assert result is not None
        metrics = {}
        for name in sorted(result.keys() - point.keys()):
            value = result[name]
            if isinstance(value, np.ndarray) and value.size > _LONGEST:
                left_out.add(name)
            else:
                metrics[name] = _plain_array(value) if isinstance(value, np.ndarray) else value
        lines.append({"point": dict(sorted(point.items())), "metrics": metrics})
    head = {
        "format": _FORMAT,
        "paper": found.paper,
        "version": found.version,
        "scale": found.scale,
        "commit": found.commit,
        "seconds": found.seconds,
        "runs": len(lines),
        "left_out": sorted(left_out),
    }
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in (head, *lines))
    return write_whole(Path(folder) / f"{paper.name}.jsonl", text)


def read_evidence(name: str, folder: str | os.PathLike[str]) -> Evidence | None:
    """The table of runs of a paper, or None when there is no file.

    Example:
        >>> read_evidence("squares", "no-such-folder") is None
        True
    """
    import pandas as pd

    file = Path(folder) / f"{name}.jsonl"
    if not file.exists():
        return None
    try:
        head, *lines = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
        if head["format"] != _FORMAT:
            raise ValueError(f"format {head['format']}; this priorscope reads {_FORMAT}")
        if len(lines) != head["runs"] or head["paper"] != name:
            raise ValueError(f"{len(lines)} runs of {head['paper']}, where {head['runs']} of {name} are announced")
        rows = [{**line["point"], **{k: _array(v) for k, v in line["metrics"].items()}} for line in lines]
        keys = [point_key(name, head["version"], line["point"]) for line in lines]
        known = (head["version"], head["scale"], head["commit"], head["seconds"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{file} is not a table of runs ({type(error).__name__}: {error}); restore it, or write it anew with "
            "`priorscope claims --record`."
        ) from error
    return Evidence(name, *known, keys, pd.DataFrame.from_records(rows))


def take_up_evidence(paper: Paper, store: Store, scale: str, folder: str | os.PathLike[str]) -> int:
    """Put recorded runs into a store where today's grid has them and others besides, so that only those have to run.

    A grid that grows (more seeds, more sizes) under the same version keeps its runs. None is taken where the grid is the
    recorded one (that is run anew), where the version is another, or where the file left out arrays. Gives how many were taken.

    Example:
        >>> import tempfile
        >>> grid = lambda n: lambda scale: [{"x": x, "seed": 0} for x in range(n)]
        >>> small, grown = (Paper("squares", "Squares", "Euclid", 1, grid(n), lambda point: {}) for n in (1, 2))
        >>> store, other, folder = Store(":memory:"), Store(":memory:"), tempfile.mkdtemp()
        >>> _ = store.put("squares", 1, {"x": 0, "seed": 0}, {"square": 0})
        >>> _ = write_evidence(small, store, "small", folder)
        >>> take_up_evidence(small, other, "small", folder), take_up_evidence(grown, other, "small", folder)
        (0, 1)
    """
    kept = read_evidence(paper.name, folder)
    grid = {paper.key(point) for point in paper.points(scale)}
    if kept is None or (kept.version, kept.scale) != (paper.version, scale) or grid <= set(kept.keys):
        return 0
    head, *lines = (Path(folder) / f"{paper.name}.jsonl").read_text(encoding="utf-8").splitlines()
    if json.loads(head)["left_out"]:
        return 0
    each, taken = kept.seconds / len(lines), 0  # the table knows the seconds of all runs together
    for key, line in zip(kept.keys, map(json.loads, lines), strict=True):
        if key in grid:
            result = {name: _array(value) for name, value in line["metrics"].items()}
            code = f"@{kept.commit or ''}"
            taken += store.put(paper.name, paper.version, line["point"], result, scale=scale, seconds=each, code=code)
    return taken


def _plain_array(array: np.ndarray) -> Metrics:
    """An array as JSON; each number as short as it can be and still be read back to the last bit."""
    flat = array.ravel()
    values = [_shortest(x) for x in flat] if array.dtype.kind == "f" else flat.tolist()
    return {_ARRAY: str(array.dtype), "shape": list(array.shape), "values": values}


def _shortest(x: np.floating) -> float:
    return float(str(x)) if math.isfinite(x) else float(x)


def _array(value: object) -> object:
    if isinstance(value, dict) and value.keys() == {_ARRAY, "shape", "values"}:
        return np.array(value["values"], dtype=value[_ARRAY]).reshape(value["shape"])
    return value

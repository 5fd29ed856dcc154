"""Sweeps that are not finished: what they have so far, kept beside the ledger for the next machine."""

from __future__ import annotations

import os
from pathlib import Path

from priorscope.lab._evidence import read_evidence
from priorscope.lab._paper import Paper
from priorscope.lab._runs import Runs, read_runs, stored_runs, write_runs
from priorscope.lab._store import Store


def unfinished_file(name: str, folder: str | os.PathLike[str]) -> Path:
    """Where the runs of an unfinished sweep lie, under the folder with the tables of runs.

    Example:
        >>> unfinished_file("circles", "claims/runs").as_posix()
        'claims/runs/unfinished/circles.jsonl'
    """
    return Path(folder) / "unfinished" / f"{name}.jsonl"


def read_unfinished(paper: Paper, folder: str | os.PathLike[str]) -> Runs | None:
    """The kept runs of a paper's unfinished sweep, those of today's version and grid; None where there are none.

    Example:
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda scale: [{"x": 3, "seed": 0}], lambda point: {})
        >>> read_unfinished(paper, "no-such-folder") is None
        True
    """
    file = unfinished_file(paper.name, folder)
    if not file.exists():
        return None
    kept = read_runs(file)
    if (kept.paper, kept.version) != (paper.name, paper.version):
        return None
    points = paper.points(kept.scale)
    grid = {paper.key(point) for point in points}
    rows = tuple(row for row in kept.rows if row.key in grid)
    return Runs(paper.name, paper.version, kept.scale, len(points), rows) if rows else None


def keep_unfinished(paper: Paper, store: Store | None, folder: str | os.PathLike[str]) -> str:
    """Bring the file of a paper's unfinished sweep up to date and say what became of it; empty where nothing changed.

    Runs of the store join those of the file. A sweep whose table of runs is in ``folder`` is finished: its file is removed, and
    so is one of another version of the paper, which nobody could take up.

    Example:
        >>> import tempfile
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda s: [{"x": x, "seed": 0} for x in (1, 2)], lambda p: {})
        >>> store, folder = Store(":memory:"), tempfile.mkdtemp()
        >>> _ = store.put("squares", 1, {"x": 2, "seed": 0}, {"square": 4}, scale="small")
        >>> keep_unfinished(paper, store, folder).removesuffix(str(unfinished_file("squares", folder)))
        'squares: 1 of 2 runs kept in '
        >>> keep_unfinished(paper, store, folder)
        ''
    """
    file = unfinished_file(paper.name, folder)
    kept = read_unfinished(paper, folder)
    for scale in _open_scales(paper, folder):
        grid = [paper.key(point) for point in paper.points(scale)]
        mine = kept is not None and kept.scale == scale
        rows = {row.key: row for row in (kept.rows if kept is not None and mine else ())}
        if store is not None and (mine or scale in store.swept(paper.name, paper.version)):
            rows |= {row.key: row for row in stored_runs(paper, store, scale).rows if row.key not in rows}
        if not rows:
            continue
        before = file.read_bytes() if file.exists() else b""
        ordered = tuple(rows[key] for key in grid if key in rows)
        runs = Runs(paper.name, paper.version, scale, len(grid), ordered)
        write_runs(runs, file)
        return "" if file.read_bytes() == before else f"{paper.name}: {runs} kept in {file}"
    if not file.exists():
        return ""
    file.unlink()
    why = "of another version or grid" if kept is None else "finished"
    return f"{paper.name}: {file} removed ({why})"


def _open_scales(paper: Paper, folder: str | os.PathLike[str]) -> list[str]:
    """Scales of which there is no table of runs of the paper's version; a larger one stands for the smaller too."""
    table, judged = (
        read_evidence(paper.name, folder),
        paper.scales[1:],
    )  # tiny runs give no verdicts; small ones are finished first
    if table is None or table.version != paper.version or table.scale not in judged:
        return list(judged)
    if table.keys != [paper.key(point) for point in paper.points(table.scale)]:
        return list(judged)
    return list(judged[judged.index(table.scale) + 1 :])

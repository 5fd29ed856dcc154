"""The ledger of claims: where it lies, how it is read, and which recorded verdicts still stand."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable
from pathlib import Path

from priorscope.lab._record import Record, natural_order
from priorscope.writing import write_whole

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = _PACKAGE / "lab" / "_claims"  # written there when a wheel is built, see setup.py


def _checkout() -> Path | None:
    """The folder ``claims`` of the checkout this package runs from, or None for an installed package."""
    root = _PACKAGE.parents[1]
    return root / "claims" if (root / "pyproject.toml").exists() and _PACKAGE.parent.name == "src" else None


def ledger_path() -> Path:
    """``claims/ledger.json`` of the checkout this package runs from, else the copy that was installed with it.

    Example:
        >>> ledger_path().name
        'ledger.json'
    """
    return (_checkout() or _SHIPPED) / "ledger.json"


def runs_folder(ledger: str | os.PathLike[str] | None = None) -> Path:
    """The folder with the tables of runs that the verdicts of a ledger were judged from: ``runs`` beside it.

    Example:
        >>> runs_folder("claims/ledger.json").as_posix()
        'claims/runs'
    """
    return (Path(ledger) if ledger is not None else ledger_path()).parent / "runs"


def read_ledger(path: str | os.PathLike[str] | None = None) -> dict[str, Record]:
    """The committed record of the last full runs, by claim id; empty when there is no file.

    A record names its table of runs only when that lies beside the ledger.

    Example:
        >>> read_ledger("no-such-file.json")
        {}
    """
    file = Path(path) if path is not None else ledger_path()
    if not file.exists():
        return {}
    try:
        records = [Record.from_json(line) for line in json.loads(file.read_text(encoding="utf-8"))]
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{file} is not a ledger of claims ({error}); write it anew with `priorscope claims --record`."
        ) from error
    there = {name for name in {record.evidence for record in records} if name and (file.parent / name).is_file()}
    return {r.id: r if r.evidence in there else dataclasses.replace(r, evidence=None) for r in records}


def standing(today: Record, recorded: Record | None) -> Record:
    """The record to show and to keep: today's verdict where there is one, else the recorded one if it still stands.

    A recorded verdict stands while the claim has the same words, expectations and version of the paper, and its measure does not
    fail on the stored runs; one that does not stand becomes ``not run`` with the reason.

    Example:
        >>> recorded = Record(id="X.1", says="a", source="b", verdict="holds", scale="small")
        >>> standing(Record(id="X.1", says="a", source="b"), recorded).verdict
        'holds'
        >>> changed = standing(Record(id="X.1", says="c", source="b"), recorded)
        >>> changed.verdict, changed.note
        ('not run', 'judged under other words (then: holds)')
    """
    if today.verdict != "not run" or recorded is None or recorded.verdict == "not run":
        return today
    if why := recorded.stale_beside(today):
        return dataclasses.replace(today, note=f"{why} (then: {recorded.verdict})")
    told = dataclasses.replace(recorded, source=today.source, paper=today.paper, command=today.command)
    return dataclasses.replace(told, finding=today.finding)


def record_ledger(records: Iterable[Record], path: str | os.PathLike[str] | None = None) -> Path:
    """Bring the ledger up to date: new verdicts replace old ones; a claim without runs keeps a verdict that still stands.

    Claims that no longer exist leave the ledger; new ones enter it as ``not run``.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "ledger.json"
        >>> _ = record_ledger([Record(id="X.1", says="a", source="b", verdict="holds", scale="small")], file)
        >>> _ = record_ledger([Record(id="X.1", says="a", source="b"), Record(id="X.2", says="c", source="d")], file)
        >>> [(record.id, record.verdict) for record in read_ledger(file).values()]
        [('X.1', 'holds'), ('X.2', 'not run')]
    """
    if path is None and _checkout() is None:
        raise ValueError(
            "the ledger that came with the package is not written over; name one of your own with --ledger."
        )
    file = Path(path) if path is not None else ledger_path()
    old = read_ledger(file)
    merged = []
    for record in sorted(records, key=lambda record: natural_order(record.id)):
        if record.scale == "tiny":
            raise ValueError("tiny runs test the code and give no verdicts; record scale small or paper.")
        merged.append(standing(record, old.get(record.id)).as_json())
    return write_whole(file, json.dumps(merged, indent=1, ensure_ascii=False, allow_nan=False) + "\n")

"""The ledger of claims: each with its expected and measured value and its verdict, judged from stored runs only."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priorscope.lab._claim import Claim
from priorscope.lab._paper import Paper
from priorscope.lab._point import finite_or_none
from priorscope.lab._store import Store
from priorscope.lab._verdict import CheckVerdict, Verdict, judge_claim

__all__ = ["Record", "judge_paper", "ledger_path", "natural_order", "read_ledger", "record_ledger"]

_VERDICT_SCALES = ("paper", "small")  # the largest complete one decides; tiny runs test the code and decide nothing


@dataclass(frozen=True)
class Record:
    """One line of the ledger: a claim, what was measured, the verdict, and the command that measures it again.

    ``paper``, ``version`` and ``command`` are None while no paper of the library reproduces the claim yet.

    Example:
        >>> Record(id="S0.10", says="strong models lose little", source="Fig. 4").verdict
        'not run'
    """

    id: str
    says: str
    source: str
    paper: str | None = None
    expected: float | str | None = None
    tolerance: float | str | None = None
    measured: float | str | None = None
    low: float | None = None
    high: float | None = None
    verdict: str = "not run"
    scale: str | None = None
    command: str | None = None
    note: str = ""
    commit: str | None = None
    seconds: float | None = None
    seeds: int | None = None
    version: int | None = None
    fingerprint: str | None = None
    checks: tuple[CheckVerdict, ...] = ()

    def outdated_by(self, other: Record) -> bool:
        """Whether this verdict is of another version of the paper, whose protocol has changed since, than ``other`` asks for.

        Example:
            >>> old = Record(id="X.1", says="a", source="b", verdict="fails", version=1)
            >>> old.outdated_by(Record(id="X.1", says="a", source="b", version=2))
            True
        """
        return None not in (self.version, other.version) and self.version != other.version

    def as_json(self) -> dict[str, Any]:
        """The record as values that strict JSON can carry."""
        return finite_or_none(dataclasses.asdict(self))


def natural_order(text: str) -> list[tuple[int, str]]:
    """A sort key that puts S0.2 before S0.10.

    Example:
        >>> sorted(["S0.10", "S0.2", "J.1"], key=natural_order)
        ['J.1', 'S0.2', 'S0.10']
    """
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text) if part]


def judge_paper(paper: Paper, store: Store | None, scale: str | None = None) -> list[Record]:
    """The verdict of each claim of a paper from the runs in the store, or ``not run`` where they are not complete.

    Without ``scale``: from the largest of ``paper`` and ``small`` that is complete.

    Example:
        >>> from priorscope.lab import at_least
        >>> from priorscope.statistics import exact
        >>> claim = Claim("X.1", "Sec. 1", "squares are positive", measure=lambda table: exact(table["square"].min()),
        ...               expect=at_least(0))
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda scale: [{"x": 3, "seed": 0}], lambda p: {}, (claim,))
        >>> store = Store(":memory:")
        >>> judge_paper(paper, store)[0].verdict
        'not run'
        >>> store.put("squares", 1, {"x": 3, "seed": 0}, {"square": 9}, scale="small")
        True
        >>> judge_paper(paper, store)[0].verdict
        'holds'
    """
    there = store.keys(paper.name, paper.version) if store is not None else set()
    missing = ""
    for candidate in (scale,) if scale else _VERDICT_SCALES:
        points = paper.points(candidate)
        n_there = sum(paper.key(point) in there for point in points)
        if points and n_there == len(points):
            assert store is not None
            store_table = _table(paper, store, candidate)
            return [_judge(paper, claim, store_table, candidate) for claim in paper.claims]
        if n_there:
            missing = f"{n_there} of {len(points)} points of scale {candidate} are stored"
    return [_record(paper, claim, Verdict("not run", note=missing), scale) for claim in paper.claims]


def _table(paper: Paper, store: Store, scale: str) -> Any:
    if not store.readonly:
        store.mark_scale([paper.key(point) for point in paper.points(scale)], scale)
    return store.table(paper, scale, details=True)


def _judge(paper: Paper, claim: Claim, table: Any, scale: str) -> Record:
    details = ["run_seconds", "run_code", "run_finished"]
    try:
        verdict = judge_claim(claim, table.drop(columns=details))
    except Exception as error:  # one broken measure must not hide the other verdicts
        verdict = Verdict("not run", note=f"the measure raised {type(error).__name__}: {error}")
    codes = sorted(set(table["run_code"]))
    return dataclasses.replace(
        _record(paper, claim, verdict, scale),
        commit=", ".join(code.split("@")[-1] for code in codes) or None,
        seconds=round(float(table["run_seconds"].sum()), 1),
        seeds=int(table["seed"].nunique()),
    )


def _record(paper: Paper, claim: Claim, verdict: Verdict, scale: str | None) -> Record:
    return Record(
        id=claim.id,
        says=claim.says,
        source=claim.source,
        paper=paper.name,
        expected=claim.expects if claim.checks else claim.expected,
        tolerance=claim.tolerance,
        scale=None if verdict.verdict == "not run" else scale,
        command=f"priorscope reproduce {paper.name} --scale {scale or 'small'}",
        version=paper.version,
        fingerprint=claim.fingerprint,
        **{field.name: getattr(verdict, field.name) for field in dataclasses.fields(verdict)},
    )


def ledger_path() -> Path:
    """``claims/ledger.json`` of the checkout this package runs from, else of the working directory.

    Example:
        >>> ledger_path().name
        'ledger.json'
    """
    checkout = Path(__file__).resolve().parents[3]
    root = checkout if (checkout / "pyproject.toml").exists() else Path.cwd()
    return root / "claims" / "ledger.json"


def read_ledger(path: str | os.PathLike[str] | None = None) -> dict[str, Record]:
    """The committed record of the last full runs, by claim id; empty when there is no file.

    Example:
        >>> read_ledger("no-such-file.json")
        {}
    """
    file = Path(path) if path is not None else ledger_path()
    if not file.exists():
        return {}
    fields = {field.name for field in dataclasses.fields(Record)}
    try:
        lines = json.loads(file.read_text(encoding="utf-8"))
        records = [_from_json({k: v for k, v in line.items() if k in fields}) for line in lines]
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{file} is not a ledger of claims ({error}); write it anew with `priorscope claims --record`."
        ) from error
    return {record.id: record for record in records}


def _from_json(line: dict[str, Any]) -> Record:
    return Record(**{**line, "checks": tuple(CheckVerdict(**check) for check in line.get("checks") or ())})


def record_ledger(records: Iterable[Record], path: str | os.PathLike[str] | None = None) -> Path:
    """Bring the ledger up to date: new verdicts replace old ones, claims without runs keep their recorded verdict.

    Not so where the paper has a new version: a verdict on another protocol does not stand. Claims that no longer exist leave the
    ledger; new ones enter it as ``not run``.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "ledger.json"
        >>> _ = record_ledger([Record(id="X.1", says="a", source="b", verdict="holds", scale="small")], file)
        >>> _ = record_ledger([Record(id="X.1", says="a", source="b"), Record(id="X.2", says="c", source="d")], file)
        >>> [(record.id, record.verdict) for record in read_ledger(file).values()]
        [('X.1', 'holds'), ('X.2', 'not run')]
    """
    file = Path(path) if path is not None else ledger_path()
    old = read_ledger(file)
    told = ("says", "source", "paper", "expected", "tolerance", "command")
    merged = []
    for record in sorted(records, key=lambda record: natural_order(record.id)):
        if record.scale == "tiny":
            raise ValueError("tiny runs test the code and give no verdicts; record scale small or paper.")
        known = old.get(record.id)
        silent = known is None or known.verdict == "not run" or known.outdated_by(record)
        if record.verdict == "not run" and known is not None and not silent:
            record = dataclasses.replace(known, **{name: getattr(record, name) for name in told})
        merged.append(record.as_json())
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(merged, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(partial, file)
    return file

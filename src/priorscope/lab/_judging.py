"""The verdicts of a paper from complete runs: those of a store, or a committed table of them."""

from __future__ import annotations

import dataclasses
import os

from priorscope.lab._claim import Claim
from priorscope.lab._evidence import Evidence, evidence_from, read_evidence
from priorscope.lab._paper import Paper
from priorscope.lab._record import Record
from priorscope.lab._store import Store
from priorscope.lab._unfinished import read_unfinished
from priorscope.lab._verdict import Verdict, judge_claim

_TINY = "tiny runs test the code and give no verdicts; run --scale small"


def complete_scale(paper: Paper, store: Store | None, scale: str | None = None) -> tuple[str | None, str]:
    """The largest scale but ``tiny`` (or ``scale``) of which every point is stored, or None and what is missing.

    Example:
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda scale: [{"x": 3, "seed": 0}], lambda point: {})
        >>> complete_scale(paper, Store(":memory:"))
        (None, '')
    """
    if scale == "tiny":
        return None, _TINY
    there = store.keys(paper.name, paper.version) if store is not None else set()
    missing = ""
    for candidate in (scale,) if scale else paper.scales[:0:-1]:  # tiny runs test the code and decide nothing
        points = paper.points(candidate)
        n_there = sum(paper.key(point) in there for point in points)
        if points and n_there == len(points):
            return candidate, ""
        if n_there:
            missing = f"{n_there} of {len(points)} points of scale {candidate} are stored"
    return None, missing


def judge_paper(paper: Paper, store: Store | None, scale: str | None = None) -> list[Record]:
    """The verdict of each claim of a paper from the runs in the store, or ``not run`` where they are not complete.

    Without ``scale``: from the largest that is complete. Tiny runs never give one.

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
    complete, missing = complete_scale(paper, store, scale)
    if complete is None or store is None:
        return [_record(paper, claim, Verdict("not run", note=missing), scale) for claim in paper.claims]
    found = evidence_from(paper, store, complete)
    return [_judge(paper, claim, found) for claim in paper.claims]


def judge_evidence(paper: Paper, folder: str | os.PathLike[str]) -> list[Record]:
    """The verdict of each claim from the table of runs in ``folder``, or ``not run`` where it is not there or of other points.

    A claim that is not run tells how far the kept runs of an unfinished sweep go.

    Example:
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda scale: [], lambda point: {}, ())
        >>> judge_evidence(paper, "no-such-folder")
        []
    """
    found = read_evidence(paper.name, folder)
    missing = ""
    if found is not None and found.version != paper.version:
        missing = f"the table of runs is of version {found.version} of the paper, which is now at {paper.version}"
    elif found is not None and found.keys != [paper.key(point) for point in paper.points(found.scale)]:
        missing = f"the table of runs does not have the points of scale {found.scale}"
    if found is None or missing:
        begun = read_unfinished(paper, folder)
        progress = None if begun is None else (len(begun.rows), begun.wanted)
        waiting = [_record(paper, claim, Verdict("not run", note=missing), None) for claim in paper.claims]
        return [dataclasses.replace(record, progress=progress) for record in waiting]
    return [
        dataclasses.replace(record, evidence=None if record.verdict == "not run" else found.file)
        for record in (_judge(paper, claim, found) for claim in paper.claims)
    ]


def _judge(paper: Paper, claim: Claim, found: Evidence) -> Record:
    """The record of one claim on a complete table of runs."""
    raised, short = False, paper.shortfall(found.scale)
    table = found.table.copy()  # a measure that writes into its table must not disturb the next
    try:
        verdict = judge_claim(claim, table, short, paper.seeds(found.table))
    except Exception as error:  # one broken measure must not hide the other verdicts
        raised = True
        verdict = Verdict("not run", note=f"the measure raised {type(error).__name__}: {error}")
    return dataclasses.replace(
        _record(paper, claim, verdict, found.scale),
        commit=found.commit,
        seconds=found.seconds,
        seeds=paper.seeds(found.table),
        raised=raised,
        shortfall=short,
    )


def _record(paper: Paper, claim: Claim, verdict: Verdict, scale: str | None) -> Record:
    return Record(
        id=claim.id,
        says=claim.says,
        source=claim.source,
        paper=paper.name,
        expected=claim.expects,
        scale=None if verdict.verdict == "not run" else scale,
        command=paper.command(scale or "small"),
        version=paper.version,
        fingerprint=claim.fingerprint,
        finding=claim.finding,
        **{field.name: getattr(verdict, field.name) for field in dataclasses.fields(verdict)},
    )

"""One line of the ledger: a claim, what was measured, the verdict."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field

from priorscope.lab._point import Metrics, finite_or_none
from priorscope.lab._verdict import CheckVerdict


@dataclass(frozen=True)
class Record:
    """One line of the ledger: a claim, what was measured, the verdict, and the command that measures it again.

    ``paper``, ``version`` and ``command`` are None while no paper of the library reproduces the claim yet. ``evidence``
    is the table of runs the verdict was judged from, beside the ledger; None when it is not there. ``raised``: the
    measure failed on stored runs, so that no older verdict can stand. ``progress``: how many runs an unfinished sweep has that
    is kept beside the ledger, and of how many. ``shortfall``: in which fields the runs stay behind the published ones, the
    largest number here and there. ``finding``: what is true in the claim's place.

    Example:
        >>> Record(id="S0.10", says="strong models lose little", source="Fig. 4").verdict
        'not run'
    """

    id: str
    says: str
    source: str
    paper: str | None = None
    expected: str | None = None
    measured: float | None = None
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
    evidence: str | None = None
    fingerprint: str | None = None
    checks: tuple[CheckVerdict, ...] = ()
    raised: bool = False
    progress: tuple[int, int] | None = None
    shortfall: dict[str, tuple[object, object]] = field(default_factory=dict)
    finding: str = ""

    def stale_beside(self, other: Record) -> str:
        """Why this recorded verdict does not hold for the claim as ``other`` states it today; empty where it does.

        Example:
            >>> old = Record(id="X.1", says="a", source="b", verdict="fails", version=1)
            >>> old.stale_beside(Record(id="X.1", says="a", source="b", version=2))
            'judged under version 1 of the paper, which is now at 2'
            >>> old.stale_beside(Record(id="X.1", says="a and more", source="b", version=1))
            'judged under other words'
        """
        if other.raised:
            return other.note
        if None not in (self.version, other.version) and self.version != other.version:
            return f"judged under version {self.version} of the paper, which is now at {other.version}"
        if None not in (self.fingerprint, other.fingerprint):
            same = self.fingerprint == other.fingerprint
        else:
            same = (self.says, self.expected) == (other.says, other.expected)
        return "" if same else "judged under other words"

    def as_json(self) -> Metrics:
        """The record as values that strict JSON can carry; some fields only where there is something in them."""
        line = {name: finite_or_none(value) for name, value in dataclasses.asdict(self).items()}
        return {
            name: value for name, value in line.items() if value or name not in ("progress", "shortfall", "finding")
        }

    @property
    def seconds_to_decide(self) -> float | None:
        """CPU seconds of so many draws as would decide what is not shown; None where that is not known.

        Example:
            >>> wide = CheckVerdict("value", "rising", "not shown", 0.1, -0.1, 0.3, more=4.0)
            >>> Record("X.1", "a", "b", verdict="not shown", seconds=60.0, checks=(wide,)).seconds_to_decide
            240.0
        """
        factors = [check.more for check in self.checks if check.verdict == "not shown"]
        known = [more for more in factors if more is not None]
        return max(known) * self.seconds if self.seconds and known and len(known) == len(factors) else None

    @classmethod
    def from_json(cls, line: Metrics) -> Record:
        """What :meth:`as_json` wrote; fields of other versions of the ledger are left out."""
        fields = {each.name for each in dataclasses.fields(cls)}
        checks = tuple(CheckVerdict(**check) for check in line.get("checks") or ())
        progress = tuple(line["progress"]) if line.get("progress") else None
        known = {name: value for name, value in line.items() if name in fields}
        shortfall = {name: (here, there) for name, (here, there) in (line.get("shortfall") or {}).items()}
        return cls(**{**known, "checks": checks, "progress": progress, "shortfall": shortfall})


def natural_order(text: str) -> list[tuple[int, str]]:
    """A sort key that puts S0.2 before S0.10.

    Example:
        >>> sorted(["S0.10", "S0.2", "J.1"], key=natural_order)
        ['J.1', 'S0.2', 'S0.10']
    """
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text) if part]

"""A published claim as data: what is measured from a table of runs, and what is expected of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING

from priorscope.lab._expect import Expectation
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import pandas as pd

    from priorscope.lab._verdict import Verdict


class NotMeasured(Exception):
    """Raised by a measure that a table cannot feed: the check is then *not shown*, for the reason given.

    Example:
        >>> raise NotMeasured("fewer than three widths fit")
        Traceback (most recent call last):
        ...
        priorscope.lab._claim.NotMeasured: fewer than three widths fit
    """


@dataclass(frozen=True)
class Measured:
    """A measured interval with a note: what the reader should know besides the number.

    Example:
        >>> from priorscope.statistics import exact
        >>> Measured(exact(0.2), "largest of 12 networks").note
        'largest of 12 networks'
    """

    interval: Interval
    note: str = ""


Measure = Callable[["pd.DataFrame"], Interval | Measured]


@dataclass(frozen=True)
class Check:
    """One number of a claim: its name, how it is measured from the table of runs, and what is expected of it.

    ``measure(table)`` gives an :class:`~priorscope.statistics.Interval` (``exact(value)`` where nothing is sampled), or
    a :class:`Measured`, or raises :class:`NotMeasured`. It never sees the expectation.

    Example:
        >>> from priorscope.lab import rising
        >>> from priorscope.statistics import exact
        >>> check = Check("slope", lambda table: exact(table["slope"].min()), rising())
        >>> print(check.name, check.expect)
        slope rising (above 0)
    """

    name: str
    measure: Measure
    expect: Expectation


@dataclass(frozen=True)
class Claim:
    """One statement of a paper that a table of runs can decide: the words, and one or more checks.

    With a single check, give ``measure`` and ``expect`` in its place. ``changes`` says what was corrected in the
    statement, where it holds only so. ``reach`` names the fields of the grid in which runs below the source's size could
    change the verdict (``("steps", "n_train")``): where they fall short, a check that would fail is *not reached*.
    ``trained`` is the level of training that the statement presumes; where runs miss it, the claim is *not trained*,
    whatever its checks say. ``finding`` says what is true in its place, where the runs say so. The verdict follows by one rule
    for all claims, see :func:`judge_claim`.

    Example:
        >>> import pandas as pd
        >>> from priorscope.lab import judge_claim, near
        >>> from priorscope.statistics import Interval
        >>> claim = Claim(
        ...     id="X.1", source="Sec. 2", says="errors fall like one over the root of the width",
        ...     measure=lambda table: Interval(table["slope"].mean(), table["slope"].min(), table["slope"].max()),
        ...     expect=near(-0.5, within=0.1),
        ... )
        >>> judge_claim(claim, pd.DataFrame({"slope": [-0.48, -0.52]})).verdict
        'holds'
        >>> judge_claim(claim, pd.DataFrame({"slope": [-0.3, -0.52]})).verdict
        'not shown'
    """

    id: str
    source: str
    says: str
    checks: tuple[Check, ...] = ()
    changes: str = ""
    reach: tuple[str, ...] = ()
    trained: Check | None = None
    finding: str = ""
    measure: InitVar[Measure | None] = None
    expect: InitVar[Expectation | None] = None

    def __post_init__(self, measure: Measure | None, expect: Expectation | None) -> None:
        if not self.id or any(c.isspace() for c in self.id):
            raise ValueError(f"a claim's id is a word such as 'S0.4'; got {self.id!r}.")
        if (measure is None) != (expect is None) or (measure is None) == (not self.checks):
            raise ValueError(f"claim {self.id} needs either checks, or one measure with what it is expected to be.")
        if measure is not None and expect is not None:
            object.__setattr__(self, "checks", (Check("value", measure, expect),))
        names = [check.name for check in self.checks]
        if len(set(names)) < len(names):
            raise ValueError(f"the checks of claim {self.id} need different names; got {', '.join(names)}.")

    def judge(self, table: pd.DataFrame) -> Verdict:
        """The verdict on a complete table of runs, by :func:`judge_claim`."""
        from priorscope.lab._verdict import judge_claim

        return judge_claim(self, table)

    @property
    def expects(self) -> str:
        """What is expected of every check, in words."""
        if len(self.checks) == 1:
            (only,) = self.checks
            return str(only.expect)
        return "; ".join(f"{check.name}: {check.expect}" for check in self.checks)

    @property
    def fingerprint(self) -> str:
        """A hash of the statement, its changes, its reach, and the names and expectations of its checks.

        A verdict under another fingerprint was given on another claim.
        """
        both = (*self.checks, self.trained) if self.trained is not None else self.checks
        checks = [  # a core is told by the words
            (c.name, c.expect.words, repr(c.expect.low), repr(c.expect.high), c.expect.strict) for c in both
        ]
        told = (self.says, self.changes, checks, *([self.reach] if self.reach else []))
        return hashlib.sha256(json.dumps(told, ensure_ascii=False).encode()).hexdigest()[:16]

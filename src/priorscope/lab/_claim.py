"""A published claim, and what a finished table of runs says about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["VERDICTS", "Claim", "Verdict"]

VERDICTS = ("holds", "holds with changes", "fails", "not shown", "not run")
"""What can be said of a claim.

``holds with changes``: true after a correction that the note names. ``not shown``: runs of this size cannot decide it
(the measured value is given). ``not run``: no complete set of stored runs.

Example:
    >>> VERDICTS[0]
    'holds'
"""


@dataclass(frozen=True)
class Verdict:
    """The judgement of one claim, with the measured value and the ends of its interval.

    Example:
        >>> Verdict("holds", measured=-0.49, low=-0.53, high=-0.46).verdict
        'holds'
        >>> Verdict("true")
        Traceback (most recent call last):
        ...
        ValueError: a verdict is one of 'holds', 'holds with changes', 'fails', 'not shown', 'not run'; got 'true'.
    """

    verdict: str
    measured: float | str | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"a verdict is one of {', '.join(map(repr, VERDICTS))}; got {self.verdict!r}.")
        for field in ("measured", "low", "high"):
            object.__setattr__(self, field, _plain(getattr(self, field)))


def _plain(value: Any) -> float | str | None:
    """A number as a Python float, text as it is, and nothing for what is not finite."""
    if value is None or isinstance(value, str):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


@dataclass(frozen=True)
class Claim:
    """One statement of a paper that a table of runs can decide.

    ``judge`` receives the table (one row a run: the point's fields and the run's metrics) of one scale and gives a
    :class:`Verdict`. The expected value is for the reader and for the judge; the runs never see it.

    Example:
        >>> def judge(table):
        ...     slope = table["slope"].mean()
        ...     return Verdict("holds" if abs(slope + 0.5) < 0.1 else "fails", measured=slope)
        >>> claim = Claim("X.1", "Sec. 2", "errors fall like one over the root of the width", -0.5, 0.1, judge)
        >>> import pandas as pd
        >>> claim.judge(pd.DataFrame({"slope": [-0.48, -0.52]})).verdict
        'holds'
    """

    id: str
    source: str
    says: str
    expected: float | str | None
    tolerance: float | str | None
    judge: Callable[[pd.DataFrame], Verdict]

    def __post_init__(self) -> None:
        if not self.id or any(c.isspace() for c in self.id):
            raise ValueError(f"a claim's id is a word such as 'S0.4'; got {self.id!r}.")

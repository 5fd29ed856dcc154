"""One row of a profile: a contender, what was measured of it, and what it would do at the size asked about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priorscope.judge import Judgement, Metric
from priorscope.printing import printed
from priorscope.profiles._kind import Kind
from priorscope.statistics import Interval

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from priorscope.curves import Extrapolation

__all__ = ["ErrorCurve", "Row"]

Array = NDArray[np.float64]


@printed
@dataclass(frozen=True)
class ErrorCurve:
    """A predictor's error by training size: measured at ``sizes``, forecast by ``ahead``; all values are ones to be low.

    ``measured``, ``low`` and ``high`` belong to ``sizes``: the error on rows that took no part, with its interval.

    Example:
        >>> import priorscope as ps
        >>> two = np.array([0.4, 0.2])
        >>> curve = ErrorCurve(np.array([10, 20]), two, two - 0.1, two + 0.1, ps.extrapolate([10, 20], two, to=40))
        >>> curve.last, curve.at(40).value < 0.2
        ((20, 0.2), True)
    """

    sizes: NDArray[np.int64]
    measured: Array
    low: Array
    high: Array
    ahead: Extrapolation = field(repr=False)

    @property
    def last(self) -> tuple[int, float]:
        """The largest size at which the error was measured, and that error."""
        return int(self.sizes[-1]), float(self.measured[-1])

    def at(self, n: float) -> Interval:
        """The error forecast at ``n`` rows; beyond what was measured its upper end is at most the upper end measured."""
        found = self.ahead.at(float(n))
        if n <= self.sizes[-1] or self.measured[-1] <= 0:
            return found
        top = max(float(self.high[-1]), found.low)
        return Interval(min(found.value, top), found.low, min(found.high, top))

    def frame(self, metric: Metric, name: str) -> pd.DataFrame:
        """The measured points, one row each."""
        return pd.DataFrame(
            {"predictor": name, "n": self.sizes, metric.value: [metric.shown(v) for v in self.measured]}
        )


@printed
@dataclass(frozen=True)
class Row:
    """A predictor in a profile's table: ``estimator`` is what was measured and what is built.

    ``estimate`` is its error at the size asked about, ``standing`` what can be said of it beside the first row (None for the
    first). ``learns`` says whether it beats guessing: True, False (a gain that counts would have shown), None (too few rows to
    tell). ``cost`` is about how many processor seconds a fit to all rows takes, ``seconds`` what measuring it took, ``ended``
    why it was not measured further.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
        >>> row = ps.profile(x, x[:, 0] * x[:, 1], budget=4, deep=False).rows[0]
        >>> row.estimate.low <= row.estimate.value <= row.estimate.high, row.standing
        (True, None)
    """

    name: str
    kind: Kind
    words: str
    curve: ErrorCurve = field(repr=False)
    estimate: Interval
    estimator: BaseEstimator = field(repr=False)
    standing: Judgement | None = None
    learns: bool | None = True
    ratio: Interval | None = None
    cost: float = 0.0
    seconds: float = 0.0
    folds: int = 1
    tested: int = 0
    ended: str = ""
    architecture: str | None = None
    offered: bool = False
    near: float = 1.0  # probability of being within the margin of the best
    reasons: tuple[str, ...] = ()
    native: bool = False

    @property
    def now(self) -> tuple[int, Interval]:
        """The largest size at which its error was measured, and that error with its interval."""
        c = self.curve
        return int(c.sizes[-1]), Interval(float(c.measured[-1]), float(c.low[-1]), float(c.high[-1]))

    @property
    def title(self) -> str:
        """Words first, the short name behind them."""
        plain = self.offered or self.kind is Kind.AVERAGE or not self.words or self.name == self.words
        return self.name if plain else f"{self.words} ({self.name})"

    @property
    def said(self) -> str:
        """Where it stands, in a word or two."""
        if self.learns is False:
            return "no better than guessing"
        return "first" if self.standing is None else self.standing.value

"""An extrapolated learning curve: the estimate, the curve, its floor, and what more samples are worth."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priorscope.checks import FRACTION, POSITIVE, checked
from priorscope.curves._cautions import CurveCaution
from priorscope.curves._posterior import Posterior
from priorscope.printing import printed
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Extrapolation", "Needed"]

Array = NDArray[np.float64]
_DRAWS = 4000  # behind gains, which are differences of one curve at two sizes
_HORIZON = 1e4  # times the largest size: as far as samples needed are looked for
_STEPS = 60  # of that search on a log scale


@dataclass(frozen=True)
class Needed:
    """Samples at which an error is reached: infinite ends where the curve's band never gets there.

    ``chance`` is the probability that endless samples get there at all.

    Example:
        >>> print(Needed(0.1, 5000.0, 2000.0, float("inf"), 0.9))
        error 0.1: about 5,000 samples (2,000 to not reachable; 90 % sure that it can be reached at all)
    """

    error: float
    value: float
    low: float
    high: float
    chance: float

    @property
    def reachable(self) -> bool:
        """Whether it is more likely than not that the error can be reached."""
        return bool(np.isfinite(self.value))

    def __str__(self) -> str:
        if not self.reachable:
            return (
                f"error {self.error:g}: not reachable with this predictor ({100 * self.chance:.0f} % sure that it can)"
            )
        value, low, high = (float(f"{v:.2g}") for v in (self.value, self.low, self.high))
        end = f"{high:,.0f}" if np.isfinite(high) else "not reachable"
        return (
            f"error {self.error:g}: about {value:,.0f} samples ({low:,.0f} to {end}; "
            f"{100 * self.chance:.0f} % sure that it can be reached at all)"
        )


@printed
@dataclass(frozen=True)
class Extrapolation:
    """What a curve measured at some sizes says of others; ``estimate`` is the error at ``to``.

    Example:
        >>> found = ps.extrapolate([64, 128, 256, 512], [0.30, 0.24, 0.19, 0.16], to=5000, tests=1000)
        >>> found.estimate.low < 0.12 < found.estimate.high
        True
        >>> found.at(512).high - found.at(512).low < 0.05  # at a measured size: the measurement, denoised
        True
    """

    estimate: Interval
    to: float
    level: float
    sizes: Array
    errors: Array
    kind: str | None
    share: bool
    cautions: tuple[CurveCaution, ...]
    posterior: Posterior = field(repr=False)

    def at(self, n: float) -> Interval:
        """Median and interval of the error at ``n``: beyond the largest size measured no end lies above the one there."""
        return interval_at(self.posterior, n, self.level, self.share)

    @cached_property
    def floor(self) -> Interval:
        """What the error falls to with endless samples."""
        low, middle, high = self.posterior.floor(_ends(self.level))
        return Interval(float(middle), float(low), float(min(high, self.at(self.posterior.points.last).high)))

    @checked(error=POSITIVE)
    def needed(self, error: float) -> Needed:
        """Samples at which the error falls to ``error``, where the median and the ends of the band cross it."""
        last = self.posterior.points.last
        grid = np.geomspace(self.sizes[0], last * _HORIZON, _STEPS)
        ends = [self.at(float(n)) for n in grid]
        crossings = [
            _crossing(grid, np.array([getattr(e, end) for e in ends]), error) for end in ("value", "low", "high")
        ]
        floors = self.posterior.floor(np.linspace(0.005, 0.995, 100))
        return Needed(float(error), crossings[0], crossings[1], crossings[2], float((floors < error).mean()))

    def gain(self, factor: float = 2.0) -> Interval:
        """By how much the error falls from the largest size measured to ``factor`` times as many samples."""
        return self._fall(factor * self.posterior.points.last)

    def worth(self, labels: float = 1000) -> Interval:
        """By how much ``labels`` more training samples lower the error from the largest size measured."""
        return self._fall(self.posterior.points.last + labels)

    def _fall(self, n: float) -> Interval:
        last = self.posterior.points.last
        if not n >= last:
            raise ValueError(f"a gain needs more samples than the {last:,.0f} measured; got {n:,.0f}.")
        draws = self.posterior.draws(_DRAWS, np.random.default_rng(0))
        fall = self.posterior.at(draws, last) - self.posterior.at(draws, n)
        low, middle, high = np.quantile(fall, _ends(self.level))
        return Interval(float(middle), float(low), float(high))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The cautions in words."""
        return tuple(str(c) for c in self.cautions)

    @property
    def sentence(self) -> str:
        """The answer in two sentences."""
        last, twice, ten = self.posterior.points.last, self.gain(2), self.gain(10)
        here = self.at(last)
        return (
            f"Error {self._shown(here)} at {last:,.0f} samples, {self._shown(self.estimate)} at {self.to:,.0f}. Twice the "
            f"samples would take off {self._shown(twice)}, ten times as many {self._shown(ten)}; "
            f"the floor is {self._shown(self.floor)}."
        )

    def _shown(self, one: Interval) -> str:
        return f"{one.value:.3g} ({one.low:.3g}–{one.high:.3g})"

    def curve(self, to: float | None = None, points: int = 40) -> pd.DataFrame:
        """Median and band from the smallest size measured to ``to`` (default: the size asked about): n, error, low, high."""
        top = max(self.to if to is None else to, self.posterior.points.last)
        grid = np.geomspace(self.sizes[0], top, points) if top > self.sizes[0] else np.array([top])
        ends = [self.at(float(n)) for n in grid]
        return pd.DataFrame(
            {"n": grid, "error": [e.value for e in ends], "low": [e.low for e in ends], "high": [e.high for e in ends]}
        )

    def table(self) -> pd.DataFrame:
        """One row per size: those measured, denoised, and the one asked about; ``measured`` is empty there."""
        ends = [self.at(float(n)) for n in (*self.sizes, self.to)]
        return pd.DataFrame(
            {
                "n": [*self.sizes, self.to],
                "measured": [*self.errors, np.nan],
                "error": [e.value for e in ends],
                "low": [e.low for e in ends],
                "high": [e.high for e in ends],
            }
        )

    def chart(self) -> alt.TopLevelMixin:
        """Line and band: the curve with its interval; points: what was measured."""
        import altair as alt

        ticks = alt.Axis(labelOverlap="greedy", labelSeparation=4)
        x = alt.X("n:Q", title="training samples n", axis=ticks).scale(type="log", nice=False)
        y = alt.Y("error:Q", title="test error", axis=ticks).scale(type="log", nice=False)
        band = (
            alt.Chart(self.curve())
            .mark_area(opacity=0.15)
            .encode(x=x, y=alt.Y("low:Q", title="test error"), y2="high:Q")
        )
        line = alt.Chart(self.curve()).mark_line().encode(x=x, y=y, tooltip=["n", "error", "low", "high"])
        seen = pd.DataFrame({"n": self.sizes, "error": self.posterior.points.error})
        points = alt.Chart(seen).mark_point(filled=True, color="gray").encode(x=x, y=y, tooltip=["n", "error"])
        chart: alt.TopLevelMixin = (band + line + points).properties(
            title=f"error to {self.to:,.0f} samples, with its {100 * self.level:.0f} % interval"
        )
        return chart


@checked(level=FRACTION)
def _ends(level: float) -> Array:
    return np.array([0.5 - level / 2, 0.5, 0.5 + level / 2])


def interval_at(posterior: Posterior, n: float, level: float, share: bool) -> Interval:
    """Median and interval at ``n``; shares are at most one."""
    if not 1 <= n < np.inf:
        raise ValueError(f"an error is extrapolated to a finite number of at least 1 training sample; got {n}.")
    low, middle, high = posterior.quantiles(n, _ends(level))
    most = 1.0 if share else np.inf
    return Interval(*(float(min(v, most)) for v in (middle, low, high)))


def _crossing(grid: Array, curve: Array, error: float) -> float:
    """Where a falling curve meets ``error``, straight on log axes: its first size if below already, infinity if never."""
    under = np.flatnonzero(curve <= error)
    if not len(under):
        return float(np.inf)
    i = int(under[0])
    if i == 0:
        return float(grid[0])
    part = np.log(curve[i - 1] / error) / np.log(curve[i - 1] / curve[i])
    return float(np.exp(np.log(grid[i - 1]) + part * np.log(grid[i] / grid[i - 1])))

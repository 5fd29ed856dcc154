"""One row of a profile: a predictor, what it would do at the size asked about, and where that number comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priorscope.printing import printed
from priorscope.probes import SamplesNeeded
from priorscope.profiles._kind import Kind
from priorscope.profiles._metric import Metric
from priorscope.profiles._phrases import count
from priorscope.profiles._standing import Standing
from priorscope.statistics import Interval, log_interpolate

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from priorscope.profiles._candidates import Candidate

__all__ = ["ErrorCurve", "EstimatorRecipe", "KernelRecipe", "NetworkRecipe", "Recipe", "Row"]

Array = NDArray[np.float64]


@printed
@dataclass(frozen=True)
class ErrorCurve:
    """A predictor's error by training size: measured at ``sizes``, forecast on ``grid``; all values are ones to be low.

    ``measured``, ``measured_low`` and ``measured_high`` belong to ``sizes``: the error on samples that took no part, with a
    90 % interval over samples and draws. ``ahead``, ``ahead_low`` and ``ahead_high`` belong to ``grid``, which begins at the
    smallest measured size and ends beyond the size asked about.

    Example:
        >>> two = np.array([0.4, 0.2])
        >>> curve = ErrorCurve(np.array([10, 20]), two, two, two, np.array([10.0, 40.0]), np.array([0.4, 0.1]), two, two)
        >>> round(curve.at(20).value, 3), curve.last
        (0.2, (20, 0.2))
    """

    sizes: NDArray[np.int64]
    measured: Array
    measured_low: Array
    measured_high: Array
    grid: Array
    ahead: Array
    ahead_low: Array
    ahead_high: Array

    def at(self, n: float) -> Interval:
        """The error forecast at ``n`` samples, with its interval; flat beyond the ends of the grid."""
        size = np.array([float(n)])
        curves = (self.ahead, self.ahead_low, self.ahead_high)
        return Interval(*(float(log_interpolate(size, self.grid, c)[0]) for c in curves))

    @property
    def last(self) -> tuple[int, float]:
        """The largest size at which the error was measured, and that error."""
        return int(self.sizes[-1]), float(self.measured[-1])

    def needed(self, error: float) -> SamplesNeeded:
        """Samples at which the forecast falls to ``error``; infinite where it does not within the grid."""

        def crossing(values: Array) -> float:
            below = np.flatnonzero(values <= error)
            if len(below) == 0:
                return float("inf")
            i = int(below[0])
            if i == 0:
                return float(self.grid[0])
            x0, x1 = np.log(self.grid[[i - 1, i]])
            y0, y1 = np.log(np.maximum(values[[i - 1, i]], 1e-300))
            return float(np.exp(x0 + (np.log(error) - y0) / (y1 - y0) * (x1 - x0)))

        return SamplesNeeded(error, *(crossing(c) for c in (self.ahead, self.ahead_low, self.ahead_high)))

    def table(self) -> pd.DataFrame:
        """Long form: ``part`` is "measured" or "forecast", with n, error, low, high."""
        measured = {"n": self.sizes, "error": self.measured, "low": self.measured_low, "high": self.measured_high}
        ahead = {"n": self.grid, "error": self.ahead, "low": self.ahead_low, "high": self.ahead_high}
        parts = [pd.DataFrame(measured).assign(part="measured"), pd.DataFrame(ahead).assign(part="forecast")]
        return pd.concat(parts, ignore_index=True)


@dataclass(frozen=True)
class KernelRecipe:
    """How to build a kernel machine: the candidate whose kernel it is, "ntk" or "nngp", and the ridge that did best.

    ``ridge`` is relative to the mean of the kernel's diagonal on the pilot, at the largest size measured.

    Example:
        >>> KernelRecipe(None, "nngp", 0.01).kernel
        'nngp'
    """

    candidate: Candidate | None
    kernel: str
    ridge: float


@dataclass(frozen=True)
class NetworkRecipe:
    """How to build a network: the candidate, its width (None: the user's own), Adam's rate, and steps at the largest size.

    Example:
        >>> NetworkRecipe(None, 256, 0.01, 300).steps
        300
    """

    candidate: Candidate | None
    width: int | None
    rate: float
    steps: int


@dataclass(frozen=True)
class EstimatorRecipe:
    """How to build a classical model: an estimator of scikit-learn, not fitted, with the settings that did best.

    It takes flat rows: ``scaled`` to mean 0 and variance 1 first; ``native``: at their own size, else as kernels see them.

    Example:
        >>> from sklearn.svm import SVC
        >>> EstimatorRecipe(SVC()).estimator
        SVC()
    """

    estimator: BaseEstimator
    scaled: bool = True
    native: bool = False


Recipe = KernelRecipe | NetworkRecipe | EstimatorRecipe


@dataclass(frozen=True)
class Row:
    """A predictor in the profile's one table.

    ``name`` (unique), ``kind``, ``words`` (what it is), ``of`` (what its forecast is a forecast of); ``curve`` the error by size
    in the profile's metric; ``estimate`` the one merged estimate at the size asked about, with its interval, by which rows
    are sorted; ``needed`` samples to the profile's target; ``cost`` seconds to train it at the size asked about (None where not
    known); ``ratio`` its estimate over that of the first row, compared on the same samples (None for the first);
    ``standing`` follows from ``estimate`` and ``ratio`` alone; ``reasons`` are sentences; ``beside`` holds other measures at the
    size asked about; ``architecture`` names the entry of ``Profile.candidates`` with its spectrum, symmetries, blind spots
    and regime (None for classical models); ``recipe`` is what it takes to build it; ``seconds`` of processor time it took
    to measure.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
        >>> row = ps.profile(ps.data.from_arrays(x, x[:, 0] * x[:, 1]), deep=False, trials=False).rows[0]
        >>> row.estimate.low <= row.estimate.value <= row.estimate.high, row.ratio
        (True, None)
    """

    name: str
    kind: Kind
    words: str
    of: str
    curve: ErrorCurve = field(repr=False)
    estimate: Interval
    needed: SamplesNeeded
    cost: float | None
    recipe: Recipe = field(repr=False)
    architecture: str | None = None
    ratio: Interval | None = None
    standing: Standing = Standing.OPEN
    reasons: tuple[str, ...] = ()
    beside: dict[Metric, Interval] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def now(self) -> tuple[int, Interval]:
        """The largest size at which its error was measured, and that error with its interval."""
        c = self.curve
        return int(c.sizes[-1]), Interval(*(float(v[-1]) for v in (c.measured, c.measured_low, c.measured_high)))

    @property
    def learns(self) -> bool:
        """Whether its forecast lies below the error of a predictor that does not look at its input."""
        return self.standing.learns

    @property
    def samples(self) -> str:
        """How many samples the profile's target takes, in words; a dash where nothing is learnt."""
        if not self.learns:
            return "–"
        return count(self.needed.value) if self.needed.reached else f"> {count(float(self.curve.grid[-1]))}"

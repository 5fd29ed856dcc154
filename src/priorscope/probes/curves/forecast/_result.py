"""What a forecast says: the combined curve with its interval, the estimators behind it, and the inverse question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from priorscope.probes.curves._learning_curve import LearningCurve
from priorscope.probes.curves.forecast._caution import Caution
from priorscope.statistics import Interval, log_interpolate

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Forecast", "SamplesNeeded"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SamplesNeeded:
    """Training samples at which the forecast reaches an error: value and interval, infinite where it never does.

    Example:
        >>> SamplesNeeded(0.1, 500.0, 400.0, float("inf")).reached
        True
    """

    error: float
    value: float
    low: float
    high: float

    @property
    def reached(self) -> bool:
        """Whether the combined curve gets there within the range of the forecast."""
        return bool(np.isfinite(self.value))


def _crossing(grid: Array, values: Array, error: float) -> float:
    below = np.flatnonzero(values <= error)
    if len(below) == 0:
        return float("inf")
    i = int(below[0])
    if i == 0:
        return float(grid[0])
    x0, x1, y0, y1 = *np.log(grid[[i - 1, i]]), *np.log(np.maximum(values[[i - 1, i]], 1e-300))
    return float(np.exp(x0 + (np.log(error) - y0) / (y1 - y0) * (x1 - x0)))


@dataclass(frozen=True)
class Forecast:
    """Predicted test error at ``n`` training samples, with interval; see :func:`forecast`.

    ``estimators`` holds the curves that were combined ("power law", "spectral theory", "kernel PCA") on ``grid``;
    ``cautions`` say when they disagree or the pilot is too small, ``warnings`` are their words, ``notes`` what was done to the
    data first.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(80, 2, generator=torch.Generator().manual_seed(0))
        >>> data = ps.data.from_arrays(x, x[:, 0] * x[:, 1], test_fraction=0.0)
        >>> result = ps.forecast(data, lambda a, b: torch.exp(-torch.cdist(a, b)), n=[100, 400])
        >>> bool(result.error[1] < result.error[0]), result.samples_needed(10.0).value <= 10
        (True, True)
    """

    n: Array
    grid: Array
    estimators: dict[str, Array]
    combined: Array
    combined_low: Array
    combined_high: Array
    wrong: Array | None
    wrong_low: Array | None
    wrong_high: Array | None
    level: float
    exponents: dict[str, float]
    cautions: tuple[Caution, ...]
    curve: LearningCurve = field(repr=False)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to be careful about, in words."""
        return tuple(caution.words for caution in self.cautions)

    @property
    def error(self) -> Array:
        """Mean squared test error at ``n``."""
        return log_interpolate(self.n, self.grid, self.combined)

    @property
    def low(self) -> Array:
        """Lower end of the interval at ``n``."""
        return log_interpolate(self.n, self.grid, self.combined_low)

    @property
    def high(self) -> Array:
        """Upper end of the interval at ``n``."""
        return log_interpolate(self.n, self.grid, self.combined_high)

    def at(self, n: float) -> Interval:
        """Mean squared error at one size, with its interval."""
        if not self.grid[0] <= n <= self.grid[-1]:
            raise ValueError(f"this forecast reaches from {self.grid[0]:.0f} to {self.grid[-1]:.0f} samples; got {n}.")
        size = np.array([float(n)])
        curves = (self.combined, self.combined_low, self.combined_high)
        return Interval(*(float(log_interpolate(size, self.grid, c)[0]) for c in curves))

    def ratio_to(self, other: Forecast, n: float) -> Interval:
        """This error over that of another forecast from the same pilot, with an interval that knows they share samples.

        Example:
            >>> import priorscope as ps, torch
            >>> x = torch.randn(80, 2, generator=torch.Generator().manual_seed(0))
            >>> data = ps.data.from_arrays(x, x[:, :1], test_fraction=0.0)
            >>> wide, narrow = (ps.forecast(data, lambda a, b, s=s: torch.exp(-torch.cdist(a, b) / s), n=320) for s in (4, 1))
            >>> narrow.at(320).low < wide.at(320).high, 1 < narrow.ratio_to(wide, 320).low  # intervals overlap; yet told apart
            (True, True)
        """
        from priorscope.probes.curves.forecast._compare import ratio_of

        return ratio_of(self, other, n)

    def misclassification(self, n: float) -> Interval:
        """The misclassification rate on test samples at one size, with its interval (classification only)."""
        if self.wrong is None or self.wrong_low is None or self.wrong_high is None:
            raise ValueError("misclassification needs a classification task; these targets are real-valued.")
        size = np.array([float(n)])
        curves = (self.wrong, self.wrong_low, self.wrong_high)
        return Interval(*(float(log_interpolate(size, self.grid, c)[0]) for c in curves))

    def estimators_at(self, size: float) -> dict[str, float]:
        """The error at one size by each estimator that was combined.

        Example:
            >>> import priorscope as ps
            >>> found = ps.forecast(ps.data.digits(classes="parity"), ps.models.fcn(1), [400], pilot=100)
            >>> sorted(found.estimators_at(400)) == sorted(found.estimators)
            True
        """
        return {name: float(log_interpolate(size, self.grid, v)) for name, v in self.estimators.items()}

    def samples_needed(self, error: float, *, metric: str = "mse") -> SamplesNeeded:
        """Samples at which ``metric`` ("mse" or "misclassification") falls to ``error``, by inverting the curve."""
        if not error > 0:
            raise ValueError(f"samples_needed takes an error above 0; got {error}.")
        if metric == "mse":
            curves = (self.combined, self.combined_low, self.combined_high)
        elif metric == "misclassification" and self.wrong is not None:
            curves = (self.wrong, self.wrong_low, self.wrong_high)  # type: ignore[assignment]
        else:
            raise ValueError(f"metric must be 'mse', or 'misclassification' for class labels; got {metric!r}.")
        return SamplesNeeded(error, *(_crossing(self.grid, c, error) for c in curves))

    def table(self) -> pd.DataFrame:
        """One row per requested n: combined error, interval, each estimator, and misclassification where there is one."""
        frame = pd.DataFrame({"n": self.n.astype(int), "error": self.error, "low": self.low, "high": self.high})
        for name, values in self.estimators.items():
            frame[name] = log_interpolate(self.n, self.grid, values)
        if self.wrong is not None:
            frame["misclassified"] = log_interpolate(self.n, self.grid, self.wrong)
        return frame

    def tidy(self, to: ArrayLike | None = None) -> pd.DataFrame:
        """Curves in long form (n, curve, error, low, high) from the smallest measured size to ``to`` (largest n)."""
        top = float(np.max(self.n if to is None else to))
        keep = (self.grid >= self.curve.sizes[0]) & (self.grid <= top * 1.001)
        parts = [
            pd.DataFrame(
                {
                    "n": self.grid[keep],
                    "curve": "combined",
                    "error": self.combined[keep],
                    "low": self.combined_low[keep],
                    "high": self.combined_high[keep],
                }
            )
        ]
        parts += [
            pd.DataFrame({"n": self.grid[keep], "curve": name, "error": values[keep]})
            for name, values in self.estimators.items()
        ]
        return pd.concat(parts, ignore_index=True)

    def __str__(self) -> str:
        shown = self.table().map(lambda v: f"{v:.3g}" if isinstance(v, float) else v)
        return "\n".join(
            [self._sentence(), "", shown.to_string(index=False), *(f"Take care: {w}" for w in self.warnings)]
        )

    def _sentence(self) -> str:
        n, last = int(self.curve.sizes[-1]), float(self.curve.error[-1])
        far = float(np.max(np.asarray(self.n, dtype=float)))
        ahead = self.at(far)
        return (
            f"Kernel regression: mean squared error {last:.3g} at {n:,} samples, forecast {ahead.value:.3g} "
            f"({ahead.low:.3g}–{ahead.high:.3g}) at {far:,.0f}, from a pilot of {self.curve.pilot}."
        )

    def _repr_html_(self) -> str:
        from html import escape

        lines = "".join(f"<p>{escape(line)}</p>" for line in (*self.notes, *(f"Take care: {w}" for w in self.warnings)))
        table = self.table().to_html(index=False, float_format="{:.3g}".format)
        return f"<p><b>{escape(self._sentence())}</b></p>{table}{lines}"

    def chart(self) -> alt.TopLevelMixin:
        """Lines: forecasts; band: interval of the combined one; points: errors measured on the pilot."""
        import altair as alt

        tidy = self.tidy()
        ticks = alt.Axis(labelOverlap="greedy", labelSeparation=4)
        x = alt.X("n:Q", title="training samples n", axis=ticks).scale(type="log", nice=False)
        y = alt.Y("error:Q", title="test error (mean squared)", axis=ticks).scale(type="log", nice=False)
        pick = alt.selection_point(fields=["curve"], bind="legend")
        shown = alt.condition(pick, alt.value(1.0), alt.value(0.08))
        band = (
            alt.Chart(tidy[tidy["curve"] == "combined"])
            .mark_area(opacity=0.15)
            .encode(x=x, y=alt.Y("low:Q", title="test error (mean squared)").scale(type="log", nice=False), y2="high:Q")
        )
        lines = (
            alt.Chart(tidy)
            .mark_line()
            .encode(
                x=x, y=y, color=alt.Color("curve:N", title="forecast"), opacity=shown, tooltip=["curve", "n", "error"]
            )
            .add_params(pick)
        )
        points = (
            alt.Chart(self.curve.table()).mark_point(filled=True, color="gray").encode(x=x, y=y, tooltip=["n", "error"])
        )
        chart: alt.TopLevelMixin = (lines + band + points).properties(
            title=f"forecast from a pilot of {self.curve.pilot}"
        )
        return chart

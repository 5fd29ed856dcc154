"""Measures of what profiles say, from what every predictor did on rows that took no part."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import gmean

from priorscope.lab import Measured, NotMeasured
from priorscope.statistics import Interval, median_interval, seed_interval, share_interval

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "called_worse", "chart", "coverage", "excess", "excess_of_pick", "far_behind", "headline", "log_error",
    "nothing_seen", "picks_against", "right_picks",
]  # fmt: skip

Array = NDArray[np.float64]
TOLERANCE = 1.1  # a pick within 10 % of the best counts as right
BEHIND = 1.25  # errors that are truly so many times the pick's, and half a point, ought to be called worse
ENOUGH = 12  # problems below which nothing is shown
FEW = 20  # predictors below which nothing is shown of them


def excess(row: pd.Series, place: int) -> float:
    """Error of one predictor over that of the best of all.

    The best is named on one half of the test rows and both are judged on the other, both ways round (geometric mean), so that
    the best of many is not the luckiest. Half a mistake is added to both where errors are shares.
    """
    first, second = (np.asarray(row[k], float) for k in ("first_half", "second_half"))
    half = 0.0 if row["metric"] == "rmse" else 0.5 / (row["tested"] / 2)
    ratios = [
        (second[place] + half) / (second[first.argmin()] + half),
        (first[place] + half) / (first[second.argmin()] + half),
    ]
    return float(gmean(ratios))


def _enough(table: pd.DataFrame) -> pd.DataFrame:
    if len(table) < ENOUGH:
        raise NotMeasured(f"{len(table)} problems, {ENOUGH} are wanted")
    return table


def _picks(table: pd.DataFrame) -> list[float]:
    return [excess(row, 0) for _, row in _enough(table).iterrows()]


def _missed(table: pd.DataFrame, ratios: list[float]) -> str:
    names = [
        f"{row['problem']} ({row['rows'][0]}, {r:.2f})"
        for (_, row), r in zip(table.iterrows(), ratios)
        if r > TOLERANCE
    ]
    return f"; missed: {', '.join(names)}" if names else ""


def right_picks(table: pd.DataFrame) -> Measured:
    """Share of problems on which the first row, which is what is built, is within 10 % of the best of all."""
    ratios = _picks(table)
    right = np.array(ratios) <= TOLERANCE
    return Measured(share_interval(right), f"{right.sum()} of {len(right)} problems" + _missed(table, ratios))


def excess_of_pick(table: pd.DataFrame) -> Measured:
    """Mean excess of the first row over the best of all."""
    ratios = _picks(table)
    return Measured(seed_interval(np.array(ratios) - 1), f"median {100 * (np.median(ratios) - 1):.1f} %")


def _logs(row: pd.Series) -> tuple[Array, Array, Array, Array, Array]:
    """Logarithms of estimate, low, high and error, and the standard error of the last: of the test rows alone."""
    tiny = 1e-9 if row["metric"] == "rmse" else 0.5 / row["tested"]
    mid, low, high, error = (
        np.log(np.maximum(np.asarray(row[k], float), tiny)) for k in ("estimate", "low", "high", "error")
    )
    if row["metric"] == "rmse":
        return mid, low, high, error, np.full(len(error), np.sqrt(0.5 / row["tested"]))
    p = np.clip(np.exp(error), tiny, 1 - tiny)
    return mid, low, high, error, np.sqrt((1 - p) / (p * row["tested"]))


def coverage(kind: str) -> Callable[[pd.DataFrame], Measured]:
    """Share, by problem, of intervals of a kind that cover the error, allowing for the test rows' own noise.

    Each side of the interval is widened by 1.645 standard errors of the test error, in quadrature on the logarithm.
    """

    def measure(table: pd.DataFrame) -> Measured:
        """The share, with the median of errors over estimates in the note."""
        parts, ratios = [], []
        for _, row in _enough(table).iterrows():
            inside = np.array(row["kinds"]) == kind
            if not inside.any():
                continue
            mid, low, high, error, noise = (v[inside] for v in _logs(row))
            covered = (error >= mid - np.hypot(mid - low, 1.645 * noise)) & (
                error <= mid + np.hypot(high - mid, 1.645 * noise)
            )
            parts.append(float(covered.mean()))
            ratios += (error - mid).tolist()
        note = f"{len(ratios)} intervals on {len(parts)} problems; median error over estimate {np.exp(np.median(ratios)):.2f}"
        return Measured(_by_problem(parts), note)

    return measure


def _by_problem(parts: list[float]) -> Interval:
    """The mean of shares, one per problem; problems that all agree have no spread, and count as so many hits or misses."""
    return share_interval(parts) if set(parts) in ({0.0}, {1.0}) else seed_interval(parts)


def log_error(times: int) -> Callable[[pd.DataFrame], Measured]:
    """Median over problems of the median |log(error/estimate)| at so many times the rows that were given."""

    def measure(table: pd.DataFrame) -> Measured:
        """The median, of rows measured on at least a quarter of what was given."""
        parts = []
        for _, row in table[table["times"] == times].iterrows():
            mid, _, _, error, _ = _logs(row)
            far = np.asarray(row["measured_at"], float) >= 0.2 * row["given"]
            parts.append(float(np.median(np.abs(error - mid)[far])))
        if len(parts) < ENOUGH:
            raise NotMeasured(f"{len(parts)} problems, {ENOUGH} are wanted")
        return Measured(median_interval(parts), f"{len(parts)} problems")

    return measure


def headline(table: pd.DataFrame) -> Measured:
    """Median over problems of the first row's estimate over its error."""
    logs = [_logs(row) for _, row in _enough(table).iterrows()]
    return Measured(
        median_interval([float(np.exp(mid[0] - error[0])) for mid, _, _, error, _ in logs]), f"{len(logs)} problems"
    )


def called_worse(table: pd.DataFrame) -> Measured:
    """Share, pooled, of predictors called worse than the first that are."""
    right: list[bool] = []
    for _, row in _enough(table).iterrows():
        error = np.asarray(row["error"], float)
        right += (error[np.array(row["worse"], bool)] > error[0]).tolist()
    if len(right) < FEW:
        raise NotMeasured(f"{len(right)} predictors called worse, {FEW} are wanted")
    return Measured(share_interval(right), f"{sum(right)} of {len(right)} predictors called worse")


def far_behind(table: pd.DataFrame) -> Measured:
    """Share, pooled, of predictors truly more than a quarter (and half a point of a share) worse that are called so."""
    called: list[bool] = []
    for _, row in _enough(table).iterrows():
        error = np.asarray(row["error"], float)
        behind = error > np.maximum(BEHIND * error[0], error[0] + (0.0 if row["metric"] == "rmse" else 0.005))
        called += np.array(row["worse"], bool)[behind].tolist()
    if len(called) < FEW:
        raise NotMeasured(f"{len(called)} predictors far behind, {FEW} are wanted")
    return Measured(share_interval(called), f"{sum(called)} of {len(called)} predictors")


def nothing_seen(table: pd.DataFrame) -> Measured:
    """Number of problems called not learnable although what was built beats guessing by three standard errors of its test."""
    wrong = [
        row["problem"]
        for _, row in _enough(table).iterrows()
        if row["learns"] is False and np.log(row["guess"] / max(row["error"][0], 1e-12)) > 3 * _logs(row)[4][0]
    ]
    return Measured(
        Interval(float(len(wrong)), float(len(wrong)), float(len(wrong))), ", ".join(wrong) or f"none of {len(table)}"
    )


def picks_against(peer: str) -> Callable[[pd.DataFrame], Measured]:
    """Share of problems on which the first row is right, minus that of a peer's choice, paired by problem."""

    def measure(table: pd.DataFrame) -> Measured:
        """The difference, with both counts in the note."""
        own, other = [], []
        for _, row in _enough(table).iterrows():
            place = list(row["rows"]).index(row[peer])
            own.append(float(excess(row, 0) <= TOLERANCE))
            other.append(float(excess(row, place) <= TOLERANCE))
        return Measured(
            seed_interval(np.array(own) - np.array(other)), f"{sum(own):.0f} against {sum(other):.0f} of {len(own)}"
        )

    return measure


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Errors of all predictors over the lowest of each problem; the pick is a diamond, the grey band 10 %."""
    import altair as alt

    parts = []
    for _, row in table.iterrows():
        part = pd.DataFrame({k: list(row[k]) for k in ("rows", "kinds", "estimate", "error")})
        lowest = part["error"].min()
        parts.append(part.assign(problem=row["problem"], role=["first"] + ["other"] * (len(part) - 1),
                                 ratio=(part["error"] + 1e-9) / (lowest + 1e-9)))  # fmt: skip
    rows = pd.concat(parts, ignore_index=True)
    scale = alt.Scale(type="log", nice=False)
    y = alt.Y("problem:N", title=None, axis=alt.Axis(labelLimit=220))
    band = alt.Chart(pd.DataFrame({"from": [1.0], "to": [TOLERANCE]})).mark_rect(opacity=0.25, color="gray")
    points = alt.Chart(rows).mark_point(filled=True, opacity=0.8).encode(
        x=alt.X("ratio:Q", scale=scale, title="test error over the lowest"), y=y, color=alt.Color("kinds:N", title="kind"),
        shape=alt.Shape("role:N", scale=alt.Scale(range=["diamond", "circle"]), legend=None),
        size=alt.Size("role:N", scale=alt.Scale(range=[200, 30]), legend=None), tooltip=["problem", "rows", "estimate", "error"],
    )  # fmt: skip
    title = "diamond: what the profile names and builds; grey: within 10 % of the best"
    shade = band.encode(x=alt.X("from:Q", scale=scale), x2="to:Q")
    found: alt.TopLevelMixin = (shade + points).properties(width=480, height=22 * len(table), title=title)
    return found

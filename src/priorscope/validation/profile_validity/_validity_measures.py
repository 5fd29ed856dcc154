"""Measures of a profile's recommendations, from what every predictor did at the size asked about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import gmean

from priorscope.lab import Measured, NotMeasured
from priorscope.statistics import Interval, seed_interval, share_interval

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "apart",
    "built_right",
    "chart",
    "coverage",
    "excess",
    "excess_of_pick",
    "modules_in_order",
    "network_right",
    "picks_against",
]

Array = NDArray[np.float64]
Places = NDArray[np.int64]
TOLERANCE = 1.1  # a pick within 10 % of the best counts as right
ENOUGH = 12  # problems below which nothing is shown
FEW = 20  # predictors told apart, on at least half as many problems as wanted, below which nothing is shown of them


def _tested(row: pd.Series) -> float:
    """How many samples errors were measured on: as many as asked for, unless the data ended before."""
    fewer = row.get("tested")
    return float(row["n_test"] if fewer is None or np.isnan(fewer) else fewer)


def excess(row: pd.Series, one: tuple[float, float], among: Places) -> float:
    """Error of one predictor over that of the best among others.

    The best is named on one half of the test samples and both are judged on the other, both ways round (geometric mean), so
    that the best of many is not the luckiest. Half a mistake is added to both.
    """
    first, second = (np.asarray(row[k], float)[among] for k in ("first_half", "second_half"))
    half = 0.0 if row["metric"] == "rmse" else 0.5 / (_tested(row) / 2)
    ratios = [
        (one[1] + half) / (second[first.argmin()] + half),
        (one[0] + half) / (first[second.argmin()] + half),
    ]
    return float(gmean(ratios))


def _of(row: pd.Series, name: str) -> tuple[float, float]:
    place = list(row["rows"]).index(name)
    return row["first_half"][place], row["second_half"][place]


def _every(row: pd.Series) -> Places:
    return np.arange(len(row["rows"]))


def _networks(row: pd.Series) -> Places:
    return np.flatnonzero(np.array(row["kinds"]) == "network")


def _with_tables(table: pd.DataFrame, *, networks: bool = False) -> pd.DataFrame:
    """The problems on which whole tables were judged, or those of them whose tables have networks; enough of them."""
    table = table[table["of"] == "table"]
    if networks:
        table = table[[len(_networks(row)) > 0 for _, row in table.iterrows()]]
    if len(table) < ENOUGH:
        raise NotMeasured(f"{len(table)} problems, {ENOUGH} are wanted")
    return table


def _without(table: pd.DataFrame) -> str:
    """The problems whose tables have no networks, in words."""
    named = [row["problem"] for _, row in table.iterrows() if row["of"] == "table" and not len(_networks(row))]
    return f"; no networks on {', '.join(named)}" if named else ""


def _listed(table: pd.DataFrame, values: list[float], names: list[str]) -> str:
    """The problems on which the pick was not right, and by how much."""
    missed = [f"{p} ({n}, {v:.2f})" for p, n, v in zip(table["problem"], names, values, strict=True) if v > TOLERANCE]
    return f"; missed: {', '.join(missed)}" if missed else ""


def excess_of_pick(table: pd.DataFrame) -> Measured:
    """Mean excess of the recommended predictor over the best of all."""
    table = _with_tables(table)
    names = [row["rows"][0] for _, row in table.iterrows()]
    ratios = [excess(row, _of(row, name), _every(row)) for (_, row), name in zip(table.iterrows(), names)]
    right = sum(r <= TOLERANCE for r in ratios)
    note = f"right on {right} of {len(ratios)} problems, median {100 * (np.median(ratios) - 1):.1f} %"
    return Measured(seed_interval(np.array(ratios) - 1), note + _listed(table, ratios, names))


def built_right(table: pd.DataFrame) -> Measured:
    """Share of problems on which what was built is within 10 % of the best of all."""
    table = _with_tables(table)
    ratios = [excess(row, tuple(row["built"][:2]), _every(row)) for _, row in table.iterrows()]
    right = np.array(ratios) <= TOLERANCE
    note = f"{right.sum()} of {len(right)} problems, mean excess {100 * (np.mean(ratios) - 1):.1f} %"
    return Measured(share_interval(right), note + _listed(table, ratios, list(table["chosen"])))


def network_right(table: pd.DataFrame) -> Measured:
    """Share of problems with networks on which the recommended network is within 10 % of the best network."""
    without, table = _without(table), _with_tables(table, networks=True)
    names = [row["rows"][int(_networks(row)[0])] for _, row in table.iterrows()]
    ratios = [excess(row, _of(row, name), _networks(row)) for (_, row), name in zip(table.iterrows(), names)]
    right = np.array(ratios) <= TOLERANCE
    note = f"{right.sum()} of {len(right)} problems, mean excess {100 * (np.mean(ratios) - 1):.1f} %"
    return Measured(share_interval(right), note + without + _listed(table, ratios, names))


def _by_problem(parts: list[float]) -> Interval:
    """The mean of shares, one per problem; problems that all agree have no spread, and count as so many hits or misses."""
    return share_interval(parts) if set(parts) in ({0.0}, {1.0}) else seed_interval(parts)


def _test_noise(row: pd.Series, error: Array) -> Array:
    """Standard error of the logarithm of a test error: binomial for shares, Gaussian residuals for a root mean square."""
    n = _tested(row)
    if row["metric"] == "rmse":
        return np.full(len(error), np.sqrt(0.5 / n))
    p = np.clip(error, 0.5 / n, 1 - 0.5 / n)
    return np.sqrt((1 - p) / (p * n))


def coverage(kind: str) -> Callable[[pd.DataFrame], Measured]:
    """Share, by problem, of intervals of a kind that cover the error, allowing for the test set's own noise.

    Each side of the interval is widened by 1.645 standard errors of the test error, in quadrature on the logarithm.
    """

    def measure(table: pd.DataFrame) -> Measured:
        """The share, with the median of measured errors over forecasts in the note."""
        table = _with_tables(table)
        parts, ratios, count = [], [], 0
        for _, row in table.iterrows():
            inside = np.array(row["kinds"]) == kind
            if not inside.any():
                continue
            mid, low, high, error = (np.asarray(row[k], float)[inside] for k in ("estimate", "low", "high", "error"))
            tiny = 1e-6 if row["metric"] == "rmse" else 0.5 / _tested(row)
            mid, low, high, error = (np.log(np.maximum(v, tiny)) for v in (mid, low, high, error))
            noise = 1.645 * _test_noise(row, np.exp(error))
            covered = (error >= mid - np.hypot(mid - low, noise)) & (error <= mid + np.hypot(high - mid, noise))
            parts.append(float(covered.mean()))
            ratios += (error - mid).tolist()
            count += len(covered)
        bias = 100 * (np.exp(np.median(ratios)) - 1)
        note = f"{count} intervals on {len(parts)} problems; median of measured over forecast: {bias:+.0f} %"
        return Measured(_by_problem(parts), note)

    return measure


def apart(table: pd.DataFrame) -> Measured:
    """Share, by problem, of predictors called worse than the pick that are."""
    table = table[table["of"] == "table"]
    parts, told, others = [], 0, 0
    for _, row in table.iterrows():
        worse, error = np.array(row["worse"], bool), np.asarray(row["error"], float)
        told, others = told + int(worse.sum()), others + len(worse) - 1
        if worse.any():
            parts.append(float(np.mean(error[worse] > error[0])))
    note = f"{told} of {others} predictors told apart, on {len(parts)} of {len(table)} problems"
    if told < FEW or len(parts) < ENOUGH / 2:
        raise NotMeasured(f"too few: {note}")
    return Measured(_by_problem(parts), note)


def modules_in_order(table: pd.DataFrame) -> Measured:
    """Share of pairs in the right order: modules of the user called worse than the first one, of all on all problems."""
    table = table[table["of"] == "modules"]
    right: list[bool] = []
    where, others = 0, 0
    for _, row in table.iterrows():
        worse, error = np.array(row["worse"], bool), np.asarray(row["error"], float)
        right += (error[worse] > error[0]).tolist()
        where, others = where + bool(worse.any()), others + len(worse) - 1
    note = f"{sum(right)} of {len(right)} pairs told apart, of {others}, on {where} of {len(table)} problems"
    if where < ENOUGH / 2:
        raise NotMeasured(f"too few: {note}")
    return Measured(share_interval(right), note)


def picks_against(peer: str, *, networks: bool = False) -> Callable[[pd.DataFrame], Measured]:
    """Share of problems on which the profile's pick is right, minus that of a peer's pick, paired by problem."""

    def measure(table: pd.DataFrame) -> Measured:
        """The difference, with both counts and the seconds that both took in the note."""
        without, table = _without(table) if networks else "", _with_tables(table, networks=networks)
        own: list[float] = []
        other: list[float] = []
        for _, row in table.iterrows():
            among = _networks(row) if networks else _every(row)
            for name, kept in ((row["rows"][int(among[0])], own), (row[peer], other)):
                kept.append(float(excess(row, _of(row, name), among) <= TOLERANCE))
        seconds = table["proxy_seconds"] if networks else table["profile_seconds"]
        note = f"{sum(own):.0f} against {sum(other):.0f} of {len(own)} problems; the profile took "
        note += (
            f"{table['profile_seconds'].median():.0f} s of processor time, the peer {seconds.median():.1f} (medians)"
        )
        return Measured(seed_interval(np.array(own) - np.array(other)), note + without)

    return measure


def long(table: pd.DataFrame) -> pd.DataFrame:
    """One row per problem and predictor of the whole tables."""
    parts = []
    for _, row in table[table["of"] == "table"].iterrows():
        names = ("rows", "kinds", "estimate", "low", "high", "error")
        part = pd.DataFrame({k: list(row[k]) for k in names}).rename(columns={"rows": "predictor", "kinds": "kind"})
        parts.append(part.assign(problem=row["problem"], picked=[True] + [False] * (len(part) - 1)))
    return pd.concat(parts, ignore_index=True)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Errors of all predictors over the lowest of each problem; the pick is a diamond, the grey band 10 %."""
    import altair as alt

    rows = long(table)
    tiny = 1e-3
    rows["ratio"] = (rows["error"] + tiny) / (rows.groupby("problem")["error"].transform("min") + tiny)
    rows["role"] = np.where(rows["picked"], "recommended", "other")
    order = list(dict.fromkeys(rows["problem"]))
    ratio = alt.Scale(type="log", nice=False)
    y = alt.Y("problem:N", sort=order, title=None, axis=alt.Axis(labelLimit=220))
    band = alt.Chart(pd.DataFrame({"from": [1.0], "to": [TOLERANCE]}))
    band = band.mark_rect(opacity=0.25, color="gray").encode(x=alt.X("from:Q", scale=ratio), x2="to:Q")
    points = (
        alt.Chart(rows)
        .mark_point(filled=True, opacity=0.8)
        .encode(
            x=alt.X("ratio:Q", scale=ratio, title="test error at 4 times the pilot over the lowest"),
            y=y,
            color=alt.Color("kind:N", legend=alt.Legend(symbolOpacity=1)),
            shape=alt.Shape("role:N", scale=alt.Scale(range=["circle", "diamond"]), legend=None),
            size=alt.Size("role:N", scale=alt.Scale(range=[30, 200]), legend=None),
            tooltip=["problem", "predictor", "kind", "estimate", "error"],
        )
    )
    title = "diamond: what the profile recommends; grey: within 10 % of the best"
    found: alt.TopLevelMixin = (band + points).properties(width=480, height=22 * len(order), title=title)
    return found

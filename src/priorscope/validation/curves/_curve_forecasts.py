"""What forecasts of learning curves are worth, on problems that took no part in learning their prior."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from priorscope.curves import Curve, Extrapolations, extrapolate_many
from priorscope.lab import Claim, Paper, Point, at_most, below, between
from priorscope.statistics import Interval, median_interval, seed_interval
from priorscope.validation.curves._curve_bank import SOURCE, bank_grid
from priorscope.validation.curves._measure import measure, sizes_of
from priorscope.validation.curves._problems import JUDGED

__all__ = ["PAPER", "Forecasts", "forecasts_of"]

SEEN, AHEAD = (256, 512), (4, 8, 16)  # largest size seen, and how many times as many samples are forecast
OUT = 0.05  # a predictor that is near the best with a smaller probability is said to be out
MARGIN, POINTS = 0.1, 0.0025  # near: within a tenth of the best error, or a quarter of a point of a share


def grid(scale: str) -> list[Point]:
    """One draw of every problem; two at the published scale."""
    return bank_grid(scale, dict(JUDGED), 2 if scale == "paper" else 1)


@dataclass(frozen=True)
class Forecasts:
    """Forecasts for all predictors of one problem from one largest size to one other, and what was measured there."""

    problem: str
    times: int
    found: Extrapolations
    truth: pd.Series[float]
    fitted: pd.Series[float]
    share: bool


def with_floor(sizes: list[int], errors: list[float], to: float) -> float:
    """a n^-alpha + c by least squares, a and c at least zero, alpha from a grid."""
    n, found = np.array(sizes, dtype=float), []
    for alpha in np.geomspace(0.02, 3, 40):
        c, off = nnls(np.stack([np.ones_like(n), (n / n[0]) ** -alpha], 1), np.array(errors))
        found.append((off, float(c[0] + c[1] * (to / n[0]) ** -alpha)))
    return min(found)[1]


def forecasts_of(table: pd.DataFrame) -> Iterator[Forecasts]:
    """Forecasts from 64 to 256 and from 64 to 512 samples, wherever the larger size was measured too."""
    for (problem, _), rows in table.groupby(["problem", "seed"]):
        runs = {row["predictor"]: row for row in rows.to_dict("records")}
        for last in SEEN:
            for times in AHEAD:
                to, curves, truth, fitted = times * last, {}, {}, {}
                for name, row in runs.items():
                    sizes = [n for n in sizes_of(row) if n <= last]
                    if not {to, last} <= set(sizes_of(row)) or not row[f"e{to}"] > 0:
                        continue
                    errors = [float(row[f"e{n}"]) for n in sizes]
                    counted = row["task"] == "classification"
                    se = None if counted else [float(row[f"se{n}"]) for n in sizes]
                    curves[name] = Curve(sizes, errors, row["tests"] if counted else None, row["kind"], se)
                    truth[name], fitted[name] = float(row[f"e{to}"]), with_floor(sizes, errors, to)
                if curves:
                    found = extrapolate_many(curves, to=to)
                    yield Forecasts(str(problem), times, found, pd.Series(truth), pd.Series(fitted), counted)


def _of(table: pd.DataFrame, times: tuple[int, ...]) -> pd.DataFrame:
    """One row per forecast: problem, truth, ends and median, the fit by least squares."""
    found = []
    for one in forecasts_of(table):
        if one.times in times:
            each = pd.DataFrame(
                [(e.value, e.low, e.high) for e in one.found.estimates.values()],
                index=list(one.found.each),
                columns=["value", "low", "high"],
            )
            found.append(each.assign(truth=one.truth, fitted=one.fitted, problem=one.problem))
    return pd.concat(found)


def off(table: pd.DataFrame) -> Interval:
    """Median over problems of the median of the absolute log(forecast / measured) at four times the samples."""
    rows = _of(table, (4,))
    far = (rows["value"] / rows["truth"]).map(np.log).abs()
    return median_interval(far.groupby(rows["problem"]).median())


def coverage(table: pd.DataFrame, times: tuple[int, ...] = AHEAD) -> Interval:
    """Share of intervals that hold what was measured, mean over problems.

    What was measured has counting noise of its own, but on the rows on which the points were measured: luck is shared.
    """
    rows = _of(table, times)
    inside = (rows["low"] <= rows["truth"]) & (rows["truth"] <= rows["high"])
    return seed_interval(inside.groupby(rows["problem"]).mean())


def width(table: pd.DataFrame) -> Interval:
    """Median over problems of the median of high / low at four times the samples."""
    rows = _of(table, (4,))
    return median_interval((rows["high"] / rows["low"]).groupby(rows["problem"]).median())


def beside_fit(table: pd.DataFrame) -> Interval:
    """Mean over problems of the median log-error, as a share of that of a n^-alpha + c by least squares."""
    rows = _of(table, AHEAD)
    ours, fit = ((rows[name] / rows["truth"]).map(np.log).abs() for name in ("value", "fitted"))
    each = pd.DataFrame({"ours": ours, "fit": fit}).groupby(rows["problem"]).median().to_numpy()
    return seed_interval(each, lambda v: float(v[:, 0].mean() / v[:, 1].mean()))


def wrongly_out(table: pd.DataFrame) -> Interval:
    """Share of predictors said to be out at the size asked about that are near the best there, mean over problems."""
    wrong: dict[str, list[bool]] = {}
    for one in forecasts_of(table):
        said = one.found.probability_within(MARGIN, POINTS if one.share else 0.0) < OUT
        near = one.truth <= one.truth.min() + max(MARGIN * one.truth.min(), POINTS if one.share else 0.0)
        wrong.setdefault(one.problem, []).extend(near[said[said].index])
    return seed_interval([float(np.mean(each)) for each in wrong.values() if each])


PAPER = Paper(
    "curve-forecasts",
    "Forecasts of learning curves on problems apart",
    SOURCE,
    1,
    grid,
    measure,
    (
        Claim(
            "C.2",
            SOURCE,
            "errors at four times the samples are forecast within six per cent in the median",
            measure=off,
            expect=at_most(0.06),
        ),
        Claim(
            "C.3",
            SOURCE,
            "of intervals called 90 %, at 4, 8 and 16 times the samples, 85 to 97 % hold what is measured there",
            measure=coverage,
            expect=between(0.85, 0.97),
        ),
        Claim(
            "C.4",
            SOURCE,
            "at four times the samples the ends of the interval are a factor of at most 1.8 apart in the median",
            measure=width,
            expect=at_most(1.8),
        ),
        Claim(
            "C.5",
            SOURCE,
            "forecasts are closer than those of a n^-alpha + c fitted by least squares",
            measure=beside_fit,
            expect=below(1.0),
        ),
        Claim(
            "C.6",
            SOURCE,
            "of predictors that are near the best with less than 5 %, as forecast together, at most 5 % are near it",
            measure=wrongly_out,
            expect=at_most(0.05),
        ),
    ),
)

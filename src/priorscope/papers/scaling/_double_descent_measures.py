"""What a table of double-descent measures: the peak of the test error, and its cure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from priorscope.lab import Measured, NotMeasured
from priorscope.papers._over_draws import over_draws
from priorscope.papers.jamming._measures import FITTED
from priorscope.probes import JammingPoint
from priorscope.statistics import Interval


def half_success(n_weights: np.ndarray, fits: np.ndarray, n_train: int) -> float:
    """N at which half of the networks fit, from whether each one did; NaN when the sizes do not reach both sides."""
    success = pd.Series(fits, dtype=float).groupby(np.asarray(n_weights)).agg(["mean", "size"])
    n = tuple(int(v) for v in success.index)
    return JammingPoint(n, n, tuple(success["mean"]), n_train, int(success["size"].max())).n_star


def star_of(rows: pd.DataFrame) -> float:
    """N at which half of the seeds fit (the papers' rule: fewer than 0.1 N living unsatisfied patterns)."""
    fits = (rows.overlap_ratio < FITTED).to_numpy()
    return half_success(rows.n_weights.to_numpy(), fits, int(rows.n_train.iloc[0]))


@dataclass(frozen=True)
class _Sides:
    """Errors and norms (seeds, sizes) with the sizes that are compared: at N*, a smaller one, the widest."""

    final: pd.DataFrame
    best: pd.DataFrame
    norm: pd.DataFrame
    star: float
    at: float
    left: float
    right: float


def _sides(table: pd.DataFrame) -> _Sides:
    """The smaller size, below N*/1.5, is that of lowest error; the widest must have more than 30 N* weights."""
    rows = table[table.part == "width"]
    star = star_of(rows)
    if not np.isfinite(star):
        raise NotMeasured("no width around which half of the seeds fit")
    final, best, norm = (
        rows.pivot(index="seed", columns="n_weights", values=name) for name in ("final", "best", "norm_test")
    )
    sizes = final.columns.to_numpy(float)
    below = sizes[sizes < star / 1.5]
    if len(below) == 0 or sizes[-1] <= 30 * star:
        raise NotMeasured(f"N* {star:.0f}; widths do not reach far enough on both sides of it")
    at = float(sizes[np.abs(np.log(sizes / star)).argmin()])
    left = float(below[final[below].mean().to_numpy().argmin()])
    return _Sides(final, best, norm, star, at, left, float(sizes[-1]))


def _over(a: pd.Series, b: pd.Series) -> Interval:
    return over_draws((a - b).to_numpy(float))


def fall(table: pd.DataFrame) -> Measured:
    """Test error at N* minus that of the widest networks."""
    s = _sides(table)
    note = f"N* {s.star:.0f}; error {s.final[s.at].mean():.3f} at N = {s.at:.0f}, {s.final[s.right].mean():.3f} at {s.right:.0f}"
    return Measured(_over(s.final[s.at], s.final[s.right]), note)


def rise(table: pd.DataFrame) -> Measured:
    """Test error at N* minus that of a smaller network."""
    s = _sides(table)
    return Measured(_over(s.final[s.at], s.final[s.left]), f"{s.final[s.left].mean():.3f} at N = {s.left:.0f}")


def cured(table: pd.DataFrame) -> Measured:
    """Test error at N* at the end of training minus the best along it."""
    s = _sides(table)
    return Measured(_over(s.final[s.at], s.best[s.at]), f"best along training {s.best[s.at].mean():.3f}")


def erased(table: pd.DataFrame) -> Interval:
    """Best error along training at N* minus that of the smaller network."""
    s = _sides(table)
    return _over(s.best[s.at], s.best[s.left])


def _place(values: pd.DataFrame, star: float) -> Measured:
    """N at which each seed's values are largest, over N*; geometric mean over seeds."""
    sizes = values.columns.to_numpy(float)
    places = sizes[values.to_numpy(float).argmax(1)]
    found = over_draws(np.log(places / star))
    note = "N = " + ", ".join(f"{p:.0f}" for p in places)
    return Measured(Interval(*(float(np.exp(v)) for v in (found.value, found.low, found.high))), note)


def place_of_gain(table: pd.DataFrame) -> Measured:
    """Where early stopping gains most, over N*."""
    s = _sides(table)
    return _place(s.final - s.best, s.star)


def place_of_norm(table: pd.DataFrame) -> Measured:
    """Where the output is largest, over N*."""
    s = _sides(table)
    return _place(s.norm, s.star)

"""What a table of double-descent measures: the peak of the test error, its cure, and the norm that diverges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from priorscope.lab import Measured, NotMeasured
from priorscope.papers._over_draws import over_draws
from priorscope.papers.jamming._measures import FITTED
from priorscope.probes import JammingPoint
from priorscope.statistics import Interval

__all__ = [
    "cured",
    "divergence",
    "erased",
    "fall",
    "half_success",
    "norm_exponent",
    "place_of_gain",
    "place_of_norm",
    "rise",
    "star_of",
]

SIZES = 6  # numbers of patterns below the transition from which on the law of the norm is fitted
GRID = 60  # values of P* that are tried


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


def divergence(n: np.ndarray, norm: np.ndarray, ceiling: float) -> tuple[float, float]:
    r"""Exponent b and P* of :math:`\|f\| = c + A (1 - P/P^*)^{-b}` with :math:`c \ge 0`, by least squares of relative residuals.

    P* is tuned between the last size and ``ceiling`` and b on a grid of 0.02, as the paper tunes N*; the constant is what the
    norm tends to far from the transition. At fixed N the distance to the transition, N − N*(P), is to first order proportional to
    P* − P. NaN with fewer than six sizes: four numbers are fitted.
    """
    found, least = (float("nan"), float("nan")), np.inf
    if len(n) < SIZES:
        return found
    for star in np.linspace(n.max() * 1.005, max(ceiling, n.max() * 1.01), GRID):
        for exponent in np.arange(0.1, 2.5, 0.02):
            design = np.stack([np.ones_like(n), (1 - n / star) ** -exponent], 1) / norm[:, None]
            solution, *_ = np.linalg.lstsq(design, np.ones_like(n), rcond=None)
            if solution[0] < 0:  # without the constant
                solution = np.array([0.0, design[:, 1].sum() / (design[:, 1] ** 2).sum()])
            residual = float(((design @ solution - 1) ** 2).sum())
            if residual < least:
                found, least = (float(exponent), float(star)), residual
    return found


def norm_exponent(table: pd.DataFrame) -> Measured:
    """Exponent of the output's norm in the distance to the transition, over seeds that have one in their ladder."""
    exponents, grown = [], []
    for _, rows in table[table.part == "norm"].sort_values("n_train").groupby("seed"):
        fits = (rows.overlap_ratio < FITTED).to_numpy()
        first = int(np.argmin(fits)) if not fits.all() else len(fits)
        if first == len(fits) or first < SIZES:  # no transition in the ladder, or too few sizes below it
            continue
        n, norm = rows.n_train.to_numpy(float), rows.norm_test.to_numpy(float)
        exponent, _ = divergence(n[:first], norm[:first], n[first])
        if np.isfinite(exponent):
            exponents.append(-exponent)
            grown.append(norm[first - 1] / norm[0])
    if len(exponents) < 3:
        raise NotMeasured(f"{len(exponents)} seeds have a transition and {SIZES} sizes below it; three are wanted")
    note = "seeds: " + ", ".join(f"{e:.2f}" for e in exponents)
    return Measured(over_draws(exponents), note + f"; the norm grows by {min(grown):.1f} to {max(grown):.1f}")

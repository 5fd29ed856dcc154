"""What a table of fluctuations measures: ensembles against their size, single networks against theirs, kernels at the start."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from priorscope.lab import Measured, NotMeasured
from priorscope.papers._over_draws import over_draws
from priorscope.papers.jamming._measures import FITTED
from priorscope.papers.scaling._double_descent_measures import half_success
from priorscope.papers.scaling._ensemble_statistics import SIZES
from priorscope.probes import excess_error
from priorscope.statistics import Interval, fit_power_law, seed_interval


def _over_blocks(rows: np.ndarray, statistic: Callable[[np.ndarray], float]) -> Interval:
    """A statistic of a row of numbers, with its interval from the rows in which one block of members was left out."""
    blocks = np.arange(len(rows) - 1)

    def of(kept: np.ndarray) -> float:
        missing = np.setdiff1d(blocks, kept.astype(int))
        return statistic(rows[1 + missing[0]] if len(missing) else rows[0])

    return seed_interval(blocks, of)


def star_of(ensembles: pd.DataFrame) -> float:
    """N at which half of the members fit."""
    fits = [np.asarray(o, float) < FITTED for o in ensembles.overlap_ratios]
    n = np.repeat(ensembles.n_weights.to_numpy(), [len(f) for f in fits])
    return half_success(n, np.concatenate(fits), int(ensembles.n_train.iloc[0]))


def _ensembles(table: pd.DataFrame) -> pd.DataFrame:
    return table[table.part == "ensemble"].sort_values("n_weights")


def _largest(table: pd.DataFrame, name: str) -> tuple[pd.Series, np.ndarray]:
    """The width with the most members, and its rows of ``name``."""
    rows = _ensembles(table)
    most = rows.iloc[int(rows.members.to_numpy().argmax())]
    values = np.asarray(most.get(name, np.nan), float)
    if values.ndim != 2:
        raise NotMeasured(f"{int(most.members)} members at one width are too few; {4 * SIZES[-1]} are wanted")
    return most, values


def _beyond(table: pd.DataFrame, factor: float, least: int) -> pd.DataFrame:
    """Widths at which every member fits, from ``factor`` times N* on."""
    rows = _ensembles(table)
    star = star_of(rows)
    all_fit = np.array([bool((np.asarray(o, float) < FITTED).all()) for o in rows.overlap_ratios])
    found: pd.DataFrame = rows[(rows.n_weights.to_numpy() >= factor * star) & all_fit]
    if len(found) < least:
        raise NotMeasured(f"{len(found)} widths from {factor:g} N* on at which all members fit; {least} are wanted")
    return found


def ensemble_law(sizes: Sequence[int], errors: Sequence[float] | np.ndarray) -> tuple[float, float]:
    r"""Exponent b and limit of :math:`\epsilon(M) = \epsilon_\infty + B M^{-b}`, least squares with b on a grid of 0.01."""
    m, e = np.asarray(sizes, float), np.asarray(errors, float)
    best, found = np.inf, (float("nan"), float("nan"))
    for b in np.arange(0.1, 3.0, 0.01):
        design = np.stack([np.ones_like(m), m**-b], 1)
        solution, *_ = np.linalg.lstsq(design, e, rcond=None)
        residual = float(((design @ solution - e) ** 2).sum())
        if residual < best:
            best, found = residual, (float(b), float(solution[0]))
    return found


def ensemble_exponent(table: pd.DataFrame) -> Measured:
    """Exponent of the excess error of an ensemble in the number of its members, at the width that has most."""
    most, errors = _largest(table, "ensemble_errors")
    limit = ensemble_law(SIZES, errors[0])[1]
    note = f"N = {int(most.n_weights)}, {int(most.members)} members, limit {limit:.4f}"
    return Measured(_over_blocks(errors, lambda row: -ensemble_law(SIZES, row)[0]), note)


def _compared(row: pd.Series) -> np.ndarray:
    """Mean error of one compared member and error of all together: first over all members, then with each block left out."""
    return np.asarray(row.single_and_together, float)


def single_fall(table: pd.DataFrame) -> Measured:
    """Error of one network at the first width beyond N* minus that at the widest."""
    rows = _beyond(table, 1.0, 3)
    first, last = (_compared(rows.iloc[i]) for i in (0, -1))
    both = np.stack([first[:, 0], last[:, 0]], 1)
    note = f"{both[0, 0]:.4f} at N = {rows.n_weights.iloc[0]:.0f}, {both[0, 1]:.4f} at {rows.n_weights.iloc[-1]:.0f}"
    return Measured(_over_blocks(both, lambda row: float(row[0] - row[1])), note)


def kept_by_ensembles(table: pd.DataFrame) -> Measured:
    """What ensembles gain from the first width beyond N* to the widest, over what one network gains."""
    rows = _beyond(table, 1.0, 3)
    first, last = (_compared(rows.iloc[i]) for i in (0, -1))
    note = f"{int(rows.compared.iloc[0])} together: {first[0, 1]:.4f} at N = {rows.n_weights.iloc[0]:.0f}, {last[0, 1]:.4f} at "
    note += f"{rows.n_weights.iloc[-1]:.0f}"
    both = np.concatenate([first, last], 1)
    return Measured(_over_blocks(both, lambda row: float((row[1] - row[3]) / (row[0] - row[2]))), note)


def boundary_exponent(table: pd.DataFrame) -> Measured:
    """Exponent of the distance of an ensemble's decision boundary in its size, without the noise of the reference."""
    most, distances = _largest(table, "boundary_distances")
    estimates = np.asarray(most.boundary_estimates, float)
    n_reference = int(most.members) // 2
    floor = np.sqrt(1 + np.array(SIZES) / n_reference)  # a reference of so many members adds its own noise
    if not np.isfinite(distances).all():
        raise NotMeasured("an ensemble of some size classifies every point as the reference does")
    raw = fit_power_law(SIZES, distances[0]).exponent
    note = (
        f"δ {distances[0, 0]:.3f} (M = 1) to {distances[0, -1]:.3f} (M = {SIZES[-1]}), estimate from norms "
        f"{estimates[0]:.3f} to {estimates[-1]:.3f}; exponent {raw:.2f} with the noise of the reference of {n_reference} members"
    )
    if most.boundary_without:
        note += f"; {int(most.boundary_without)} points left out, where outputs do not change with the input"
    return Measured(_over_blocks(distances / floor, lambda row: fit_power_law(SIZES, row).exponent), note)


def excess_exponent(table: pd.DataFrame) -> Measured:
    """Exponent in N of the error of one network minus that of its ensemble, from 2 N* on."""
    rows = _beyond(table, 2.0, 4)
    n = rows.n_weights.to_numpy(float)
    excess = np.stack(
        [_compared(row)[:, 0] - _compared(row)[:, 1] for _, row in rows.iterrows()], 1
    )  # (1 + blocks, widths)
    if (excess <= 0).any():
        raise NotMeasured("an ensemble is no better than its members")
    note = (
        f"N = {n[0]:.0f} to {n[-1]:.0f}, {int(rows.compared.iloc[0])} members; the paper's own free exponent is -0.42"
    )
    return Measured(_over_blocks(excess, lambda row: fit_power_law(n, row).exponent), note)


def excess_slope(table: pd.DataFrame) -> Measured:
    """B of ε_N = ε_∞ + B N^-1/2 fitted to errors of single networks, from 2 N* on."""
    rows = _beyond(table, 2.0, 4)
    least = int(rows.compared.min())
    errors = np.stack([np.asarray(e, float)[:least] for e in rows.errors], 1)
    fit = excess_error(rows.n_weights.to_numpy(float), errors)
    wide = _compared(rows.iloc[-1])[0, 1]
    note = f"ε_∞ = {fit.limit.value:.4f} [{fit.limit.low:.4f}, {fit.limit.high:.4f}], ensemble at the widest {wide:.4f}"
    return Measured(fit.slope, note)


def _kernel_exponent(table: pd.DataFrame, name: str) -> Interval:
    rows = table[table.part == "kernel"].sort_values("width")
    spread = np.stack([np.asarray(v, float) for v in rows[name]], 1)  # (members, widths)
    widths = rows.width.to_numpy(float)
    return over_draws(spread, lambda members: fit_power_law(widths, members.mean(0)).exponent)


def learnt_exponent(table: pd.DataFrame) -> Interval:
    """Exponent in the width of the variance of regression with the initial kernel."""
    return _kernel_exponent(table, "learnt")


def start_exponent(table: pd.DataFrame) -> Interval:
    """Exponent in the width of the variance of what is left of the initial output."""
    return _kernel_exponent(table, "start")

"""What a table of double-descent says about J.12 (the peak, and its cure) and J.13 (the norm)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from priorscope.lab import Verdict
from priorscope.papers.jamming._claims import FITTED
from priorscope.probes import JammingPoint
from priorscope.statistics import bootstrap_interval

__all__ = ["JUDGES", "divergence", "star_of"]

NEAR = 0.5  # the norm's law is fitted where P is at least this part of P*
GRID = 60  # values of P* that are tried


def star_of(rows: pd.DataFrame) -> float:
    """N at which half of the seeds fit (the papers' rule: fewer than 0.1 N living unsatisfied patterns)."""
    success = (rows.overlap_ratio < FITTED).groupby(rows.n_weights).mean()
    n = tuple(int(v) for v in success.index)
    return JammingPoint(n, n, tuple(success), int(rows.n_train.iloc[0]), rows.seed.nunique()).n_star


def _wide(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    return rows.pivot(index="seed", columns="n_weights", values=name)


def _difference(a: pd.Series, b: pd.Series) -> tuple[float, float]:
    """Mean over seeds of a paired difference, and its standard error."""
    d = (a - b).to_numpy(float)
    return float(d.mean()), float(d.std(ddof=1) / np.sqrt(len(d))) if len(d) > 1 else float("nan")


def _j12(table: pd.DataFrame) -> Verdict:
    rows = table[table.part == "width"]
    star = star_of(rows)
    if not np.isfinite(star):
        return Verdict("not shown", note="no width around which half of the seeds fit")
    final, best, norm = (_wide(rows, name) for name in ("final", "best", "norm_test"))
    sizes = final.columns.to_numpy(float)
    below, above = sizes[sizes < star / 1.5], sizes[sizes > 30 * star]
    if len(below) == 0 or len(above) == 0:
        return Verdict("not shown", note=f"N* {star:.0f}; widths do not reach far enough on both sides of it")
    at = sizes[np.abs(np.log(sizes / star)).argmin()]
    left, right = below[final[below].mean().to_numpy().argmin()], sizes[-1]
    fall, fall_error = _difference(final[at], final[right])
    rise, rise_error = _difference(final[at], final[left])
    cure, cure_error = _difference(final[at], best[at])
    kept, kept_error = _difference(best[at], best[left])
    gap = sizes[(final - best).mean().to_numpy().argmax()]
    loudest = sizes[norm.mean().to_numpy().argmax()]
    near = all(0.5 <= size / star <= 2 for size in (gap, loudest))
    note = (
        f"N* {star:.0f}; error at N = {at:.0f} {final[at].mean():.3f}, minus that at N = {right:.0f} (measured); minus that at "
        f"N = {left:.0f} {rise:.3f} ± {rise_error:.3f}; minus the best along training {cure:.3f} ± {cure_error:.3f}; "
        f"best along training minus that at N = {left:.0f} {kept:.3f} ± {kept_error:.3f}; largest gain of early stopping at "
        f"N = {gap:.0f}, largest norm at N = {loudest:.0f}"
    )
    low, high = fall - 2 * fall_error, fall + 2 * fall_error
    if not np.isfinite(low):
        return Verdict("not shown", fall, note="one seed; " + note)
    right_side = low > 0 and cure > 2 * cure_error and near and kept <= 2 * kept_error
    if right_side and rise > 2 * rise_error:
        return Verdict("holds", fall, low, high, note)
    unresolved = right_side and rise > -2 * rise_error
    return Verdict("not shown" if unresolved else "fails", fall, low, high, note)


def divergence(n: np.ndarray, norm: np.ndarray, ceiling: float) -> tuple[float, float]:
    r"""Exponent b and P* of :math:`\|f\| \propto (1 - P/P^*)^{-b}`, P* tuned below ``ceiling`` until the law is straightest.

    At fixed N the distance to the transition, N − N*(P), is to first order proportional to P* − P. NaN with fewer than four
    sizes near the transition.
    """
    found, least = (float("nan"), float("nan")), np.inf
    for star in np.linspace(n.max() * 1.005, max(ceiling, n.max() * 1.01), GRID):
        near = n >= NEAR * star
        if near.sum() < 4:
            continue
        x, y = np.log(1 - n[near] / star), np.log(norm[near])
        (slope, _), residual, *_ = np.polyfit(x, y, 1, full=True)
        spread = float(residual[0]) / ((y - y.mean()) ** 2).sum() if len(residual) else 0.0
        if spread < least:
            found, least = (-float(slope), float(star)), spread
    return found


def _j13(table: pd.DataFrame) -> Verdict:
    exponents, grown = [], []
    for _, rows in table[table.part == "norm"].sort_values("n_train").groupby("seed"):
        fits = (rows.overlap_ratio < FITTED).to_numpy()
        first = int(np.argmin(fits)) if not fits.all() else len(fits)
        if first == len(fits) or first < 4:  # no transition in the ladder, or too few sizes below it
            continue
        n, norm = rows.n_train.to_numpy(float), rows.norm_test.to_numpy(float)
        exponent, _ = divergence(n[:first], norm[:first], n[first])
        if np.isfinite(exponent):
            exponents.append(exponent)
            grown.append(norm[first - 1] / norm[0])
    if len(exponents) < 3:
        return Verdict(
            "not shown", note=f"{len(exponents)} seeds have a transition and four sizes near it; three are wanted"
        )
    found = bootstrap_interval(np.array(exponents))
    note = f"mean of {len(exponents)} seeds: " + ", ".join(f"{e:.2f}" for e in exponents)
    note += f"; the norm grows by {min(grown):.1f} to {max(grown):.1f}"
    args = (-found.value, -found.high, -found.low, note)
    if abs(found.value - 1) <= 0.3:
        return Verdict("holds" if found.high - found.low <= 1 else "not shown", *args)
    return Verdict("not shown" if found.contains(1) else "fails", *args)


JUDGES: dict[str, tuple[float | str, Callable[[pd.DataFrame], Verdict]]] = {
    "J.12": (
        "2 standard errors over seeds, against the widest, a smaller one and the best along training; norm and gain of early "
        "stopping largest within a factor 2 of N*",
        _j12,
    ),
    "J.13": ("0.3; interval over seeds at most 1 wide", _j13),
}

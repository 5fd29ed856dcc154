"""Where networks begin to fit at each output scale, and how that width differs between the two regimes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import gmean

from priorscope.lab import Measured, NotMeasured
from priorscope.papers._over_draws import over_draws

FEATURE, LAZY = 1.1e-2, 0.9e2  # rescaled output scales up to the one, and from the other, are the two regimes


def success(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Widths (W,) ascending, rescaled output scales (A,), and whether each member fitted (W, A, seeds)."""
    rows = table.sort_values("width")
    fitted = np.stack([np.asarray(f, dtype=float) for f in rows.fitted])
    return rows.width.to_numpy(float), np.asarray(rows.rescaled.iloc[0], dtype=float), fitted


def jamming_width(widths: np.ndarray, part: np.ndarray) -> float:
    """Width from which half of the seeds fit and go on fitting, between two widths in proportion to their logarithms.

    The smallest width when half fit already there; NaN when they do not at the largest.
    """
    below = np.flatnonzero(part < 0.5)
    if len(below) == 0:
        return float(widths[0])
    i = int(below[-1])
    if i + 1 == len(widths):
        return float("nan")
    place = (0.5 - part[i]) / (part[i + 1] - part[i])
    return float(np.exp(np.log(widths[i]) + place * np.log(widths[i + 1] / widths[i])))


def lazy_over_feature(table: pd.DataFrame) -> Measured:
    """h* in the lazy regime over h* in the feature regime, geometric means over scales, interval over seeds.

    Where the smallest width fits already, h* is at most that width: on the feature side the ratio is then a lower bound.
    """
    widths, at, fitted = success(table)

    def stars(members: np.ndarray) -> np.ndarray:
        return np.array([jamming_width(widths, members[:, :, a].mean(0)) for a in range(len(at))])

    def ratio(members: np.ndarray) -> float:
        found = stars(members)
        return float(gmean(found[at >= LAZY]) / gmean(found[at <= FEATURE]))

    by_seed = np.moveaxis(fitted, 2, 0)  # (seeds, W, A)
    value = stars(by_seed)
    note = "h* " + ", ".join(f"{h:.1f} (√h α = {a:g})" for h, a in zip(value, at))
    if not np.isfinite(value[(at >= LAZY) | (at <= FEATURE)]).all():
        raise NotMeasured(f"the largest width does not fit at some scale; {note}")
    if (value[at >= LAZY] <= widths[0]).all():
        raise NotMeasured(f"the smallest width fits already in the lazy regime; {note}")
    return Measured(over_draws(by_seed, ratio), note)

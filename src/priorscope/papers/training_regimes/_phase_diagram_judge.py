"""Where networks begin to fit, at each output scale, and whether that depends on the scale."""

from __future__ import annotations

import numpy as np
import pandas as pd

from priorscope.lab import Verdict

__all__ = ["FEATURE", "LAZY", "jamming_depends_on_scale", "jamming_width", "success"]

FEATURE, LAZY = 1.1e-2, 0.9e2  # rescaled output scales up to the one, and from the other, are the two regimes
DRAWS = 400


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


def jamming_depends_on_scale(table: pd.DataFrame) -> Verdict:
    """h* in the lazy regime over h* in the feature regime, geometric means over scales, bootstrap over seeds.

    Where the smallest width fits already, h* is at most that width: on the feature side the ratio is then a lower bound.
    """
    widths, at, fitted = success(table)

    def stars(picks: np.ndarray) -> np.ndarray:
        return np.array([jamming_width(widths, fitted[:, a][:, picks].mean(1)) for a in range(len(at))])

    def ratio(stars: np.ndarray) -> float:
        return float(np.exp(np.log(stars[at >= LAZY]).mean() - np.log(stars[at <= FEATURE]).mean()))

    seeds = fitted.shape[2]
    value = stars(np.arange(seeds))
    note = "h* " + ", ".join(f"{h:.1f} (√h α = {a:g})" for h, a in zip(value, at))
    if not np.isfinite(value[(at >= LAZY) | (at <= FEATURE)]).all():
        return Verdict("not shown", note=f"the largest width does not fit at some scale; {note}")
    if (value[at >= LAZY] <= widths[0]).all():
        return Verdict("not shown", note=f"the smallest width fits already in the lazy regime; {note}")
    rng = np.random.default_rng(0)
    draws = np.array([ratio(stars(np.asarray(rng.integers(seeds, size=seeds)))) for _ in range(DRAWS)])
    low, high = np.nanquantile(draws, [0.025, 0.975])
    found = ratio(value)
    verdict = "fails" if found <= 1 else "holds" if low > 1 else "not shown"
    return Verdict(verdict, found, float(low), float(high), f"h*(lazy) over h*(feature); {note}")

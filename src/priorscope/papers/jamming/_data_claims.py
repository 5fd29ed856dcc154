"""What a table of jamming-data says about J.11."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from priorscope.lab import Verdict
from priorscope.papers.jamming._claims import FALLING, FITTED, NEAR

__all__ = ["JUDGES"]

LARGE = 1000  # patterns from which on N* of the two kinds of data is compared


def _stars(table: pd.DataFrame) -> dict[str, dict[int, np.ndarray]]:
    """N* of each seed, by kind of data ("random" or the images) and number of patterns."""
    found: dict[str, dict[int, np.ndarray]] = {"random": {}, "images": {}}
    for (data, n), rows in table[table.part == "star"].groupby(["data", "n_train"]):
        values = rows.n_star.to_numpy(float)
        found["random" if data == "random" else "images"][int(str(n))] = values[np.isfinite(values)]
    return found


def _smaller_and_half(table: pd.DataFrame) -> Verdict:
    stars = _stars(table)
    shared = [n for n in sorted(stars["random"]) if n >= LARGE and n in stars["images"]]
    shared = [n for n in shared if len(stars["random"][n]) and len(stars["images"][n])]
    if not shared:
        return Verdict("not shown", note=f"no transition of both kinds of data at P of {LARGE} or more")
    ratios = {n: float(np.exp(np.log(stars["images"][n]).mean() - np.log(stars["random"][n]).mean())) for n in shared}
    note = "N* over that of random labels " + ", ".join(f"{r:.2f} (P = {n})" for n, r in ratios.items())
    runs = table[table.part == "jump"]
    jammed = runs[(runs.overlap_ratio >= FITTED) & (runs.living_loss >= FALLING)].sort_values("loss")
    if jammed.empty or len(jammed) == len(runs):
        return Verdict("not shown", note=note + "; runs of the jump lie on one side")
    lowest = jammed.head(3)
    value = float(lowest.overlap_ratio.mean())
    low, high = float(lowest.overlap_ratio.min()), float(lowest.overlap_ratio.max())
    note += f"; measured: N_Δ/N of the {len(lowest)} jammed runs of lowest loss ({lowest.loss.max():.1e} and below), "
    note += f"smallest of {len(jammed)} jammed runs {jammed.overlap_ratio.min():.2f}"
    if max(ratios.values()) >= 1:
        return Verdict("fails", value, low, high, note)
    inside, near = 0.4 <= value <= 0.65, bool(lowest.loss.max() <= NEAR)
    return Verdict("holds" if inside else "fails" if near else "not shown", value, low, high, note)


def _slope(stars: dict[int, np.ndarray], rng: np.random.Generator | None) -> float:
    means = {}
    for n, values in stars.items():
        if len(values):
            pick = values if rng is None else rng.choice(values, len(values))
            means[n] = np.log(pick).mean()
    return float(np.polyfit(np.log(list(means)), list(means.values()), 1)[0]) if len(means) >= 2 else float("nan")


def _slower(table: pd.DataFrame) -> Verdict:
    stars = _stars(table)
    images, random = _slope(stars["images"], None), _slope(stars["random"], None)
    if min(sum(len(v) > 0 for v in side.values()) for side in stars.values()) < 3:
        return Verdict("not shown", images - random if np.isfinite(images - random) else None, note="too few sizes")
    rng = np.random.default_rng(0)
    draws = [_slope(stars["images"], rng) - _slope(stars["random"], rng) for _ in range(500)]
    low, high = (float(q) for q in np.nanquantile(draws, [0.025, 0.975]))
    note = f"slope of log N* over log P {images:.2f}, random labels {random:.2f}"
    return Verdict("holds" if high < 0 else "fails" if low > 0 else "not shown", images - random, low, high, note)


JUDGES: dict[str, tuple[str, str, str, Callable[[pd.DataFrame], Verdict]]] = {
    "J.11": (
        "on MNIST's principal components N* is smaller and the jump is to half",
        "N_Δ/N 0.5",
        f"smaller at every P from {LARGE}; 0.4 to 0.65 at the lowest losses",
        _smaller_and_half,
    ),
    "J.11b": (
        "on MNIST's principal components N* grows more slowly with P than on random data",
        "difference of slopes below 0",
        "interval over seeds",
        _slower,
    ),
}

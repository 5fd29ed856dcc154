"""What a table of jamming-data measures: N* of images against random labels, and the jump at one width."""

from __future__ import annotations

import numpy as np
import pandas as pd

from priorscope.lab import Measured, NotMeasured
from priorscope.papers._over_draws import highest
from priorscope.papers.jamming._measures import close_to_the_jump, fitted
from priorscope.statistics import Interval, group_interval

LARGE = 1000  # patterns from which on N* of the two kinds of data is compared


def _stars(table: pd.DataFrame) -> dict[str, dict[int, np.ndarray]]:
    """log N* of each seed, by kind of data ("random" or the images) and number of patterns; no empty ones."""
    found: dict[str, dict[int, np.ndarray]] = {"random": {}, "images": {}}
    for (data, n), rows in table[table.part == "star"].groupby(["data", "n_train"]):
        values = rows.n_star.to_numpy(float)
        if np.isfinite(values).any():
            found["random" if data == "random" else "images"][int(str(n))] = np.log(values[np.isfinite(values)])
    return found


def star_ratio(table: pd.DataFrame) -> Measured:
    """N* of images over that of random labels, geometric means over seeds, at the P from LARGE on where it is highest."""
    stars = _stars(table)
    shared = [n for n in sorted(stars["random"]) if n >= LARGE and n in stars["images"]]
    if not shared:
        raise NotMeasured(f"no transition of both kinds of data at P of {LARGE} or more")
    cells = {}
    for n in shared:
        found = group_interval([stars["images"][n], stars["random"][n]], lambda g: float(g[0].mean() - g[1].mean()))
        cells[f"P = {n}"] = Interval(*(float(np.exp(v)) for v in (found.value, found.low, found.high)))
    return highest(cells)


def jump(table: pd.DataFrame) -> Measured:
    """Unsatisfied patterns per weight in all jammed runs close to the transition."""
    runs = table[table.part == "jump"]
    jammed = runs[~fitted(runs)]
    if jammed.empty or len(jammed) == len(runs):
        raise NotMeasured("runs of the jump lie on one side")
    return close_to_the_jump(jammed)


def star_exponent(table: pd.DataFrame) -> Measured:
    """Slope of log N* over log P of images; seeds are independent at every P."""
    stars = _stars(table)["images"]
    if len(stars) < 3:
        raise NotMeasured(f"{len(stars)} numbers of patterns have a transition; three are wanted")
    sizes = np.log(list(stars))
    found = group_interval(list(stars.values()), lambda g: float(np.polyfit(sizes, [each.mean() for each in g], 1)[0]))
    told = ", ".join(f"P = {n}: {np.exp(each.mean()):.0f}" for n, each in stars.items())
    return Measured(found, f"N* {told}")


def slope_difference(table: pd.DataFrame) -> Measured:
    """Slope of log N* over log P of images, minus that of random labels."""
    stars = _stars(table)
    if min(len(side) for side in stars.values()) < 3:
        raise NotMeasured("fewer than three numbers of patterns have a transition, in one kind of data")
    sizes = {kind: np.log(list(side)) for kind, side in stars.items()}
    cut = len(stars["images"])

    def slopes(groups: list[np.ndarray]) -> tuple[float, float]:
        means = [g.mean() for g in groups]
        return (
            float(np.polyfit(sizes["images"], means[:cut], 1)[0]),
            float(np.polyfit(sizes["random"], means[cut:], 1)[0]),
        )

    groups = [*stars["images"].values(), *stars["random"].values()]
    images, random = slopes(groups)
    found = group_interval(groups, lambda g: slopes(g)[0] - slopes(g)[1])
    return Measured(found, f"slope of log N* over log P {images:.2f}, random labels {random:.2f}")

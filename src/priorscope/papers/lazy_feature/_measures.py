"""What a table of lazy-feature measures: exponents in width and output scale, the crossover, kernels frozen at two times."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from priorscope.lab import Measured, NotMeasured
from priorscope.papers._over_draws import highest, lowest, over_draws
from priorscope.statistics import Interval, exact, fit_power_law, group_interval

FEATURE, LAZY = 1.1e-2, 0.9e2  # rescaled output scales up to the one, and from the other, are the two regimes


def _array(value: object) -> np.ndarray:
    return np.asarray(value, dtype=float)


def _sweeps(table: pd.DataFrame) -> pd.DataFrame:
    """Sweeps of the depth that has the most widths."""
    rows = table[table.part == "sweep"]
    depth = int(rows.depth.value_counts().index[0])
    return rows[rows.depth == depth].sort_values("width")


def _exponent(x: np.ndarray, groups: list[np.ndarray]) -> Interval:
    """Exponent of means over seeds at each x; every x has seeds of its own, and its own number of them."""
    return group_interval(groups, lambda g: fit_power_law(x, [v.mean() for v in g]).exponent)


def _end(cells: Mapping[str, Interval], end: str) -> Measured:
    """The cell that reaches lowest or highest: what all of them do not go below or above."""
    return lowest(cells) if end == "lowest" else highest(cells)


def variance_exponent(table: pd.DataFrame, side: str) -> Interval:
    """Exponent in the width of the predictor's variance over seeds, in the ``feature`` or ``lazy`` regime."""
    rows = _sweeps(table)
    spread = [_array(row.deviation)[int(row.feature_row) if side == "feature" else -1] for _, row in rows.iterrows()]
    return _exponent(rows.width.to_numpy(float), spread)


def kernel_noise_exponent(table: pd.DataFrame) -> Interval:
    """Exponent in the width of the initial kernel's fluctuation over seeds."""
    rows = table[table.part == "init"].sort_values("width")
    return _exponent(rows.width.to_numpy(float), [_array(v) for v in rows.noise])


def kernel_change_exponent(table: pd.DataFrame) -> Interval:
    """Exponent in the width of the kernel's relative change in training at unit output scale."""
    rows = table[table.part == "unit"].sort_values("width")
    return _exponent(rows.width.to_numpy(float), [_array(v) for v in rows.change])


def crossover(rescaled: np.ndarray, change: np.ndarray) -> float:
    """Rescaled output scale at which the mean log change (scales, seeds) of the kernel passes zero; NaN if it never does."""
    level, at = np.log(change).mean(1), np.log(rescaled)
    for i in range(len(at) - 1):
        if level[i] >= 0 > level[i + 1]:
            return float(np.exp(at[i] + level[i] / (level[i] - level[i + 1]) * (at[i + 1] - at[i])))
    return float("nan")


def _changes(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Widths, rescaled scales, and the kernel's change (seeds, scales) at every width."""
    rows = _sweeps(table)
    at, changes = _array(rows.rescaled.iloc[0]), [_array(c).T for c in rows.kernel_change]
    if not all(np.isfinite(crossover(at, c.T)) for c in changes):
        raise NotMeasured("the change of the kernel does not pass one on the ladder of every width")
    return rows.width.to_numpy(float), at, changes


def crossover_exponent(table: pd.DataFrame) -> Measured:
    """Exponent in the width of the output scale α* at which the kernel changes by its own size."""
    widths, at, changes = _changes(table)
    found = group_interval(
        changes, lambda g: fit_power_law(widths, [crossover(at, c.T) / w**0.5 for c, w in zip(g, widths)]).exponent
    )
    stars = ", ".join(f"{crossover(at, c.T):.1f} (h = {w:.0f})" for c, w in zip(changes, widths))
    return Measured(found, f"√h α* {stars}")


def crossover_scale(table: pd.DataFrame, end: str) -> Measured:
    """√h α* at the width where its interval reaches ``lowest`` or ``highest``."""
    widths, at, changes = _changes(table)
    return _end({f"h = {w:.0f}": over_draws(c, lambda v: crossover(at, v.T)) for c, w in zip(changes, widths)}, end)


def scale_exponent(table: pd.DataFrame, name: str, side: str, end: str, depth: int | None = None) -> Measured:
    """Exponent of a quantity (scales, seeds) in the inverse output scale, in one regime; of all widths the ``end``."""
    rows = table[table.part == "sweep"].sort_values(["depth", "width"])
    rows = rows if depth is None else rows[rows.depth == depth]
    if rows.empty:
        raise NotMeasured(f"no sweep of depth {depth}")
    cells = {}
    for _, row in rows.iterrows():
        at = _array(row.rescaled)
        chosen = at <= FEATURE if side == "feature" else at >= LAZY
        law = fit_power_law(1 / at[chosen], _array(row[name])[chosen].T)  # over (seeds, scales)
        cells[f"L = {row.depth:.0f}, h = {row.width:.0f}"] = law.interval
    return _end(cells, end)


def half_time_exponent(table: pd.DataFrame, depth: int, end: str) -> Measured:
    """Exponent of the time at which the loss has halved in the rescaled output scale, feature regime; of all widths the ``end``.

    Seeds whose loss did not halve at every scale are left out and counted.
    """
    rows = table[(table.part == "sweep") & (table.depth == depth)].sort_values("width")
    if rows.empty:
        raise NotMeasured(f"no sweep of depth {depth}")
    cells, lost = {}, 0
    for _, row in rows.iterrows():
        at = _array(row.rescaled)
        times = _array(row.half_time)[at <= FEATURE].T  # (seeds, scales)
        whole = np.isfinite(times).all(1)
        lost += int((~whole).sum())
        if whole.sum() < 2:
            raise NotMeasured(f"the loss halved at every scale for {int(whole.sum())} seeds at width {row.width:.0f}")
        cells[f"L = {depth}, h = {row.width:.0f}"] = fit_power_law(at[at <= FEATURE], times[whole]).interval
    found = _end(cells, end)
    return Measured(found.interval, found.note + (f"; {lost} seeds left out" if lost else ""))


def speed_exponent(table: pd.DataFrame, of: str, end: str) -> Measured:
    """Exponents in the width of initial speeds: of ``outer`` weights, ``inner`` weights, or ``units`` (pre-activations)."""
    rows = table[table.part == "init"].sort_values("width")
    widths = rows.width.to_numpy(float)
    speeds = [_array(v) for v in rows["speed" if of == "units" else "weight_speed"]]  # (layers, seeds) per width
    layers = range(len(speeds[0]))
    last = len(layers) - 1
    chosen = [i for i in layers if of == "units" or (of == "outer") == (i in (0, last))]
    return _end({f"layer {i + 1}": _exponent(widths, [s[i] for s in speeds]) for i in chosen}, end)


def lazy_distance(table: pd.DataFrame) -> Measured:
    """Largest relative distance of test outputs between a network at the laziest scale and its frozen initial kernel."""
    values = np.concatenate([_array(d) for d in table[table.part == "sweep"].lazy_distance])
    return Measured(exact(values.max()), f"of {len(values)} networks; median {np.median(values):.1e}")


def _pooled(table: pd.DataFrame, name: str) -> np.ndarray:
    return np.concatenate([_array(v) for v in table[table.part == "sweep"][name]])


def final_kernel_error(table: pd.DataFrame) -> Interval:
    """Error of the flow of the final kernel minus that of the network, in the feature regime."""
    rows = table[table.part == "sweep"]
    network = np.concatenate([_array(row.error)[int(row.feature_row)] for _, row in rows.iterrows()])
    return over_draws(_pooled(table, "end_error") - network)


def final_kernel_nearer(table: pd.DataFrame) -> Measured:
    """Distance of the network's outputs to those of the final kernel, minus that to those of the initial kernel."""
    end, start = _pooled(table, "end_distance"), _pooled(table, "start_distance")
    return Measured(over_draws(end - start), f"final {end.mean():.2f}, initial {start.mean():.2f}")


def excess_without_offset(table: pd.DataFrame) -> Measured:
    """Error of training α f minus that of training α (f − f₀), at a large α."""
    rows = table[table.part == "offset"]
    raw, centred = (np.concatenate([_array(e) for e in rows[f"error_{n}"]]) for n in ("raw", "centred"))
    done = float(np.concatenate([_array(f) for f in rows.finished_raw]).mean())
    return Measured(
        over_draws(raw - centred), f"α = {float(rows.alpha.iloc[0]):g}; {done:.0%} of these runs met all margins"
    )


def _label_shares(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Gain of the labels' part on the two top eigenvectors, of every network: in the feature regime, at the laziest scale."""
    rows = table[table.part == "sweep"]
    gains = [(_array(row.share_end) - _array(row.share_start), int(row.feature_row)) for _, row in rows.iterrows()]
    return np.concatenate([g[i] for g, i in gains]), np.concatenate([g[-1] for g, _ in gains])


def label_share_growth(table: pd.DataFrame) -> Interval:
    """Gain of the labels' part on the kernel's two top eigenvectors in the feature regime."""
    return over_draws(_label_shares(table)[0])


def label_share_lazy(table: pd.DataFrame) -> Measured:
    """Largest change of that part at the laziest scale, over its mean gain in the feature regime."""
    feature, lazy = _label_shares(table)
    largest = float(np.abs(lazy).max())
    return Measured(over_draws(feature, lambda v: largest / abs(float(v.mean()))), f"lazy at most {largest:.0e}")

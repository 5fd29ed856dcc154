"""What a table of lazy-feature says about the claims L.1, L.4 to L.11, L.13 and L.16."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from priorscope.lab import Verdict
from priorscope.statistics import PowerLaw, bootstrap_interval, fit_power_law

__all__ = ["JUDGES", "crossover"]

FEATURE, LAZY = 1.1e-2, 0.9e2  # rescaled output scales up to the one, and from the other, are the two regimes


def _sweeps(table: pd.DataFrame, depth: int | None = None) -> pd.DataFrame:
    rows = table[table.part == "sweep"]
    depth = int(rows.depth.value_counts().index[0]) if depth is None else depth  # the depth with the most widths
    return rows[rows.depth == depth].sort_values("width")


def _array(value: object) -> np.ndarray:
    return np.asarray(value, dtype=float)


def _law(row: pd.Series, name: str, side: str) -> PowerLaw:
    """Exponent of a quantity (scales, seeds) in the rescaled output scale, in one regime."""
    at = _array(row.rescaled)
    chosen = at <= FEATURE if side == "feature" else at >= LAZY
    return fit_power_law(at[chosen], _array(row[name])[chosen].T)


def _l1(table: pd.DataFrame) -> Verdict:
    rows = _sweeps(table)
    found = {}
    for name in ("feature", "lazy"):
        outputs = [_array(o) for o in rows[f"outputs_{name}"]]  # (seeds, n) a width
        spread = np.stack([((o - o.mean(0)) ** 2).mean(1) * len(o) / (len(o) - 1) for o in outputs], 1)
        found[name] = fit_power_law(rows.width.to_numpy(), spread)
    note = f"feature; lazy {found['lazy'].exponent:.2f} [{found['lazy'].low:.2f}, {found['lazy'].high:.2f}]"
    right = all(-1.3 <= f.exponent <= -0.8 for f in found.values())
    f = found["feature"]
    return Verdict("holds" if right else "fails", f.exponent, f.low, f.high, note)


def _l4(table: pd.DataFrame) -> Verdict:
    init, unit = (table[table.part == part].sort_values("width") for part in ("init", "unit"))
    noise = fit_power_law(init.width.to_numpy(), np.stack([_array(n) for n in init.noise], 1))
    least = min(len(_array(c)) for c in unit.change)
    change = fit_power_law(unit.width.to_numpy(), np.stack([_array(c)[:least] for c in unit.change], 1))
    note = f"noise; change at unit scale {change.exponent:.2f} [{change.low:.2f}, {change.high:.2f}]"
    right = abs(noise.exponent + 0.5) <= 0.1 and abs(change.exponent + 1) <= 0.2
    return Verdict("holds" if right else "fails", noise.exponent, noise.low, noise.high, note)


def crossover(rescaled: np.ndarray, change: np.ndarray) -> float:
    """Rescaled output scale at which the mean log change (scales, seeds) of the kernel passes zero; NaN if it never does."""
    level, at = np.log(change).mean(1), np.log(rescaled)
    for i in range(len(at) - 1):
        if level[i] >= 0 > level[i + 1]:
            return float(np.exp(at[i] + level[i] / (level[i] - level[i + 1]) * (at[i + 1] - at[i])))
    return float("nan")


def _l5(table: pd.DataFrame) -> Verdict:
    rows = _sweeps(table)
    changes = [_array(c) for c in rows.kernel_change]
    widths = rows.width.to_numpy(float)

    def stars(picks: np.ndarray) -> np.ndarray:
        return np.array([crossover(_array(at), c[:, picks]) for at, c in zip(rows.rescaled, changes)])

    seeds = min(c.shape[1] for c in changes)
    value = stars(np.arange(seeds))
    if not np.isfinite(value).all():
        return Verdict("not shown", note="the change of the kernel does not pass one on the ladder of every width")
    rng = np.random.default_rng(0)
    draws = np.stack([stars(rng.integers(seeds, size=seeds)) for _ in range(200)]) / np.sqrt(widths)  # alpha*
    fit = fit_power_law(widths, value / np.sqrt(widths))
    centred = np.log(widths) - np.log(widths).mean()
    low, high = np.quantile(np.log(draws) @ centred / (centred @ centred), [0.025, 0.975])
    note = "√h α* " + ", ".join(f"{v:.1f} (h = {w:.0f})" for v, w in zip(value, widths))
    right = abs(fit.exponent + 0.5) <= 0.1 and bool(((value > 0.1) & (value < 10)).all())
    return Verdict("holds" if right else "fails", fit.exponent, float(low), float(high), note)


def _exponents(
    table: pd.DataFrame, name: str, theory: Callable[[int], float], within: float, lazy: float | None
) -> Verdict:
    parts, right, first = [], True, None
    for _, row in table[table.part == "sweep"].sort_values(["depth", "width"]).iterrows():
        fit, expected = _law(row, name, "feature"), theory(int(row.depth))
        tail = _law(row, name, "lazy").exponent
        right &= abs(-fit.exponent / expected - 1) <= within and (lazy is None or abs(tail + 1) <= lazy)
        first = fit if first is None else first
        parts.append(f"L = {row.depth}, h = {row.width}: {-fit.exponent:.3f} for {expected:.3f}, lazy {-tail:.3f}")
    assert first is not None
    note = "first of: " + "; ".join(parts)
    return Verdict("holds" if right else "fails", -first.exponent, -first.high, -first.low, note)


def _l6(table: pd.DataFrame) -> Verdict:
    return _exponents(table, "kernel_change", lambda L: 2 * L / (L + 1), 0.1, 0.05)


def _l7(table: pd.DataFrame) -> Verdict:
    return _exponents(table, "weight_change", lambda L: 1 / (L + 1), 0.2, None)


def _l8(table: pd.DataFrame) -> Verdict:
    spread, parts = [], []
    for _, row in table[table.part == "sweep"].iterrows():
        at = _array(row.rescaled)
        ratio = np.nanmean(_array(row.half_time), 1)[at <= FEATURE] / at[at <= FEATURE]
        spread.append(float(ratio.max() / ratio.min() - 1))
        parts.append(f"L = {row.depth}, h = {row.width}: {ratio.min():.2f} to {ratio.max():.2f}")
    note = "largest variation of t½/(√h α) over the feature scales; " + "; ".join(parts)
    return Verdict("holds" if max(spread) <= 0.15 else "fails", max(spread), note=note)


def _l9(table: pd.DataFrame) -> Verdict:
    rows = table[table.part == "init"].sort_values("width")
    weights = np.stack([_array(w) for w in rows.weight_speed], -1)  # (layers, seeds, widths)
    speeds = np.stack([_array(s) for s in rows.speed], -1)
    of_weights = [fit_power_law(rows.width.to_numpy(), layer).exponent for layer in weights]
    of_units = [fit_power_law(rows.width.to_numpy(), layer).exponent for layer in speeds]
    expected = [-0.5, *[-1.0] * (len(of_weights) - 2), -0.5]
    off = [abs(a - b) for a, b in zip(of_weights, expected)] + [abs(a + 0.5) for a in of_units]
    note = "largest deviation; weights " + ", ".join(f"{a:.2f}" for a in of_weights)
    note += "; pre-activations " + ", ".join(f"{a:.2f}" for a in of_units)
    return Verdict("holds" if max(off) <= 0.1 else "fails", max(off), note=note)


def _l10(table: pd.DataFrame) -> Verdict:
    values = np.concatenate([_array(d) for d in table[table.part == "sweep"].lazy_distance])
    note = f"largest of {len(values)} networks, relative distance of test outputs; median {np.median(values):.1e}"
    return Verdict("holds" if values.max() < 1e-3 else "fails", float(values.max()), note=note)


def _l11(table: pd.DataFrame) -> Verdict:
    rows = table[table.part == "sweep"]
    gaps, far, near = [], [], []
    for _, row in rows.iterrows():
        gaps.append(_array(row.end_error) - _array(row.error)[int(row.feature_row)])
        far.append(_array(row.start_distance))
        near.append(_array(row.end_distance))
    gap = bootstrap_interval(np.concatenate(gaps))
    start, end = float(np.concatenate(far).mean()), float(np.concatenate(near).mean())
    note = f"error of the final kernel minus the network's; distance of outputs {end:.2f}, initial kernel {start:.2f}"
    right = abs(gap.value) <= 0.01 and end < start
    return Verdict("holds" if right else "fails", gap.value, gap.low, gap.high, note)


def _l13(table: pd.DataFrame) -> Verdict:
    rows = table[table.part == "offset"]
    raw, centred = (np.concatenate([_array(e) for e in rows[f"error_{n}"]]) for n in ("raw", "centred"))
    done = float(np.concatenate([_array(f) for f in rows.finished_raw]).mean())
    found = bootstrap_interval(raw - centred)
    note = f"excess error at α = {float(rows.alpha.iloc[0]):g}; {done:.0%} of these runs met all margins"
    return Verdict("holds" if found.low > 0.05 else "fails", found.value, found.low, found.high, note)


def _l16(table: pd.DataFrame) -> Verdict:
    growth, still = [], []
    for _, row in table[table.part == "sweep"].iterrows():
        gain = _array(row.share_end) - _array(row.share_start)
        growth.append(gain[int(row.feature_row)])
        still.append(gain[-1])
    found, lazy = bootstrap_interval(np.concatenate(growth)), float(np.abs(np.concatenate(still)).max())
    note = f"gain of the labels' part on the two top eigenvectors, feature regime; lazy at most {lazy:.0e}"
    right = found.low > 0 and lazy < 0.1 * found.value
    return Verdict("holds" if right else "fails", found.value, found.low, found.high, note)


JUDGES: dict[str, tuple[float | str, Callable[[pd.DataFrame], Verdict]]] = {
    "L.1": ("-1.3 to -0.8 in both regimes", _l1),
    "L.4": ("0.1 and 0.2", _l4),
    "L.5": ("0.1; √h α* within a factor 10 of one", _l5),
    "L.6": ("10 %; lazy 0.05", _l6),
    "L.7": ("20 %", _l7),
    "L.8": ("15 % over two decades", _l8),
    "L.9": (0.1, _l9),
    "L.10": (1e-3, _l10),
    "L.11": ("1 point; outputs nearer than those of the initial kernel", _l11),
    "L.13": ("5 points", _l13),
    "L.16": ("interval above zero; lazy below a tenth of it", _l16),
}

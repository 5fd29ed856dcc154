"""What a table of jamming runs says about the claims J.1 to J.10."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from priorscope.lab import Verdict
from priorscope.papers.jamming._images import MARGIN
from priorscope.probes import small_argument_exponent
from priorscope.statistics import bootstrap_interval

__all__ = ["JUDGES", "living_loss", "transition"]

FITTED = 0.1  # a run with fewer living unsatisfied patterns per weight counts as fitted: the papers' rule for N*
FALLING = 1e-6  # so small a loss of the living patterns is still on its way to zero: fitted too
NEAR = 0.01  # loss (margin 1/2) below which a run is near the transition
FEW_PRECISION = 4  # so many unsatisfied patterns are an artefact of precision, and count as none


def _runs(table: pd.DataFrame, activation: str = "relu", depth: int | None = None) -> pd.DataFrame:
    rows = table[(table.part == "run") & (table.activation == activation)]
    return rows if depth is None else rows[rows.depth == depth]


def _jammed(table: pd.DataFrame, activation: str = "relu", depth: int | None = None) -> pd.DataFrame:
    rows = _runs(table, activation, depth)
    return rows[~_fitted(rows)]


def _fitted(rows: pd.DataFrame) -> pd.Series:
    return (rows.overlap_ratio < FITTED) | (_living(rows) < FALLING)


def _living(rows: pd.DataFrame) -> pd.Series:
    if "slack" not in rows or "n_dead" not in rows:
        return rows.loss
    found = [
        living_loss(np.asarray(s, float), int(dead), loss) if dead > 0 else loss
        for s, dead, loss in zip(rows.slack, rows.n_dead, rows.loss)
    ]
    return pd.Series(found, index=rows.index, dtype=float)


def living_loss(slack: np.ndarray, n_dead: int, loss: float) -> float:
    """The loss without what dead patterns add to it: their outputs are constants f, so their slacks ε ± f come twice or mirrored.

    The whole loss where that does not find as many patterns as were counted.
    """
    up = np.round(slack[slack > 1e-6], 12)
    values, counts = np.unique(up, return_counts=True)
    constant = values[(counts > 1) | np.isin(np.round(2 * MARGIN - values, 12), values)]
    dead = np.isin(up, np.round(np.concatenate([constant, 2 * MARGIN - constant]), 12))
    return loss - float((up[dead] ** 2).sum()) / (2 * len(slack)) if dead.sum() == n_dead else loss


def transition(ratios: np.ndarray, success: np.ndarray) -> float:
    """P/N at the transition: where the area under the success curve puts a step. NaN when a side is missing."""
    if len(ratios) < 2 or success[0] < 0.5 or success[-1] >= 0.5:
        return float("nan")
    return float(ratios[0] + ((success[1:] + success[:-1]) / 2 * np.diff(ratios)).sum())


def _curves(table: pd.DataFrame, depth: int) -> dict[int, tuple[int, np.ndarray, np.ndarray]]:
    """Of each width: N, ratios, and success (ratios, seeds)."""
    found = {}
    for width, rows in _runs(table, depth=depth).groupby("width"):
        wide = rows.assign(ok=_fitted(rows).astype(float)).pivot(index="ratio", columns="seed", values="ok")
        found[int(str(width))] = (int(rows.n_weights.iloc[0]), wide.index.to_numpy(float), wide.to_numpy(float))
    return found


def _slope(curves: dict[int, tuple[int, np.ndarray, np.ndarray]], rng: np.random.Generator | None) -> float:
    n, p = [], []
    for weights, ratios, ok in curves.values():
        seeds = ok.shape[1]
        pick = np.arange(seeds) if rng is None else rng.integers(seeds, size=seeds)
        r = transition(ratios, ok[:, pick].mean(1))
        if np.isfinite(r):
            n.append(weights)
            p.append(r * weights)
    return float(np.polyfit(np.log(p), np.log(n), 1)[0]) if len(n) >= 3 else float("nan")


def _at(table: pd.DataFrame, depth: int) -> dict[int, float]:
    return {w: transition(ratios, ok.mean(1)) for w, (_, ratios, ok) in _curves(table, depth).items()}


def _j1(table: pd.DataFrame) -> Verdict:
    curves = _curves(table, 2)
    slope = _slope(curves, None)
    if not np.isfinite(slope):
        return Verdict(
            "not shown", note="fewer than three widths have fitted runs on one side and jammed ones on the other"
        )
    rng = np.random.default_rng(0)
    draws = np.array([_slope(curves, rng) for _ in range(500)])
    low, high = np.nanquantile(draws, [0.025, 0.975])
    two, three = np.nanmean(list(_at(table, 2).values())), np.nanmean(list(_at(table, 3).values()) or [np.nan])
    agree = bool(abs(three / two - 1) <= 0.25)
    note = f"P/N* {two:.2f} at depth 2 and {three:.2f} at depth 3"
    verdict = "holds" if abs(slope - 1) <= 0.15 and agree else "fails"
    if not np.isfinite(three):
        verdict, note = "not shown", note + ": depth 3 has no transition in its ladder"
    return Verdict(verdict, slope, float(low), float(high), note)


def _j2(table: pd.DataFrame) -> Verdict:
    found = {w: r for w, r in _at(table, 2).items() if np.isfinite(r)}
    if not found:
        return Verdict("not shown", note="no width has fitted runs on one side and jammed ones on the other")
    values = np.array(list(found.values()))
    steps = max(float(np.diff(ratios).max()) for _, ratios, _ in _curves(table, 2).values())
    mean = float(values.mean())
    inside = abs(mean - 2.85) <= 0.3 and mean >= 0.25
    note = ", ".join(f"h = {w}: {r:.2f}" for w, r in found.items()) + f"; steps of the ladder up to {steps:.1f}"
    return Verdict("holds" if inside else "fails", mean, float(values.min()), float(values.max()), note)


def _j3(table: pd.DataFrame) -> Verdict:
    runs = _runs(table)
    jammed = _jammed(table)
    if jammed.empty or len(jammed) == len(runs):
        return Verdict("not shown", note="runs lie on one side of the transition")
    lowest = jammed.sort_values("loss").head(3)
    value = float(lowest.overlap_ratio.mean())
    left = runs[_fitted(runs) & (_living(runs) >= FALLING) & (runs.n_unsatisfied - runs.n_dead > FEW_PRECISION)]
    note = (
        f"mean of the three lowest losses ({lowest.loss.max():.1e} and below); smallest of {len(jammed)} jammed runs "
        f"{jammed.overlap_ratio.min():.2f}; {len(left)} runs between the two sides"
    )
    bound = bool((jammed.overlap_ratio >= 0.25).all()) and left.empty
    if not bound:
        return Verdict("fails", value, note=note)
    near = bool(lowest.loss.max() <= NEAR)
    inside = 0.65 <= value <= 0.9
    low, high = float(lowest.overlap_ratio.min()), float(lowest.overlap_ratio.max())
    return Verdict("holds" if inside else "fails" if near else "not shown", value, low, high, note)


def _j4(table: pd.DataFrame) -> Verdict:
    relu = _jammed(table, depth=3)
    tanh = table[table.part.isin(["run", "smooth"]) & (table.activation == "tanh")]
    tanh = tanh[~_fitted(tanh) & (tanh.loss <= NEAR)]
    if relu.empty or tanh.empty:
        return Verdict("not shown", note="no jammed run of depth 3, or none near the transition with tanh")
    value, smooth = float((relu.n_negative / relu.n_weights).mean()), float((tanh.n_negative / tanh.n_weights).mean())
    fewer = bool((tanh.n_negative < tanh.n_positive).all())
    symmetric = float((relu.n_negative / relu.n_positive).mean())
    note = f"ReLU N₋/N₊ {symmetric:.3f}; {len(tanh)} tanh runs near the transition N₋/N {smooth:.2f}, "
    note += f"N₋ < N₊ in {'all' if fewer else 'not all'} of them"
    if abs(value - 0.5) > 0.05 or not fewer:
        return Verdict("fails", value, note=note)
    return Verdict("holds" if abs(smooth - 0.43) <= 0.05 else "holds with changes", value, note=note)


def _j5(table: pd.DataFrame) -> Verdict:
    rows = _jammed(table)
    rows = rows[rows.overlap_ratio < 1]
    if rows.empty:
        return Verdict("not shown", note="no run with fewer overlaps than weights")
    rank = rows.rank_first / (rows.n_unsatisfied - rows.n_dead)
    bulk = [float(np.median(np.asarray(f)[np.asarray(f) > 1e-8 * np.max(f)])) for f in rows["first"]]
    gap = float(np.median(rows.gap.to_numpy(float) / bulk))
    note = f"rank over living overlaps {rank.min():.2f} to {rank.max():.2f}; measured: smallest over median eigenvalue"
    if rank.min() < 0.9 or rank.max() > 1.1:
        return Verdict("fails", gap, note=note)
    return Verdict("holds" if gap >= 0.1 else "not shown", gap, note=note)


def _j6(table: pd.DataFrame) -> Verdict:
    rows = _jammed(table, depth=2)
    if len(rows) < 4:
        return Verdict("not shown", note="fewer than four jammed runs")
    edge = np.array([np.quantile(np.abs(s)[np.abs(s) > 1e-8 * np.abs(s).max()], 0.9) for s in rows.second])
    loss = rows.loss.to_numpy(float)

    def ratio(pairs: np.ndarray) -> float:
        raw = np.log(pairs[:, 0]).std()
        return float((np.log(pairs[:, 0]) - np.log(pairs[:, 1]) / 2).std() / raw) if raw > 0 else float("nan")

    found = bootstrap_interval(np.stack([edge, loss], 1), ratio, draws=500)
    note = f"spread over {len(rows)} runs of the 90 % quantile of |λ|, rescaled over raw; "
    note += f"losses {loss.min():.1e} to {loss.max():.1e}"
    verdict = "holds" if found.high < 1 else "fails" if found.low > 1 else "not shown"
    return Verdict(verdict, found.value, found.low, found.high, note)


def _j7(table: pd.DataFrame) -> Verdict:
    rows = _jammed(table)
    near = rows[rows.loss <= NEAR]
    slack = [np.asarray(s) for s in near.slack]
    up = np.concatenate([s[s > 0] / np.sqrt(v) for s, v in zip(slack, near.loss)]) if slack else np.empty(0)
    down = np.concatenate([-s[s < 0] for s in slack]) if slack else np.empty(0)
    if len(up) < 100 or len(down) < 100:
        return Verdict("not shown", note=f"{len(up)} overlaps in runs near the transition are too few")
    theta, gamma = small_argument_exponent(up), small_argument_exponent(down)
    note = f"θ from {len(up)} overlaps of {len(near)} runs; γ {-gamma.value:.2f} [{-gamma.high:.2f}, {-gamma.low:.2f}]"
    if rows.n_weights.max() < 2000:
        return Verdict(
            "not shown", theta.value, theta.low, theta.high, note + "; the power laws need N of 2000 or more"
        )
    right = theta.contains(0.3) and gamma.contains(-0.2)
    return Verdict("holds" if right else "fails", theta.value, theta.low, theta.high, note)


def _j8(table: pd.DataFrame) -> Verdict:
    rows = table[table.part == "effective"]
    hidden = np.where(rows.activation == "relu", rows.depth * rows.width, 0)
    plain = (rows.n_effective - (rows.n_parameters - hidden)).abs()
    off = (rows.n_effective - (rows.n_parameters - hidden - rows.n_dead)).abs()
    share = float((off / rows.n_parameters).max())
    note = f"largest deviation; {len(rows)} networks of depths {sorted(set(rows.depth))}; tanh, without the symmetry, loses "
    note += (
        f"none; weights that no pattern reaches cost up to {int(rows.n_dead.max())} more, beyond them {int(off.max())} "
    )
    note += f"({share:.1%})"
    if (plain == 0).all():
        return Verdict("holds", 0.0, note=note)
    return Verdict("holds with changes" if (off == 0).all() else "fails", float(plain.max()), note=note)


def _j9(table: pd.DataFrame) -> Verdict:
    rows = _jammed(table).sort_values("loss")
    if rows.empty:
        return Verdict("not shown", note="no jammed run")
    share = rows.cusps / rows.n_weights
    near = rows.loss <= NEAR
    value = float(share[near].mean() if near.any() else share.iloc[0])
    note = f"{int(near.sum())} runs near the transition; all jammed runs {share.min():.2f} to {share.max():.2f}"
    if not near.any():
        return Verdict("not shown", value, note=note)
    return Verdict("holds" if 0.15 <= value <= 0.3 else "fails", value, note=note)


def _j10(table: pd.DataFrame) -> Verdict:
    relu, tanh = _jammed(table), table[table.part == "smooth"]
    tanh = tanh[~_fitted(tanh)] if len(tanh) else tanh
    if relu.empty or tanh.empty:
        return Verdict("not shown", note="no jammed run with ReLU, or none with tanh")
    share = bootstrap_interval((relu["index"] / relu.n_weights).to_numpy(float))
    index = np.stack([np.asarray(v, float) for v in tanh.index_at]) / tanh.n_weights.to_numpy(float)[:, None]
    lowest = np.stack([np.asarray(v, float) for v in tanh.lowest_at])
    first, late = index.mean(0)[[0, -1]]
    deep, shallow = lowest.mean(0)[[0, -1]]
    note = f"tanh {first:.3f} of N after a tenth of the steps, {late:.3f} at the end; "
    note += f"lowest eigenvalue {deep:.1e} and {shallow:.1e}"
    smooth = late < 0.5 * share.value and late < first and shallow > deep
    right = 0.04 <= share.value <= 0.16 and smooth
    return Verdict("holds" if right else "fails", share.value, share.low, share.high, note)


JUDGES: dict[str, tuple[float | str, Callable[[pd.DataFrame], Verdict]]] = {
    "J.1": ("0.15; depths within 25 %", _j1),
    "J.2": (0.3, _j2),
    "J.3": ("0.65 to 0.9 at the lowest losses; nothing between the sides", _j3),
    "J.4": (0.05, _j4),
    "J.5": ("rank within 10 % of N_Δ; smallest eigenvalue at least a tenth of the median", _j5),
    "J.6": ("ratio of spreads below 1", _j6),
    "J.7": ("inside both intervals", _j7),
    "J.8": ("0, weights that no pattern reaches left out", _j8),
    "J.9": ("0.15 to 0.3", _j9),
    "J.10": ("4 to 16 % for ReLU; tanh below half of it, number and size of negative modes falling with time", _j10),
}

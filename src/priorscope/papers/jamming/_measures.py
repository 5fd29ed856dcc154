"""What a table of jamming runs measures: the transition, the jump, Hessians at the end, overlaps and gaps, ranks and cusps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from priorscope.lab import Measured, NotMeasured
from priorscope.papers._over_draws import over_draws
from priorscope.statistics import Interval, exact, group_interval, median_interval

FITTED = 0.1  # a run with fewer living unsatisfied patterns per weight counts as fitted: the papers' rule for N*
FALLING = 1e-6  # so small a loss of the living patterns is still on its way to zero: fitted too
NEAR = 0.01  # loss (margin 1/2) below which a run is near the transition
_MEDIAN, _HARD_EDGE = 0.653, 3.59  # of a random Gram matrix without a gap, see gap_over_bulk
FEW_PRECISION = 4  # so many unsatisfied patterns are an artefact of precision, and count as none
CLOSE = 1e-3  # loss of the living patterns below which H₀ and the jump are looked at: farther in, gap and jump are washed out


def fitted(rows: pd.DataFrame) -> pd.Series:
    """Whether each run reached zero loss on the patterns that a gradient step can help."""
    return (rows.overlap_ratio < FITTED) | (rows.living_loss < FALLING)


def _runs(table: pd.DataFrame, depth: int | None = None) -> pd.DataFrame:
    rows = table[(table.part == "run") & (table.activation == "relu")]
    return rows if depth is None else rows[rows.depth == depth]


def _jammed(table: pd.DataFrame, depth: int | None = None) -> pd.DataFrame:
    rows = _runs(table, depth)
    rows = rows[~fitted(rows)]
    if rows.empty:
        raise NotMeasured("no run with ReLU is jammed" + ("" if depth is None else f" at depth {depth}"))
    return rows


def transition(ratios: np.ndarray, success: np.ndarray) -> np.ndarray:
    """P/N at the transition of each seed: where the area under its success curve (ratios, seeds) puts a step.

    Empty when a side is missing: fewer than half of the seeds fit at the first ratio, or half or more at the last.
    """
    part = success.mean(1)
    if len(ratios) < 2 or part[0] < 0.5 or part[-1] >= 0.5:
        return np.empty(0)
    steps = np.diff(ratios)[:, None]
    return np.asarray(ratios[0] + ((success[1:] + success[:-1]) / 2 * steps).sum(0))


def _transitions(table: pd.DataFrame, depth: int) -> tuple[list[int], list[int], list[np.ndarray]]:
    """Widths with a transition, the weights N of each, and P/N* of each seed."""
    widths, weights, found = [], [], []
    for width, rows in _runs(table, depth).groupby("width"):
        wide = rows.assign(ok=fitted(rows).astype(float)).pivot(index="ratio", columns="seed", values="ok")
        stars = transition(wide.index.to_numpy(float), wide.to_numpy(float))
        if len(stars):
            widths.append(int(str(width)))
            weights.append(int(rows.n_weights.iloc[0]))
            found.append(stars)
    return widths, weights, found


def _listed(widths: Sequence[int], stars: Sequence[np.ndarray]) -> str:
    return ", ".join(f"h = {w}: {s.mean():.2f}" for w, s in zip(widths, stars))


def growth(table: pd.DataFrame) -> Measured:
    """Slope of log N* over log P at depth 2, over the widths with a transition; seeds are independent at every width."""
    widths, weights, stars = _transitions(table, 2)
    if len(widths) < 3:
        raise NotMeasured(
            f"{len(widths)} widths have fitted runs on one side and jammed ones on the other; three are wanted"
        )
    n = np.log(np.array(weights, float))

    def slope(groups: list[np.ndarray]) -> float:
        return float(np.polyfit(n + np.log([g.mean() for g in groups]), n, 1)[0])

    return Measured(group_interval(stars, slope), f"P/N* {_listed(widths, stars)}")


def _mean(groups: Sequence[np.ndarray]) -> float:
    return float(np.mean([g.mean() for g in groups]))


def depth_ratio(table: pd.DataFrame) -> Measured:
    """P/N* at depth 3 over that at depth 2, means over widths."""
    (_, _, two), (_, _, three) = _transitions(table, 2), _transitions(table, 3)
    if not two or not three:
        raise NotMeasured(f"depth {3 if two else 2} has no transition in its ladder")
    found = group_interval([*two, *three], lambda g: _mean(g[len(two) :]) / _mean(g[: len(two)]))
    return Measured(found, f"P/N* {_mean(two):.2f} at depth 2 and {_mean(three):.2f} at depth 3")


def position(table: pd.DataFrame) -> Measured:
    """P/N at the transition of depth 2, mean over the widths that have one."""
    widths, _, stars = _transitions(table, 2)
    if not widths:
        raise NotMeasured("no width has fitted runs on one side and jammed ones on the other")
    rows = _runs(table, 2)
    step = max(float(np.diff(np.unique(r)).max()) for _, r in rows.groupby("width").ratio if r.nunique() > 1)
    return Measured(group_interval(stars, _mean), f"{_listed(widths, stars)}; steps of the ladder up to {step:.1f}")


def jump(table: pd.DataFrame) -> Measured:
    """Unsatisfied patterns per weight in all jammed runs close to the transition."""
    runs, jammed = _runs(table), _jammed(table)
    if len(jammed) == len(runs):
        raise NotMeasured("every run is jammed")
    return close_to_the_jump(jammed)


def close_to_the_jump(jammed: pd.DataFrame) -> Measured:
    """Unsatisfied patterns per weight, over the jammed runs with a living loss of at most CLOSE; three are wanted."""
    close = jammed[jammed.living_loss <= CLOSE]
    if len(close) < 3:
        raise NotMeasured(
            f"{len(close)} of {len(jammed)} jammed runs have a loss of the living patterns of {CLOSE} or below; three are wanted"
        )
    values = close.overlap_ratio.to_numpy(float)
    return Measured(
        over_draws(values), f"{len(close)} of {len(jammed)} jammed runs, {values.min():.2f} to {values.max():.2f}"
    )


def lowest_jammed(table: pd.DataFrame) -> Measured:
    """Unsatisfied patterns per weight in the jammed run that has fewest."""
    jammed = _jammed(table)
    return Measured(exact(jammed.overlap_ratio.min()), f"of {len(jammed)} jammed runs")


def between_the_sides(table: pd.DataFrame) -> Interval:
    """Runs that count as fitted although more than a few patterns keep them from zero loss."""
    runs = _runs(table)
    left = fitted(runs) & (runs.living_loss >= FALLING) & (runs.n_unsatisfied - runs.n_dead > FEW_PRECISION)
    return exact(int(left.sum()))


def negative_modes(table: pd.DataFrame) -> Measured:
    """Negative modes of H_p per weight in jammed runs with ReLU of depth 3."""
    rows = _jammed(table, 3)
    both = float((rows.n_negative / rows.n_positive).mean())
    return Measured(over_draws(rows.n_negative / rows.n_weights), f"N₋/N₊ {both:.3f}")


def _tanh_near(table: pd.DataFrame) -> pd.DataFrame:
    rows = table[table.part.isin(["run", "smooth"]) & (table.activation == "tanh")]
    rows = rows[~fitted(rows) & (rows.loss <= NEAR)]
    if rows.empty:
        raise NotMeasured("no run with tanh is jammed near the transition")
    return rows


def tanh_lopsided(table: pd.DataFrame) -> Measured:
    """Negative over positive modes of H_p with tanh, in the run near the transition where it is largest."""
    rows = _tanh_near(table)
    share = float((rows.n_negative / rows.n_weights).mean())
    return Measured(exact((rows.n_negative / rows.n_positive).max()), f"{len(rows)} runs, mean N₋/N {share:.2f}")


def rank(table: pd.DataFrame, largest: bool) -> Measured:
    """Rank of H₀ over the number of living overlaps, in the jammed run where it is smallest or largest."""
    rows = _hypostatic(table)
    share = rows.rank_first / (rows.n_unsatisfied - rows.n_dead)
    return Measured(exact(share.max() if largest else share.min()), f"of {len(rows)} runs")


def _hypostatic(table: pd.DataFrame) -> pd.DataFrame:
    rows = _jammed(table)
    rows = rows[(rows.overlap_ratio < 1) & (rows.living_loss <= CLOSE)]
    if rows.empty:
        raise NotMeasured(f"no jammed run with a loss of {CLOSE} or below has fewer overlaps than weights")
    return rows


def gap_over_bulk(table: pd.DataFrame) -> Measured:
    r"""Smallest over median nonzero eigenvalue of H₀, over what a spectrum without a gap has at most; median over jammed runs.

    Without a gap: the Gram matrix of k random vectors in k dimensions, of which the smallest eigenvalue lies below
    :math:`3.59/k^2` with chance 97.5 % (:math:`1 - e^{-x/2 - \sqrt x}` is the law of k² times it: Edelman 1988, Theorem 3.1) and
    the median is 0.653 (Marchenko-Pastur at ratio one).
    """
    rows = _hypostatic(table)
    values = rows.gap_over_bulk.to_numpy(float)
    over = values * _MEDIAN * rows.rank_first.to_numpy(float) ** 2 / _HARD_EDGE
    told = f"{len(values)} runs, smallest over median {values.min():.1e} to {values.max():.1e}"
    return Measured(median_interval(over), f"{told}, times the edge without a gap {over.min():.2g} to {over.max():.2g}")


def collapse(table: pd.DataFrame) -> Measured:
    """Spread over runs of the edge of H_p's spectrum over the root of the loss, relative to that of the edge itself."""
    rows = _jammed(table, 2)
    if len(rows) < 4:
        raise NotMeasured(f"{len(rows)} jammed runs of depth 2; four are wanted")
    pairs = np.log(rows[["edge", "loss"]].to_numpy(float))

    def ratio(logs: np.ndarray) -> float:
        return float((logs[:, 0] - logs[:, 1] / 2).std() / logs[:, 0].std())

    if np.ptp(pairs[:, 0]) == 0:
        raise NotMeasured("all edges are equal")
    note = f"90 % quantile of |λ| in {len(rows)} runs, losses {rows.loss.min():.1e} to {rows.loss.max():.1e}"
    return Measured(over_draws(pairs, ratio), note)


def exponent(table: pd.DataFrame, name: str) -> Measured:
    """Exponent of the density of overlaps (``theta``) or gaps (``gamma``) at small arguments, over runs near the transition."""
    rows = _jammed(table)
    near = rows[(rows.loss <= NEAR) & np.isfinite(rows[name].to_numpy(float))]
    if near.empty:
        raise NotMeasured(f"no jammed run with a loss of {NEAR} or below has enough patterns for an exponent")
    found = (
        f"{len(near)} runs, N = {near.n_weights.min():.0f} to {near.n_weights.max():.0f} (published: 2,000 to 8,000)"
    )
    return Measured(over_draws(near[name]), found)


def unexplained(table: pd.DataFrame) -> Measured:
    """Largest deviation of the effective parameters from all, less one per hidden ReLU neuron and those no pattern reaches."""
    rows = table[table.part == "effective"]
    hidden = np.where(rows.activation == "relu", rows.depth * rows.width, 0)
    off = (rows.n_effective - (rows.n_parameters - hidden - rows.n_dead)).abs()
    note = f"{len(rows)} networks of depths {sorted(set(rows.depth))}; no pattern reaches up to {int(rows.n_dead.max())} weights"
    return Measured(exact(int(off.max())), note)


def cusps(table: pd.DataFrame) -> Measured:
    """Patterns on kinks of ReLU per weight, over jammed runs near the transition."""
    rows = _jammed(table)
    near = rows[rows.living_loss <= NEAR]
    if near.empty:
        raise NotMeasured(f"no jammed run has a loss of the living patterns of {NEAR} or below")
    share = rows.cusps / rows.n_weights
    note = f"{len(near)} runs; all jammed runs {share.min():.2f} to {share.max():.2f}"
    return Measured(over_draws(near.cusps / near.n_weights), note)


def negative_share(table: pd.DataFrame) -> Measured:
    """Negative modes of the whole Hessian per weight, over jammed runs with ReLU."""
    rows = _jammed(table)
    return Measured(over_draws(rows["index"] / rows.n_weights), f"{len(rows)} runs")


def _smooth(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Negative modes per weight and the lowest eigenvalue of jammed runs with tanh, each (runs, times)."""
    rows = table[table.part == "smooth"]
    rows = rows[~fitted(rows)]
    if rows.empty:
        raise NotMeasured("no run with tanh is jammed")
    index = np.stack([np.asarray(v, float) for v in rows.index_at]) / rows.n_weights.to_numpy(float)[:, None]
    return index, np.stack([np.asarray(v, float) for v in rows.lowest_at])


def tanh_over_relu(table: pd.DataFrame) -> Measured:
    """Negative modes per weight at the end with tanh, over those with ReLU."""
    relu = _jammed(table)
    index, _ = _smooth(table)
    groups = [index[:, -1], (relu["index"] / relu.n_weights).to_numpy(float)]
    note = f"tanh {index[:, 0].mean():.3f} of N after a tenth of the steps, {index[:, -1].mean():.3f} at the end"
    return Measured(group_interval(groups, lambda g: float(g[0].mean() / g[1].mean())), note)


def tanh_later(table: pd.DataFrame, what: str) -> Interval:
    """End of training minus a tenth of the steps with tanh: ``number`` of negative modes per weight, or ``lowest`` eigenvalue."""
    index, lowest = _smooth(table)
    values = index if what == "number" else lowest
    return over_draws(values[:, -1] - values[:, 0])

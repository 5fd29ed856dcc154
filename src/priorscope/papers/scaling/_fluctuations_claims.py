"""What a table of fluctuations says about L.2 (ensembles) and L.3 (single networks)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from priorscope.lab import Verdict
from priorscope.papers.jamming._claims import FITTED
from priorscope.papers.scaling._double_descent_claims import star_of
from priorscope.probes import boundary_shift, excess_error
from priorscope.statistics import fit_power_law

__all__ = ["JUDGES", "by_width", "ensemble_errors", "ensemble_law"]

SIZES = (1, 2, 4, 8, 16)  # ensembles whose errors are fitted
BLOCKS = 8  # of members, left out one after another for the interval (a bootstrap would put one member in twice)
SHUFFLES = 20


def by_width(members: pd.DataFrame) -> dict[int, pd.DataFrame]:
    """Rows of the members of each number of weights."""
    return {int(float(str(n))): rows.sort_values("seed") for n, rows in members.groupby("n_weights")}


def _margins(rows: pd.DataFrame) -> np.ndarray:
    return np.stack([np.asarray(m, dtype=float) for m in rows.margins])  # (K, n)


def ensemble_errors(rows: pd.DataFrame, sizes: Sequence[int]) -> list[float]:
    """Mean error of ensembles of each size, over disjoint groups in several shuffles."""
    return _errors(_margins(rows), sizes)


def _errors(F: np.ndarray, sizes: Sequence[int]) -> list[float]:
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(F)) for _ in range(SHUFFLES)]
    found = []
    for m in sizes:
        whole = len(F) // m * m
        picks = orders if whole > m else orders[:1]
        found.append(float(np.mean([(F[o[:whole]].reshape(-1, m, F.shape[1]).mean(1) <= 0).mean() for o in picks])))
    return found


def ensemble_law(sizes: Sequence[int], errors: Sequence[float]) -> tuple[float, float]:
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


def _jackknife(K: int, statistic: Callable[[np.ndarray], float]) -> tuple[float, float, float]:
    """A statistic of the members kept, with an interval of two standard errors from leaving out blocks."""
    everyone = np.arange(K)
    value = statistic(everyone)
    parts = [b for b in np.array_split(everyone, min(BLOCKS, K)) if len(b)]
    left = np.array([statistic(np.setdiff1d(everyone, b)) for b in parts])
    error = float(np.sqrt((len(left) - 1) / len(left) * ((left - left.mean()) ** 2).sum()))
    return value, value - 2 * error, value + 2 * error


def _fitted_widths(members: pd.DataFrame, factor: float) -> dict[int, pd.DataFrame]:
    """Widths at which every member fits, from ``factor`` times N* on."""
    star = star_of(members)
    groups = by_width(members)
    return {n: g for n, g in groups.items() if n >= factor * star and bool((g.overlap_ratio < FITTED).all())}


def _l2(table: pd.DataFrame) -> Verdict:
    members = table[table.part == "member"]
    most = max(by_width(members).values(), key=len)
    beyond = _fitted_widths(members, 1.0)
    if len(most) < 2 * SIZES[-1] or len(beyond) < 3:
        return Verdict(
            "not shown", note=f"{len(most)} members at one width and {len(beyond)} widths beyond N* are too few"
        )
    F = _margins(most)
    b, low, high = _jackknife(len(F), lambda keep: ensemble_law(SIZES, _errors(F[keep], SIZES))[0])
    limit = ensemble_law(SIZES, _errors(F, SIZES))[1]
    groups = list(beyond.values())
    single = [float(g.error.mean()) for g in (groups[0], groups[-1])]
    least = min(len(g) for g in groups)
    mean = [_errors(_margins(g)[:least], [least])[0] for g in (groups[0], groups[-1])]
    left = (mean[0] - mean[1]) / (single[0] - single[1])
    note = (
        f"N = {int(most.n_weights.iloc[0])}, {len(most)} members, limit {limit:.4f}; from N = {min(beyond)} to {max(beyond)} one "
        f"network's error falls from {single[0]:.4f} to {single[1]:.4f}, that of {least} together from {mean[0]:.4f} to "
        f"{mean[1]:.4f} ({left:.2f} of it)"
    )
    args = (-b, -high, -low, note)
    if single[0] <= single[1] or left > 1 / 3:
        return Verdict("fails", *args)
    if abs(b - 1) <= 0.25:
        return Verdict("holds" if high - low <= 1 else "not shown", *args)
    return Verdict("not shown" if low <= 1 <= high else "fails", *args)


def _l2b(table: pd.DataFrame) -> Verdict:
    members = table[table.part == "member"]
    most = max(by_width(members).values(), key=len)
    if len(most) < 4 * SIZES[-2]:
        return Verdict("not shown", note=f"{len(most)} members at one width are too few for a reference of their own")
    slopes = np.stack([np.asarray(s, dtype=float) for s in most.slopes])  # (K, n, d)
    F = _margins(most)[:, : slopes.shape[1]]
    half = len(F) // 2
    reference = F[half:].mean(0)  # members that are in no ensemble
    sizes = [m for m in SIZES if m <= half // 2]

    def distances(keep: np.ndarray) -> tuple[list[float], list[float]]:
        deltas, estimates = [], []
        for m in sizes:
            groups = keep[: len(keep) // m * m].reshape(-1, m)
            found = [boundary_shift(F[g].mean(0), slopes[g].mean(0), reference) for g in groups]
            deltas.append(float(np.concatenate([shift for shift, _ in found]).mean()))
            estimates.append(float(np.mean([estimate for _, estimate in found])))
        return deltas, estimates

    floor = np.sqrt(1 + np.array(sizes) / (len(F) - half))  # a reference of so many members adds its own noise

    def slope(keep: np.ndarray) -> float:
        return fit_power_law(sizes, np.array(distances(keep)[0]) / floor).exponent

    value, low, high = _jackknife(half, slope)
    deltas, estimates = distances(np.arange(half))
    raw = fit_power_law(sizes, deltas).exponent
    note = (
        f"δ {deltas[0]:.3f} (M = 1) to {deltas[-1]:.3f} (M = {sizes[-1]}), estimate from norms {estimates[0]:.3f} to "
    )
    note += f"{estimates[-1]:.3f}; exponent {raw:.2f} with the noise of the reference of {len(F) - half} members"
    return Verdict("holds" if abs(value + 0.5) <= 0.1 else "fails", value, low, high, note)


def _l3(table: pd.DataFrame) -> Verdict:
    beyond = _fitted_widths(table[table.part == "member"], 2.0)
    if len(beyond) < 4:
        return Verdict("not shown", note=f"{len(beyond)} widths from 2 N* on; four are wanted")
    least = min(len(g) for g in beyond.values())
    n = np.array(list(beyond), float)
    stacks = [_margins(g)[:least] for g in beyond.values()]
    errors = np.stack([g.error.to_numpy(float)[:least] for g in beyond.values()], 1)  # (K, widths)

    def exponent(keep: np.ndarray) -> float:
        excess = [e - _errors(F[keep], [len(keep)])[0] for e, F in zip(errors[keep].mean(0), stacks)]
        return fit_power_law(n, excess).exponent if min(excess) > 0 else float("nan")

    value, low, high = _jackknife(least, exponent)
    fit = excess_error(n, errors)
    wide = _errors(stacks[-1], [least])[0]
    note = (
        f"N = {n[0]:.0f} to {n[-1]:.0f}, error of one minus that of {least} together; ε_N = ε_∞ + B N^-1/2 gives ε_∞ = "
        f"{fit.limit.value:.4f} [{fit.limit.low:.4f}, {fit.limit.high:.4f}] (ensemble at the widest {wide:.4f}), B = "
        f"{fit.slope.value:.2f} [{fit.slope.low:.2f}, {fit.slope.high:.2f}]; the paper's own free exponent is -0.42"
    )
    if not np.isfinite([value, low]).all():
        return Verdict("not shown", note="an ensemble is no better than its members; " + note)
    if abs(value + 0.5) <= 0.15:
        return Verdict("holds" if fit.slope.low > 0 else "fails", value, low, high, note)
    return Verdict("not shown" if low <= -0.35 and high >= -0.65 else "fails", value, low, high, note)


def _l3b(table: pd.DataFrame) -> Verdict:
    rows = table[table.part == "kernel"].sort_values("width")
    widths = rows.width.to_numpy(float)
    learnt, start = (np.stack([np.asarray(v, float) for v in rows[name]], 1) for name in ("learnt", "start"))
    law, other = fit_power_law(widths, learnt), fit_power_law(widths, start)
    note = f"what is left of the initial output {other.exponent:+.2f} [{other.low:+.2f}, {other.high:+.2f}]"
    right = abs(law.exponent + 1) <= 0.2 and other.exponent > -0.2
    return Verdict("holds" if right else "fails", law.exponent, law.low, law.high, note)


Line = tuple[str, float | str, float | str, Callable[[pd.DataFrame], Verdict]]
JUDGES: dict[str, Line] = {
    "L.2": (
        "the error of an ensemble approaches its limit like one over its size, flat beyond N*",
        -1.0,
        "0.25, interval at most 1 wide; ensembles keep at most a third of what single networks lose beyond N*",
        _l2,
    ),
    "L.2b": (
        "the decision boundary of an ensemble approaches its limit like one over the root of its size",
        -0.5,
        "0.1, without the noise of the reference",
        _l2b,
    ),
    "L.3": ("the excess error of one network falls like the root of its parameters", -0.5, 0.15, _l3),
    "L.3b": (
        "regression with the initial kernel of networks fluctuates like one over the width; what is left of the initial "
        "output does not fall",
        -1.0,
        "0.2; the other exponent above -0.2",
        _l3b,
    ),
}

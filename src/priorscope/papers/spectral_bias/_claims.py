"""What the runs on spectral bias say about each claim."""

from __future__ import annotations

from math import isnan

import numpy as np
import pandas as pd

from priorscope.lab import Claim, Verdict
from priorscope.statistics import Interval, bootstrap_interval, fit_power_law

SOURCE = "Bowman & Montúfar, Spectral bias outside the training set (2022)"


def _identity(table: pd.DataFrame) -> Verdict:
    part = table[table.kind == "identity"]
    worst = float(part[["train_error", "off_train_error"]].to_numpy().max())
    note = f"largest relative difference of the two sides, {len(part)} networks, on and off the training set"
    return Verdict("holds" if worst < 1e-4 else "fails", measured=worst, note=note)


def _largest(table: pd.DataFrame) -> pd.DataFrame:
    part = table[table.kind == "dynamics"]
    return part[part.n == part.n.max()]


def _rates(table: pd.DataFrame) -> Verdict:
    part = _largest(table)
    ratios = np.stack(part.rate_ratios.to_list())[:, :3]
    mean = ratios.mean(0)
    if np.isnan(mean).any():
        return Verdict("not shown", note="a projection changed sign before its decay could be fitted")
    worst = int(np.abs(mean - 1).argmax())
    interval = bootstrap_interval(ratios[:, worst])
    note = (
        f"rate over eigenvalue of the three leading modes {', '.join(f'{r:.3f}' for r in mean)} at width "
        f"{part.width.iloc[0]:.0f}, n = {part.n.iloc[0]}, {len(part)} draws"
    )
    verdict = "holds" if abs(mean[worst] - 1) <= 0.1 else "fails"
    return Verdict(verdict, measured=float(mean[worst]), low=interval.low, high=interval.high, note=note)


def _theorem(table: pd.DataFrame) -> Verdict:
    part = table[table.kind == "dynamics"]
    largest = _largest(table)
    worst = float(largest.worst_ratio.max())
    by_size = part[part.width == part.n].groupby("width").epsilon.max()
    needed = ", ".join(f"{w:.0f}: {e:.2g}" for w, e in by_size.items())
    note = (
        f"largest deviation over bound with epsilon = 0, all modes and times, at the largest sizes; epsilon needed at "
        f"n = m = {needed}; at the largest {largest.epsilon.max():.2g} beside a first term of {largest.free_term.mean():.2g}"
    )
    if worst <= 1:
        return Verdict("holds", measured=worst, note=note)
    falls = len(by_size) > 1 and bool(by_size.iloc[-1] < 0.5 * by_size.iloc[0])
    return Verdict("holds" if falls else "fails", measured=worst, note=note + "; it falls with the sizes" * falls)


def _slope_over_spaces(rows: np.ndarray) -> tuple[Interval, np.ndarray]:
    """Slope of the log of the mean squared deviation against the rank of the eigenspace, and the deviations."""
    spaces = np.stack([rows[:, :2].mean(1), rows[:, 2], rows[:, 3:5].mean(1), rows[:, 5:7].mean(1)], 1)
    ranks = np.arange(spaces.shape[1])
    return bootstrap_interval(spaces, lambda v: float(np.polyfit(ranks, np.log(v.mean(0)), 1)[0])), spaces.mean(0)


def _top(table: pd.DataFrame) -> Verdict:
    part = _largest(table)
    late, means = _slope_over_spaces(np.stack(part.mode_deviation.to_list()))
    early, first = _slope_over_spaces(np.stack(part.early_mode_deviation.to_list()))
    note = (
        f"slope of log squared deviation against the rank of the eigenspace; deviations from the top at the last time "
        f"{', '.join(f'{v:.2g}' for v in means)}; at half the first decay time {', '.join(f'{v:.2g}' for v in first)} "
        f"(slope {early.value:.2f}); summed over the top k they grow by construction"
    )
    verdict = "holds" if late.low > 0 else "fails" if late.high < 0 else "not shown"
    if verdict == "holds" and early.high < 0:
        verdict, note = "holds with changes", note + ": only once the top modes are learned"
    return Verdict(verdict, measured=late.value, low=late.low, high=late.high, note=note)


def _exponents(table: pd.DataFrame) -> pd.DataFrame:
    """Exponent in the width of the distance to the infinite kernel, of each kind of network."""
    rows = []
    for name, group in table[table.kind == "concentration"].groupby("network"):
        wide = group.pivot_table(index="seed", columns="width", values="distance")
        fit = fit_power_law(wide.columns.to_numpy(float), np.sqrt((wide**2).to_numpy()))
        rows.append({"network": name, "exponent": fit.exponent, "low": fit.low, "high": fit.high})
    return pd.DataFrame(rows)


def _concentration(table: pd.DataFrame) -> Verdict:
    fits = _exponents(table)
    worst = fits.iloc[int((fits.exponent + 0.5).abs().to_numpy().argmax())]
    note = "; ".join(f"{r.network} {r.exponent:.3f} [{r.low:.3f}, {r.high:.3f}]" for r in fits.itertuples())
    verdict = "holds" if abs(worst.exponent + 0.5) <= 0.1 else "fails"
    return Verdict(verdict, measured=worst.exponent, low=worst.low, high=worst.high, note=note)


def _joint(table: pd.DataFrame) -> Verdict:
    part = table[(table.kind == "dynamics") & (table.n == table.width)]
    wide = part.pivot_table(index="seed", columns="width", values="total_deviation")
    fit = fit_power_law(wide.columns.to_numpy(float), wide.to_numpy())
    ends = wide.mean()
    first, last = (f"{ends.iloc[i]:.3g} at {ends.index[i]:.0f}" for i in (0, -1))
    note = f"exponent of the deviation in n = m; it is {first} and {last}"
    verdict = "holds" if fit.high < 0 else "fails" if fit.low > 0 else "not shown"
    return Verdict(verdict, measured=fit.exponent, low=fit.low, high=fit.high, note=note)


def _smoothness(table: pd.DataFrame) -> Verdict:
    part = table[table.kind == "smoothness"]
    expected = (part.power - 1) / part.kernel_decay
    inside = part.power > 1 + part.kernel_decay + 0.25
    off = ((part.rate / expected - 1).abs())[~inside]
    slowest = float(part.rate[inside].min()) if inside.any() else float("nan")
    note = (
        "; ".join(f"power k^-{r.power:g}: t^-{r.rate:.2f} for {e:.2f}" for r, e in zip(part.itertuples(), expected))
        + f"; eigenvalues k^-{part.kernel_decay.mean():.2f}; slowest in the RKHS t^-{slowest:.2f}"
    )
    good = not isnan(slowest) and slowest >= 0.95 and float(off.max()) <= 0.1
    return Verdict("holds" if good else "fails", measured=float(off.max()), note=note)


def _antisymmetric(table: pd.DataFrame) -> Verdict:
    part = table[table.kind == "antisymmetric"]
    worst = float(max((part.output / part.plain_output).max(), part.kernel_error.max()))
    note = f"largest relative output {part.output.max():.1g}, change of the kernel {part.kernel_error.max():.1g}"
    return Verdict("holds" if worst < 1e-12 else "fails", measured=worst, note=note)


CLAIMS = (
    Claim("S2.1", SOURCE, "along gradient flow the residual obeys its kernel's equation, on and off the training set",
          "the two sides agree", "1e-4, the integrator's", _identity),
    Claim("S2.2", f"{SOURCE}, Obs. 3", "projections on the test set decay at the eigenvalues' rates", 1.0, 0.1, _rates),
    Claim("S2.3", f"{SOURCE}, Thm 1", "the deviation from the ideal dynamics stays under the bound", "never violated",
          "deviation over bound at most 1", _theorem),
    Claim("S2.4", SOURCE, "the bias is stronger along the top eigenfunctions", "deviation grows with the index",
          "interval of the slope above 0", _top),
    Claim("S2.5", f"{SOURCE}, Assumption 2", "the initial kernel approaches its limit like one over the root of the width",
          -0.5, 0.1, _concentration),
    Claim("S2.6", f"{SOURCE}, Obs. 4", "width proportional to the number of samples is enough at early times",
          "deviation falls as n = m grow", "interval of the exponent below 0", _joint),
    Claim("S2.8", f"{SOURCE}, Cor. 5", "targets in the RKHS decay like 1/t or faster, others by a slower power law",
          "(b - 1)/a for power k^-b and eigenvalues k^-a", 0.1, _smoothness),
    Claim("S2.9", SOURCE, "antisymmetric initialisation gives zero output and leaves the kernel", "to round-off", 1e-12,
          _antisymmetric),
)  # fmt: skip

"""What the runs on spectral bias are asked, and what is expected of them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Measured, NotMeasured, at_least, at_most, below, claimed, falling, near, rising
from priorscope.papers._over_draws import exponent_over_draws, over_draws
from priorscope.statistics import Interval, exact

SOURCE = "Bowman & Montúfar, Spectral bias outside the training set (2022)"
SPACES = ((0, 1), (2,), (3, 4), (5, 6))  # modes that share an eigenvalue on the circle, from the top


def identity_difference(table: pd.DataFrame, column: str) -> Measured:
    """Largest relative difference of the two sides of the residual identity."""
    part = table[table.kind == "identity"]
    return Measured(exact(part[column].max()), f"{len(part)} networks")


def _largest(table: pd.DataFrame) -> pd.DataFrame:
    part = table[table.kind == "dynamics"]
    found: pd.DataFrame = part[part.n == part.n.max()]
    return found


def rate_ratio(table: pd.DataFrame, mode: int) -> Measured:
    """Decay rate of the projection on a mode over its eigenvalue, over draws, at the largest sizes."""
    part = _largest(table)
    ratios = np.stack(part.rate_ratios.to_list())[:, mode]
    if np.isnan(ratios).any():
        raise NotMeasured("the projection changed sign before its decay could be fitted")
    return Measured(over_draws(ratios), f"width {part.width.iloc[0]:.0f}, n = {part.n.iloc[0]}, {len(part)} draws")


def deviation_over_bound(table: pd.DataFrame) -> Measured:
    """Largest deviation over the bound with ε = 0, over all modes and times, at the largest sizes."""
    part, largest = table[table.kind == "dynamics"], _largest(table)
    needed = part[part.width == part.n].groupby("width").epsilon.max()
    listed = ", ".join(f"{w:.0f}: {e:.2g}" for w, e in needed.items())
    note = (
        f"ε needed at n = m = {listed}; at the largest {largest.epsilon.max():.2g} beside a first term of "
        f"{largest.free_term.mean():.2g}"
    )
    return Measured(exact(largest.worst_ratio.max()), note)


def growth_with_index(table: pd.DataFrame) -> Measured:
    """Slope of the log of the squared deviation against the rank of the eigenspace, each at the same part of its own decay.

    The bound on an eigenspace, :math:`(1 - e^{-st})^2/s^2`, grows like :math:`1/s^2` at times in proportion to 1/s: the last
    time of the run for the space that decays slowest, earlier ones for the others.
    """
    part = _largest(table)
    own, late = _at_own_time(part), _by_space(np.stack(part.mode_deviation.to_list()))
    last = over_draws(late, _slope)
    note = (
        f"deviations from the top {', '.join(f'{v:.2g}' for v in own.mean(0))}; all at the last time "
        f"{', '.join(f'{v:.2g}' for v in late.mean(0))} (slope {last.value:.2f} [{last.low:.2f}, {last.high:.2f}])"
    )
    return Measured(over_draws(own, _slope), note)


def _at_own_time(part: pd.DataFrame) -> np.ndarray:
    """Mean squared deviation per mode of each eigenspace (draws, spaces), when as much of it has decayed as of the slowest."""
    found = []
    for row in part.to_dict("records"):
        times, ideal = np.asarray(row["times"], dtype=float), np.asarray(row["ideal"], dtype=float)
        squares = np.square(np.asarray(row["projections"], dtype=float) - ideal)  # (times, modes)
        rates = -np.log(ideal[-1] / ideal[0]) / times[-1]
        own = times[-1] * rates.min() / rates
        found.append([np.interp(t, times, square) for t, square in zip(own, squares.T, strict=True)])
    return _by_space(np.array(found))


def _by_space(rows: np.ndarray) -> np.ndarray:
    """The mean over the modes of each eigenspace (draws, spaces)."""
    return np.stack([rows[:, list(modes)].mean(1) for modes in SPACES], 1)


def _slope(spaces: np.ndarray) -> float:
    return float(np.polyfit(np.arange(spaces.shape[1]), np.log(spaces.mean(0)), 1)[0])


def concentration(table: pd.DataFrame, network: str) -> Interval:
    """Exponent in the width of the distance to the infinite kernel, over draws."""
    part = table[(table.kind == "concentration") & (table.network == network)]
    return exponent_over_draws(part, "width", "distance")


def joint_exponent(table: pd.DataFrame) -> Measured:
    """Exponent of the deviation in n = m, over draws."""
    part = table[(table.kind == "dynamics") & (table.n == table.width)]
    ends = part.groupby("width").total_deviation.mean()
    note = f"the deviation is {ends.iloc[0]:.3g} at {ends.index[0]:.0f} and {ends.iloc[-1]:.3g} at {ends.index[-1]:.0f}"
    return Measured(exponent_over_draws(part, "width", "total_deviation"), note)


def _target(table: pd.DataFrame, power: float) -> pd.Series:
    return table[(table.kind == "smoothness") & (table.power == power)].iloc[0]


def rate_times_decay(table: pd.DataFrame, power: float) -> Measured:
    """Rate of decay in time of a target of power k^-b outside the RKHS, times the exponent a of the eigenvalues k^-a."""
    row = _target(table, power)
    if power > 1 + row.kernel_decay:
        raise NotMeasured(f"with eigenvalues k^-{row.kernel_decay:.2f} the target lies in the RKHS")
    return Measured(exact(row.rate * row.kernel_decay), f"t^-{row.rate:.3f}, eigenvalues k^-{row.kernel_decay:.3f}")


def rate_in_space(table: pd.DataFrame, power: float) -> Interval:
    """Rate of decay in time of a target of power k^-b in the RKHS."""
    row = _target(table, power)
    if power <= 1 + row.kernel_decay:
        raise NotMeasured(f"with eigenvalues k^-{row.kernel_decay:.2f} the target does not lie in the RKHS")
    return exact(row.rate)


def antisymmetric_output(table: pd.DataFrame) -> Interval:
    """Largest output of an antisymmetric network, relative to that of the plain one."""
    part = table[table.kind == "antisymmetric"]
    return exact((part.output / part.plain_output).max())


def antisymmetric_kernel(table: pd.DataFrame) -> Interval:
    """Largest relative change of the kernel by antisymmetric initialisation."""
    return exact(table[table.kind == "antisymmetric"].kernel_error.max())


CLAIMS = (
    Claim(
        "S2.1",
        SOURCE,
        "along gradient flow the residual obeys its kernel's equation, on and off the training set",
        checks=(  # 1e-4 is the integrator's error
            Check("difference on the training set", partial(identity_difference, column="train_error"), below(1e-4)),
            Check("difference off it", partial(identity_difference, column="off_train_error"), below(1e-4)),
        ),
    ),
    Claim(
        "S2.2",
        f"{SOURCE}, Obs. 3",
        "projections on the test set decay at the eigenvalues' rates",
        checks=tuple(
            Check(f"rate over eigenvalue, mode {k + 1}", partial(rate_ratio, mode=k), claimed(1, within=0.1))
            for k in range(3)
        ),
    ),
    Claim(
        "S2.3",
        f"{SOURCE}, Thm 1",
        "the deviation from the ideal dynamics stays under the bound",
        measure=deviation_over_bound,
        expect=at_most(1),
    ),
    Claim(
        "S2.4",
        SOURCE,
        "the bias is stronger along the top eigenfunctions: at the same part of its decay a lower one deviates more",
        measure=growth_with_index,
        expect=rising(),
    ),
    Claim(
        "S2.5",
        f"{SOURCE}, Assumption 2",
        "the initial kernel approaches its limit like one over the root of the width",
        checks=tuple(
            Check(f"exponent, {name}", partial(concentration, network=name), claimed(-0.5, within=0.1))
            for name in ("fc", "conv", "residual")
        ),
    ),
    Claim(
        "S2.6",
        f"{SOURCE}, Obs. 4",
        "width proportional to the number of samples is enough at early times: the deviation falls as n = m grow",
        measure=joint_exponent,
        expect=falling(),
    ),
    Claim(
        "S2.8",
        f"{SOURCE}, Cor. 5",
        "targets in the RKHS decay like 1/t or faster, others like t^-(b-1)/a for power k^-b and eigenvalues k^-a",
        checks=(
            *(
                Check(f"rate times a, b = {b:g}", partial(rate_times_decay, power=b), near(b - 1, within=0.1 * (b - 1)))
                for b in (1.5, 2.0, 2.5)
            ),
            *(
                Check(f"rate in the RKHS, b = {b:g}", partial(rate_in_space, power=b), at_least(0.95))
                for b in (4.0, 5.0)
            ),
        ),
    ),
    Claim(
        "S2.9",
        SOURCE,
        "antisymmetric initialisation gives zero output and leaves the kernel",
        checks=(  # to round-off
            Check("output", antisymmetric_output, below(1e-12)),
            Check("change of the kernel", antisymmetric_kernel, below(1e-12)),
        ),
    ),
)

"""What a table of stripe measures: feature against lazy errors, compression, and lazy training on squeezed inputs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from priorscope.lab import Measured, NotMeasured
from priorscope.papers._over_draws import lowest, over_draws
from priorscope.statistics import Interval, exact, fit_power_law

FROM = 32  # patterns from which on the two trainings are compared and exponents are fitted
DONE = 0.9  # share of the networks of a size that must have met all margins for its compression to count
SIZES = 3  # numbers of patterns below which nothing is fitted


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    return table[table.n_train >= FROM].sort_values("n_train")


def _stack(rows: pd.DataFrame, name: str) -> np.ndarray:
    return np.stack([np.asarray(v, float) for v in rows[name]], 1)  # (training sets, sizes)


def _exponent(rows: pd.DataFrame, name: str) -> Interval:
    n = rows.n_train.to_numpy(float)
    return over_draws(_stack(rows, name), lambda sets: fit_power_law(n, sets.mean(0)).exponent)


def _done(table: pd.DataFrame) -> pd.DataFrame:
    rows = _rows(table)
    rows = rows[[float(np.mean(np.asarray(f, float))) >= DONE for f in rows.finished]]
    if len(rows) < SIZES:
        raise NotMeasured(
            f"{len(rows)} sizes from P = {FROM} on with networks that met all margins; {SIZES} are wanted"
        )
    return rows


def third_best(table: pd.DataFrame) -> Measured:
    """The share of networks that met all margins, at the size where it is third highest: so many sizes an exponent wants."""
    rows = _rows(table)
    shares = sorted((float(np.mean(np.asarray(f, float))) for f in rows.finished), reverse=True)
    told = ", ".join(f"P = {int(n)}: {np.mean(np.asarray(f, float)):.2f}" for n, f in zip(rows.n_train, rows.finished))
    return Measured(exact(shares[SIZES - 1] if len(shares) >= SIZES else 0.0), told)


def compression_exponent(table: pd.DataFrame) -> Measured:
    """Exponent in P of the compression, over sizes whose networks met all margins."""
    rows = _done(table)
    return Measured(_exponent(rows, "compression"), "P = " + ", ".join(str(int(n)) for n in rows.n_train))


def feature_gain(table: pd.DataFrame) -> Measured:
    """Lazy minus feature error over training sets, at the P from FROM on where it is lowest."""
    rows = _rows(table)
    if len(rows) < SIZES:
        raise NotMeasured(f"{len(rows)} sizes from P = {FROM} on; {SIZES} are wanted")
    gains = {
        f"P = {int(row.n_train)}": over_draws(np.asarray(row.lazy, float) - np.asarray(row.feature, float))
        for _, row in rows.iterrows()
    }
    curves = {name: -_exponent(rows, name).value for name in ("feature", "lazy")}
    note = f"learning-curve exponents {curves['feature']:.2f} and {curves['lazy']:.2f} (asymptotically 0.69 and 0.38 at d = 5)"
    return lowest(gains, note)


def way_left(table: pd.DataFrame) -> Measured:
    """Distance of log errors from the feature networks': of lazy training on squeezed inputs, over that of plain lazy training.

    Means over training sets, then over P from FROM on.
    """
    rows = _done(table)
    errors = np.stack([_stack(rows, name) for name in ("squeezed", "lazy", "feature")], 1)  # (sets, 3, sizes)
    if errors.mean(0).min() <= 0:
        raise NotMeasured("a test error is zero")

    def ratios(sets: np.ndarray) -> tuple[float, float]:
        squeezed, lazy, feature = np.log(sets.mean(0)).mean(1)
        return float(squeezed - feature), float(lazy - feature)

    near, far = ratios(errors)
    note = f"errors over the feature network's {np.exp(near):.2f} squeezed, {np.exp(far):.2f} without squeezing"
    return Measured(over_draws(errors, lambda sets: abs(ratios(sets)[0] / ratios(sets)[1])), note)

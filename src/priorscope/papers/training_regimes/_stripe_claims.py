"""What a table of stripe says about L.14."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from priorscope.lab import Verdict
from priorscope.statistics import PowerLaw, bootstrap_interval, fit_power_law

__all__ = ["JUDGES"]

FROM = 32  # patterns from which on the two trainings are compared and exponents are fitted
DONE = 0.9  # part of the networks of a size that must have met all margins for its compression to count


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    return table[table.n_train >= FROM].sort_values("n_train")


def _law(rows: pd.DataFrame, name: str) -> PowerLaw:
    return fit_power_law(rows.n_train.to_numpy(float), np.stack([np.asarray(v, float) for v in rows[name]], 1))


def _done(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[[float(np.mean(np.asarray(f, float))) >= DONE for f in rows.finished]]


def _l14(table: pd.DataFrame) -> Verdict:
    rows = _rows(table)
    finished = _done(rows)
    if len(rows) < 3 or len(finished) < 3:
        return Verdict(
            "not shown",
            note=f"{len(finished)} sizes from P = {FROM} on with networks that met all margins; three are wanted",
        )
    gains = {
        int(row.n_train): bootstrap_interval(np.asarray(row.lazy, float) - np.asarray(row.feature, float))
        for _, row in rows.iterrows()
    }
    law = _law(finished, "compression")
    curves = {name: -_law(rows, name).exponent for name in ("feature", "lazy")}
    note = (
        "compression; lazy minus feature error "
        + ", ".join(f"{g.value:.3f} [{g.low:.3f}, {g.high:.3f}] (P = {n})" for n, g in gains.items())
        + f"; learning-curve exponents {curves['feature']:.2f} and {curves['lazy']:.2f} (asymptotically 0.69 and 0.38 at d = 5); "
        + f"compression fitted to P = {', '.join(str(int(n)) for n in finished.n_train)}"
    )
    args = (law.exponent, law.low, law.high, note)
    if any(g.high <= 0 for g in gains.values()):
        return Verdict("fails", *args)
    better, right = all(g.low > 0 for g in gains.values()), abs(law.exponent - 0.5) <= 0.15
    if better and right:
        return Verdict("holds", *args)
    return Verdict("not shown" if right or (law.low <= 0.65 and law.high >= 0.35) else "fails", *args)


def _l14b(table: pd.DataFrame) -> Verdict:
    rows = _done(_rows(table))
    if len(rows) < 3:
        return Verdict("not shown", note="too few sizes whose networks met all margins")
    means = {
        name: np.array([np.mean(np.asarray(v, float)) for v in rows[name]]) for name in ("feature", "lazy", "squeezed")
    }
    if min(m.min() for m in means.values()) <= 0:
        return Verdict("not shown", note="a test error is zero")
    near, far = np.log(means["squeezed"] / means["feature"]), np.log(means["lazy"] / means["feature"])
    note = f"error over the feature network's, geometric mean over P from {FROM} on; without squeezing {np.exp(far.mean()):.2f}"
    low, high = np.exp(near.min()), np.exp(near.max())
    right = abs(near.mean()) <= abs(far.mean()) / 2
    return Verdict("holds" if right else "fails", float(np.exp(near.mean())), float(low), float(high), note)


Line = tuple[str, float | str, float | str, Callable[[pd.DataFrame], Verdict]]
JUDGES: dict[str, Line] = {
    "L.14": (
        "on the stripe, feature training beats lazy; compression grows like the root of P",
        0.5,
        f"0.15; errors apart by an interval over training sets at every P from {FROM} on",
        _l14,
    ),
    "L.14b": (
        "lazy training on inputs squeezed by the compression performs like feature training",
        1.0,
        "nearer in log error than half the way of plain lazy training",
        _l14b,
    ),
}

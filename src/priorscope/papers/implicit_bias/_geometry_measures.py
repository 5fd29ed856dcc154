"""What is measured of the solutions that descent chooses: distances, shares of margins, KKT ratios, costs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from priorscope.lab import Measured
from priorscope.papers._over_draws import highest, lowest, over_draws, where
from priorscope.papers.implicit_bias._source import per_draw

DATA = ("normal", "digits")
NETWORKS = ("relu-2", "relu-3", "relu-2 digits")


def farthest(table: pd.DataFrame, potentials: tuple[str, ...], column: str = "off") -> Measured:
    """The largest mean distance over data and potentials."""
    rows = where(table, kind="regression")
    cells = {f"{d}, {p}": per_draw(where(rows, data=d, potential=p), column) for d in DATA for p in potentials}
    unfitted = int((rows["fitted"] < 1).sum())
    return highest(cells, f"{unfitted} of {len(rows)} runs did not fit")


def nearest(table: pd.DataFrame, potentials: tuple[str, ...], column: str) -> Measured:
    """The smallest mean distance over data and potentials."""
    rows = where(table, kind="regression")
    return lowest({f"{d}, {p}": per_draw(where(rows, data=d, potential=p), column) for d in DATA for p in potentials})


def longest(rows: pd.DataFrame) -> pd.DataFrame:
    found: pd.DataFrame = rows[rows["steps"] == rows["steps"].max()]
    return found


def smallest_share(table: pd.DataFrame, norms: tuple[str, ...]) -> Measured:
    """The smallest mean share of the largest margin in the norm of descent, after the longest training."""
    rows = longest(where(table, kind="margin"))
    return lowest({f"{d}, {q}": per_draw(where(rows, data=d, norm=q), f"share_{q}") for d in DATA for q in norms})


def own_over_gradient(table: pd.DataFrame, norms: tuple[str, ...]) -> Measured:
    """By how much the share in a norm is larger under descent in it than under gradient descent, at the least."""
    rows = longest(where(table, kind="margin"))

    def gain(data: str, norm: str) -> list[float]:
        own = where(rows, data=data, norm=norm).set_index("seed")[f"share_{norm}"]
        other = where(rows, data=data, norm="l2").set_index("seed")[f"share_{norm}"]
        return list((own - other.loc[own.index]).astype(float))

    return lowest({f"{d}, {q}": over_draws(gain(d, q)) for d in DATA for q in norms})


def share_by_steps(table: pd.DataFrame, norms: tuple[str, ...]) -> Measured:
    """The logarithm of what lacks to the largest margin, long training minus short, at its largest."""
    rows = where(table, kind="margin")

    def shrinks(data: str, norm: str) -> list[float]:
        wide = where(rows, data=data, norm=norm).pivot_table(index="seed", columns="steps", values=f"share_{norm}")
        lack = np.log(np.maximum(1 - wide.to_numpy(float), 1e-12))
        return list(lack[:, -1] - lack[:, 0])

    return highest({f"{d}, {q}": over_draws(shrinks(d, q)) for d in DATA for q in norms})


def kkt_ratio(table: pd.DataFrame) -> Measured:
    """The smallest mean KKT ratio of the networks after the longest training."""
    rows = longest(where(table, kind="network", loss="exponential"))
    return lowest({net: per_draw(where(rows, network=net), "ratio") for net in NETWORKS})


def kkt_gain(table: pd.DataFrame, against: str) -> Measured:
    """By how much the ratio exceeds that of short training, or that of the squared loss, at the least."""
    rows = where(table, kind="network")
    long = longest(rows[rows["loss"] == "exponential"])
    other = rows[rows["loss"] == "squared"]
    if against == "short":
        short = rows[rows["loss"] == "exponential"]
        other = short[short["steps"] == short["steps"].min()]

    def gain(net: str) -> list[float]:
        a, b = (where(part, network=net).set_index("seed")["ratio"] for part in (long, other))
        return list((a - b.loc[a.index]).astype(float))

    return lowest({net: over_draws(gain(net)) for net in NETWORKS})


def sparse_share(table: pd.DataFrame, network: str) -> Measured:
    """The share of the largest l1 margin, of features or frequencies, of linear networks of two layers."""
    rows = longest(where(table, kind="linear", network=network, depth=2))
    return Measured(per_draw(rows, "share"), f"{int(rows['steps'].max())} steps")


def deep_ratio(table: pd.DataFrame, network: str) -> Measured:
    """The KKT ratio of linear networks of three layers after the longest training."""
    return Measured(per_draw(longest(where(table, kind="linear", network=network, depth=3)), "ratio"))


def spline_off(table: pd.DataFrame, column: str) -> Measured:
    """The largest relative difference between the cost and the formula, or the least value, over draws."""
    from priorscope.statistics import exact

    rows = where(table, kind="spline")
    off = (rows["cost"] / rows[column] - 1).abs()
    return Measured(exact(float(off.max())), f"{len(rows)} draws of points")

"""What Theorem 3.1, Theorem 2.1 and Fig. 1 ask of a table of cells."""

from __future__ import annotations

import numpy as np
import pandas as pd

from priorscope.lab import Measured, NotMeasured
from priorscope.papers._over_draws import over_draws, where
from priorscope.papers.curse_of_dimensionality._grid import ROTATIONS
from priorscope.papers.curse_of_dimensionality._systems import SIZE_OF
from priorscope.statistics import Interval, exact

KEYS = ["data", "n", "variant", "seed"]
HAS = {2: "lcn", 3: "fcn"}  # the system whose own symmetry is O(c)^d, and O(cd)


def changes(table: pd.DataFrame, part: str, within: bool) -> Measured:
    """Theorem 3.1: the largest change inside the system's group, or the smallest outside."""
    cells = table[(table.part == part) & table["group"].isin(ROTATIONS)]
    cells = cells[cells.inside.astype(bool) == within]
    if cells.empty:
        raise NotMeasured(f"there are no cells {'inside' if within else 'outside'} the group")
    return Measured(exact(cells.change.max() if within else cells.change.min()), f"{len(cells)} cells")


def inclusion(table: pd.DataFrame) -> Measured:
    """Theorem 2.1: the largest difference between outputs of a network and of its embedding."""
    worst = table[table.part == "inclusion"].difference.max()
    return Measured(exact(worst), "three embeddings, depths 2 and 3, float64")


def drops(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracy lost to a group against the plain data of the same draw, and the distance to the system that has the group.

    ``before`` and ``after`` are the distances of the plain and of the transformed accuracy to LCN's (groups per pixel) or to
    FCN's (groups of everything), of the same data, size, training and draw; empty where that cell was not run.
    """
    cells = table[table.part == "accuracy"]
    plain = cells[cells["group"] == "identity"].set_index(["system", *KEYS]).accuracy.to_dict()
    rows = cells[cells["group"] != "identity"].copy()
    keys = list(rows[KEYS].itertuples(index=False, name=None))
    rows["plain"] = [plain.get((s, *k), np.nan) for s, k in zip(rows.system, keys)]
    rows["aim"] = [plain.get((HAS.get(SIZE_OF[g], ""), *k), np.nan) for g, k in zip(rows["group"], keys)]
    rows = rows[rows.plain.notna()]
    return rows.assign(
        drop=rows.plain - rows.accuracy, before=(rows.plain - rows.aim).abs(), after=(rows.accuracy - rows.aim).abs()
    )


def _cells(table: pd.DataFrame, data: str, within: bool) -> pd.DataFrame:
    """Means over draws of every cell (system, training, size, group) inside or outside the symmetry, on one set of images."""
    rows = drops(table)
    rows = rows[(rows.data == data) & (rows.inside.astype(bool) == within)]
    if rows.empty:
        raise NotMeasured(f"there are no such cells on {data}")
    rows = rows.assign(noise=np.sqrt(2 * 0.25 / rows.n_test))  # of a difference of two accuracies, an upper bound
    return rows.groupby(["system", "variant", "n", "group"])[["drop", "before", "after", "noise"]].mean()


def largest_change_inside(table: pd.DataFrame, data: str) -> Measured:
    """Fig. 1: the largest mean change by a group inside the symmetry, in units of the sampling noise of one cell."""
    cells = _cells(table, data, within=True)
    ratio = (cells["drop"].abs() / cells.noise).max()
    return Measured(exact(ratio), f"{len(cells)} cells, largest change {cells['drop'].abs().max():.3f}")


def drop_outside(table: pd.DataFrame, data: str) -> Measured:
    """Fig. 1: the mean drop of accuracy by a group outside the symmetry, with its interval over systems.

    The groups of one system, training and size share its accuracy on plain images, so their mean counts once.
    """
    cells = _cells(table, data, within=False)
    by_system = cells["drop"].groupby(["system", "variant", "n"]).mean()
    return Measured(over_draws(by_system), f"{len(by_system)} systems, trainings and sizes, {len(cells)} cells")


def nearer(table: pd.DataFrame, data: str) -> Measured:
    """Fig. 1: how much nearer an outside group brings a system to the one that has this group, over systems."""
    cells = _cells(table, data, within=False)
    cells = cells[cells.before.notna()]
    by_system = (cells.before - cells.after).groupby(["system", "variant", "n"]).mean()
    note = f"distance {cells.before.mean():.3f} before, {cells.after.mean():.3f} after, over {len(cells)} cells"
    return Measured(over_draws(by_system), note)


def _by_draw(table: pd.DataFrame, data: str) -> pd.DataFrame:
    """Accuracies of NN+ and NN++, one row per draw, at the size of a set of images that has the most draws."""
    cells = table[(table.part == "accuracy") & table.variant.isin(["nn+", "nn++"]) & (table.data == data)]
    draws = cells[cells.system == "gap"].groupby("n").seed.nunique()
    if draws.empty:
        raise NotMeasured(f"there are no such runs on {data}")
    cells = cells[cells.n == draws.idxmax()]
    return cells.pivot_table(index="seed", columns=["variant", "system", "group"], values="accuracy")


def _difference(wide: pd.DataFrame, one: tuple[str, str, str], other: tuple[str, str, str]) -> pd.Series:
    missing = [" ".join(cell) for cell in (one, other) if cell not in wide.columns]
    if missing:
        raise NotMeasured(f"this grid has no {', '.join(missing)}")
    return (wide[one] - wide[other]).dropna()


def separation(table: pd.DataFrame, data: str) -> Measured:
    """NN+: accuracy of VEC under O(c)⊗I minus under O(c)^d, over draws, at the most images."""
    cells = where(table, part="accuracy", variant="nn+", system="vec", data=data)
    wide = cells[cells.n == cells.n.max()].pivot_table(
        index="seed", columns=["variant", "system", "group"], values="accuracy"
    )
    upright, turned = (("nn+", "vec", group) for group in ("O(c)⊗I", "O(c)^d"))
    difference = _difference(wide, upright, turned)
    means = f"{wide[upright].mean():.3f} and {wide[turned].mean():.3f} at n = {cells.n.max():.0f}"
    return Measured(over_draws(difference), means)


def lead(table: pd.DataFrame, data: str) -> Interval:
    """NN+: accuracy of GAP minus that of VEC under O(c)⊗I, over draws: what MixUp could close."""
    return over_draws(_difference(_by_draw(table, data), ("nn+", "gap", "O(c)⊗I"), ("nn+", "vec", "O(c)⊗I")))


def closing(table: pd.DataFrame, data: str) -> Measured:
    """How much smaller MixUp makes the lead of GAP over VEC under O(c)⊗I, over draws; there must be a lead."""
    wide = _by_draw(table, data)
    lead = _difference(wide, ("nn+", "gap", "O(c)⊗I"), ("nn+", "vec", "O(c)⊗I"))
    mixed = _difference(wide, ("nn++", "gap", "O(c)⊗I"), ("nn++", "vec", "O(c)⊗I"))
    ahead = over_draws(lead)
    words = (
        f"GAP minus VEC {ahead.value:.3f} [{ahead.low:.3f}, {ahead.high:.3f}] without MixUp, {mixed.mean():.3f} with"
    )
    if ahead.low <= 0:
        raise NotMeasured(f"GAP is not ahead of VEC at this size, so there is nothing to close: {words}")
    return Measured(over_draws((lead - mixed).dropna()), words)

"""How Theorem 3.1, Theorem 2.1 and Fig. 1 are judged from a table of cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from priorscope.lab import Verdict
from priorscope.papers.curse_of_dimensionality._grid import ROTATIONS
from priorscope.papers.curse_of_dimensionality._systems import SIZE_OF

__all__ = ["drops", "judge_figure", "judge_inclusion", "judge_interventions", "judge_table"]

KEYS = ["data", "n", "variant", "seed"]
HAS = {2: "lcn", 3: "fcn"}  # the system whose own symmetry is O(c)^d, and O(cd)


def judge_table(part: str, low: float, high: float) -> Callable[[pd.DataFrame], Verdict]:
    """Theorem 3.1: changes at most ``low`` inside the group, at least ``high`` outside."""

    def judge(table: pd.DataFrame) -> Verdict:
        cells = table[(table.part == part) & (table["group"].isin(ROTATIONS))]
        within = cells[cells.inside.astype(bool)].change.max()
        outside = cells[~cells.inside.astype(bool)].change.min()
        note = f"{len(cells)} cells: at most {within:.1e} inside the group, at least {outside:.1e} outside"
        return Verdict("holds" if within <= low and outside >= high else "fails", measured=float(within), note=note)

    return judge


def judge_inclusion(table: pd.DataFrame) -> Verdict:
    """Theorem 2.1: outputs of embedded networks agree."""
    worst = float(table[table.part == "inclusion"].difference.max())
    return Verdict(
        "holds" if worst <= 1e-5 else "fails", measured=worst, note="three embeddings, depths 2 and 3, float64"
    )


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


def judge_figure(table: pd.DataFrame) -> Verdict:
    """Fig. 1, on each set of images by itself; both must show it, or the synthetic one with the other undecided."""
    cells = drops(table)
    return _together({str(name): _figure_on(part) for name, part in cells.groupby("data", sort=False)})


def _figure_on(cells: pd.DataFrame) -> Verdict:
    noise = np.sqrt(2 * 0.25 / cells.n_test)  # of a difference of two accuracies, an upper bound
    cells = cells.assign(noise=noise, variant=cells.variant + cells.n.astype(str))
    kept, lost = cells[cells.inside.astype(bool)], cells[~cells.inside.astype(bool)]
    mean = lambda part, column: part.groupby(["system", "variant", "group"])[column].mean()  # noqa: E731
    inside = (mean(kept, "drop").abs() / mean(kept, "noise")).max()
    outside = mean(lost, "drop")
    value, error = float(outside.mean()), float(outside.std(ddof=1) / np.sqrt(len(outside)))
    low, high = value - 2 * error, value + 2 * error
    led = lost[lost.before.notna()]
    before, after = float(led.before.mean()), float(led.after.mean())
    note = (
        f"inside: largest mean change {mean(kept, 'drop').abs().max():.3f} ({inside:.1f} times the noise of a cell); "
        f"outside: mean drop {value:.3f} [{low:.3f}, {high:.3f}] over {len(outside)} cells; "
        f"distance to the system with that symmetry {before:.3f} -> {after:.3f}"
    )
    if inside > 3 or high < 0:
        return Verdict("fails", value, low, high, note)
    return Verdict("holds" if low > 0 and after < before else "not shown", value, low, high, note)


def judge_interventions(table: pd.DataFrame) -> Verdict:
    """NN+ separates the two groups of VEC, and MixUp closes VEC to GAP; on each set of images with the most draws."""
    cells = table[(table.part == "accuracy") & table.variant.isin(["nn+", "nn++"])]
    found = {}
    for name, part in cells.groupby("data", sort=False):
        draws = part[part.system == "gap"].groupby("n").seed.nunique()
        found[str(name)] = _interventions_on(part[part.n == draws.idxmax()])
    return _together(found)


def _interventions_on(cells: pd.DataFrame) -> Verdict:
    wide = cells.pivot_table(index="seed", columns=["variant", "system", "group"], values="accuracy")
    wanted = [("nn+", "vec", "O(c)⊗I"), ("nn+", "vec", "O(c)^d"), ("nn+", "gap", "O(c)⊗I")]
    wanted += [("nn++", "gap", "O(c)⊗I"), ("nn++", "vec", "O(c)⊗I")]
    missing = [" ".join(cell) for cell in wanted if cell not in wide.columns]
    if missing:
        return Verdict("not shown", note=f"this grid has no {', '.join(missing)}")
    first = (wide["nn+", "vec", "O(c)⊗I"] - wide["nn+", "vec", "O(c)^d"]).dropna()
    gap_plus = (wide["nn+", "gap", "O(c)⊗I"] - wide["nn+", "vec", "O(c)⊗I"]).dropna()
    gap_mixup = (wide["nn++", "gap", "O(c)⊗I"] - wide["nn++", "vec", "O(c)⊗I"]).dropna()
    closing = (gap_plus - gap_mixup).dropna()
    (low1, high1), (low2, high2), (ahead, _) = _bounds(first), _bounds(closing), _bounds(gap_plus)
    note = (
        f"NN+: VEC under O(c)⊗I minus under O(c)^d {first.mean():.3f} [{low1:.3f}, {high1:.3f}]; GAP minus VEC goes from "
        f"{gap_plus.mean():.3f} to {gap_mixup.mean():.3f} with MixUp, falls by {closing.mean():.3f} [{low2:.3f}, {high2:.3f}]"
    )
    if ahead <= 0:
        note += "; GAP is not ahead of VEC at this size: nothing to close"
    if high1 < 0 or (high2 < 0 and ahead > 0):
        return Verdict("fails", float(first.mean()), low1, high1, note)
    shown = low1 > 0 and low2 > 0 and ahead > 0
    return Verdict("holds" if shown else "not shown", float(first.mean()), low1, high1, note)


def _bounds(values: pd.Series) -> tuple[float, float]:
    """Two standard errors of the mean over draws either side."""
    error = float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else np.inf
    return float(values.mean() - 2 * error), float(values.mean() + 2 * error)


def _together(found: dict[str, Verdict]) -> Verdict:
    """One verdict of several sets of images, with every set's own in the note; the numbers are those of the first set.

    Any failure fails. All hold: holds. Only some hold: holds with changes (a set of our own shows it, the paper's at this
    size does not decide).
    """
    verdicts = [v.verdict for v in found.values()]
    first = next(iter(found.values()))
    note = " | ".join(f"{name}: {v.verdict}: {v.note}" for name, v in found.items())
    if "fails" in verdicts:
        overall = "fails"
    elif all(v == "holds" for v in verdicts):
        overall = "holds"
    else:
        overall = "holds with changes" if "holds" in verdicts else "not shown"
    return Verdict(overall, first.measured, first.low, first.high, note)

"""The published measures of a comparison of predictors over tables, from the stored accuracies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Measured
from priorscope.statistics import group_interval, seed_interval
from priorscope.validation.small_data._predictors import PREDICTORS

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "ahead_of",
    "best_rank",
    "best_share_ahead_of",
    "by_table",
    "chart",
    "images_ahead",
    "share_ahead_of",
    "summary",
]

OWN = "kernel machine"


def by_table(table: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy over folds: one row per table, one column per predictor."""
    rows = table[table["kind"] == "table"]
    found: pd.DataFrame = rows.groupby("table")[list(PREDICTORS)].mean()
    return found


def _ranks(means: pd.DataFrame) -> pd.DataFrame:
    """Friedman ranks: 1 for the best of each table, ties shared."""
    return means.rank(axis=1, ascending=False)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Per predictor: mean accuracy, Friedman rank, P90, P95 and PMA, as Fernández-Delgado et al. (2014) define them."""
    means = by_table(table)
    share = means.div(means.max(axis=1), axis=0)
    return pd.DataFrame(
        {
            "accuracy": means.mean(),
            "rank": _ranks(means).mean(),
            "P90": (share >= 0.9).mean(),
            "P95": (share >= 0.95).mean(),
            "PMA": share.mean(),
        }
    )


def ahead_of(other: str) -> Callable[[pd.DataFrame], Measured]:
    """Difference of mean accuracies, tables paired; tables are what is sampled."""

    def measure(table: pd.DataFrame) -> Measured:
        means = by_table(table)
        gap = means[OWN] - means[other]
        note = (
            f"{100 * means[OWN].mean():.2f} against {100 * means[other].mean():.2f} % on {len(means)} tables; better on "
            f"{int((gap > 0).sum())}, worse on {int((gap < 0).sum())}"
        )
        return Measured(seed_interval(gap), note)

    return measure


def best_rank(table: pd.DataFrame) -> Measured:
    """The mean rank of the best other predictor minus the machine's own, paired by table."""
    ranks = _ranks(by_table(table))
    others = ranks.drop(columns=OWN).mean()
    note = ", ".join(f"{name} {rank:.2f}" for name, rank in ranks.mean().sort_values().items())
    return Measured(seed_interval(ranks[others.idxmin()] - ranks[OWN]), f"mean ranks: {note}")


def share_ahead_of(other: str, share: float) -> Callable[[pd.DataFrame], Measured]:
    """Share of tables with so much of the best accuracy (P90, P95), minus that of another predictor, tables paired."""

    def measure(table: pd.DataFrame) -> Measured:
        means = by_table(table)
        hits = means.ge(share * means.max(axis=1), axis=0).astype(float)
        note = f"{int(hits[OWN].sum())} against {int(hits[other].sum())} of {len(hits)} tables"
        return Measured(seed_interval(hits[OWN] - hits[other]), note)

    return measure


def best_share_ahead_of(other: str) -> Callable[[pd.DataFrame], Measured]:
    """Mean share of the best accuracy (PMA), minus that of another predictor, tables paired."""

    def measure(table: pd.DataFrame) -> Measured:
        means = by_table(table)
        share = means.div(means.max(axis=1), axis=0)
        note = f"{100 * share[OWN].mean():.2f} against {100 * share[other].mean():.2f} % on {len(share)} tables"
        return Measured(seed_interval(share[OWN] - share[other]), note)

    return measure


def images_ahead(table: pd.DataFrame) -> Measured:
    """Difference of accuracies on images: the mean over sizes, with an interval from the draws of each size."""
    rows = table[table["kind"] == "images"]
    gaps = {str(n): (part[OWN] - part["network"]).to_numpy() for n, part in rows.groupby("n")}
    note = ", ".join(f"{n}: {100 * float(values.mean()):+.1f}" for n, values in gaps.items())
    found = group_interval(list(gaps.values()), lambda groups: float(np.mean([group.mean() for group in groups])))
    return Measured(found, f"points by number of samples: {note}")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Accuracy of each predictor on each table against the kernel machine's, and of images by number of samples."""
    import altair as alt

    means = by_table(table).reset_index()
    long = means.melt(["table", OWN], var_name="predictor", value_name="accuracy")
    low = float(min(long["accuracy"].min(), long[OWN].min()))
    x = alt.X(f"{OWN}:Q", title="accuracy of the kernel machine").scale(domain=(low, 1))
    y = alt.Y("accuracy:Q", title="accuracy of the other").scale(domain=(low, 1))
    ends = pd.DataFrame({OWN: [low, 1.0], "accuracy": [low, 1.0]})
    points = (
        alt.Chart(long).mark_point(filled=True).encode(x=x, y=y, color="predictor:N", tooltip=["table", "predictor"])
    )
    tables = points + alt.Chart(ends).mark_line(strokeDash=[4, 4], color="gray").encode(x=x, y=y)
    images = table[table["kind"] == "images"].melt(["n"], [OWN, "network"], "predictor", "accuracy")
    curve = (
        alt.Chart(images)
        .mark_line(point=True)
        .encode(
            x=alt.X("n:Q", title="training images").scale(type="log"),
            y=alt.Y("mean(accuracy):Q", title="accuracy, mean over draws"),
            color="predictor:N",
        )
    )
    both: alt.TopLevelMixin = tables.properties(title="tables") | curve.properties(title="CIFAR-10, 8×8")
    return both

"""How many steps the true labels take, by number of clusters, at one rate for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Claim, Metrics, Paper, Point, near
from priorscope.papers.early_stopping import _stopping_measures as measure
from priorscope.papers.early_stopping import _stopping_runs as runs
from priorscope.papers.early_stopping._source import SOURCE

if TYPE_CHECKING:
    import altair as alt

RATE = 0.05  # of wrong labels, below the theorem's 1/16
CLUSTERS = (6, 12, 24)
SIZES = {"tiny": (20, 30, 2), "small": (400, 300, 8), "paper": (2000, 1000, 20)}  # width, steps, seeds


def grid(scale: str) -> list[Point]:
    """One point per number of clusters and draw; steps of size one on the mean loss, whatever the number of clusters."""
    width, steps, seeds = SIZES[scale]
    common = {"kind": "steps", "rate": RATE, "learning_rate": 1.0, "width": width, "steps": steps}
    return [{**common, "clusters": L, "seed": s} for L in CLUSTERS for s in range(seeds)]


def run(point: Point) -> Metrics:
    """Distances to the true labels along gradient descent on labels some of which are wrong."""
    return runs.measure(point)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """The distance to the true labels along the steps, by number of clusters (mean over draws)."""
    import altair as alt

    rows = [
        {"clusters": str(int(r["clusters"])), "step": float(t), "distance": float(d)}
        for r in table.to_dict("records")
        for t, d in zip(np.asarray(r["steps_at"])[1:], np.asarray(r["distance"])[1:], strict=True)
    ]
    drawn: alt.TopLevelMixin = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line()
        .encode(
            x=alt.X("step:Q", title="step of gradient descent").scale(type="log"),
            y=alt.Y("mean(distance):Q", title="distance to the true labels"),
            color=alt.Color("clusters:N", title="clusters", sort=None),
        )
        .properties(width=340, height=220)
    )
    return drawn


CLAIMS = (
    Claim(
        "O.17",
        f"{SOURCE}, theorem on robustness",
        "at one rate for all, the number of steps until the true labels are learnt grows like the number of clusters",
        measure=measure.steps_exponent,
        expect=near(1, within=0.3),
        changes="the step at which half the way to the true labels is gone; the factor log(1/ρ) and constants are not tested",
    ),
)

PAPER = Paper("early-stopping-steps", "How long the true labels take", SOURCE, 1, grid, run, CLAIMS, chart)

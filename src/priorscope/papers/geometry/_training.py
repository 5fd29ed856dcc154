"""Fig. 3: networks hardly move, and hardly learn, on data that their geometry does not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from priorscope.lab import Paper, Point
from priorscope.papers.geometry._along import along, curves, lines
from priorscope.papers.geometry._sizes import SOURCE, models_of, sizes, width_of
from priorscope.papers.geometry._training_claims import FLIP

if TYPE_CHECKING:
    import altair as alt


def grid(scale: str) -> list[Point]:
    """Models × Gaussian data of covariance G or flip(G) with random labels × repeats."""
    epochs = {"tiny": 2, "small": 100, "paper": 100}[scale]
    networks = {"tiny": 2, "small": 2, "paper": 25}[scale]
    points: list[Point] = []
    for seed in range({"tiny": 1, "small": 8, "paper": 5}[scale]):
        for m in models_of(scale)[:2] if scale == "tiny" else ("mlp", "lenet", "resnet"):
            deep = m == "resnet"  # 1,500 steps and one network at the small scale: 23 ms per step
            rounds = {"small": 75, "paper": 50}[scale] if deep else epochs
            flip = {"part": "flip", "model": m, "width": width_of(m, scale), **sizes(scale), "learning_rate": 0.1}
            flip |= {"epochs": rounds, "networks": 1 if deep and scale == "small" else networks, "seed": seed}
            points += [{**flip, "data": covariance} for covariance in ("G", "flip")]
    return points


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Training accuracy and velocity of the geometry on G and flip(G) data, one panel per model."""
    import altair as alt

    both = alt.vconcat(
        lines(curves(table, {"accuracy": ""}), "training accuracy"),
        lines(curves(table, {"velocity": ""}), "velocity of G"),
    )
    heading = alt.Title(
        "Random labels on seen and unseen directions", subtitle="mean and standard deviation over repeats"
    )
    return both.properties(title=heading)


PAPER = Paper(
    "geometry-training", "Networks hardly train on directions they do not see", SOURCE, 4, grid, along, FLIP, chart
)

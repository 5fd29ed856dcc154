"""Fig. 2: early in training the geometry turns towards GSG, more than towards S."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from priorscope.lab import Paper, Point
from priorscope.papers.geometry._along import along, curves, lines
from priorscope.papers.geometry._sizes import SOURCE, models_of, sizes, width_of
from priorscope.papers.geometry._training_claims import ALIGNMENT

if TYPE_CHECKING:
    import altair as alt


def grid(scale: str) -> list[Point]:
    """Models × repeats: gradient descent on the whole training set, as many steps as published."""
    epochs, repeats, networks = {"tiny": (2, 1, 2), "small": (100, 8, 5), "paper": (100, 5, 25)}[scale]
    common = {**sizes(scale), "learning_rate": 0.1}
    names = models_of(scale)[:2] if scale == "tiny" else models_of(scale)
    points: list[Point] = []
    for seed in range(repeats):
        for m in names:
            base = {"part": "alignment", "model": m, "width": width_of(m, scale), **common, "batch": common["n_train"]}
            images = "digits" if scale == "tiny" else "cifar2"
            points.append({**base, "data": images, "epochs": epochs, "networks": networks, "seed": seed})
    return points


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Correlations of the geometry with GSG and with S along training, one panel per model."""
    import altair as alt

    panels = lines(curves(table, {"corr_gsg": "Corr(Gᵗ, GSG)", "corr_s": "Corr(Gᵗ, S)"}), "correlation")
    chart: alt.TopLevelMixin = panels.properties(
        title=alt.Title("The geometry turns", subtitle="mean and standard deviation over repeats")
    )
    return chart


PAPER = Paper("geometry-alignment", "The geometry turns towards the data", SOURCE, 1, grid, along, ALIGNMENT, chart)

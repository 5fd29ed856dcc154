"""Relative stability before training: many networks, which cost nothing, for the statements about initialisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Metrics, Paper, Point, at_most
from priorscope.papers.diffeomorphisms import _stability_measures as measure
from priorscope.papers.diffeomorphisms._runs import ARCHITECTURES, data_of, measure_stability
from priorscope.papers.diffeomorphisms._source import SOURCE

if TYPE_CHECKING:
    import altair as alt

SIZES: dict[str, Point] = {
    "tiny": {"data": ["templates"], "models": ["dense-4"], "seeds": 2, "n_test": 60},
    "small": {
        "data": ["mnist", "fashion-mnist", "cifar10"],
        "models": ["dense-4", "lenet", "residual-stride-bn"],
        "seeds": 24,
        "n_test": 500,
    },
    "paper": {
        "data": ["mnist", "fashion-mnist", "cifar10"],
        "models": ["dense-4", "lenet", "resnet18"],
        "seeds": 16,
        "n_test": 10_000,
    },
}


def grid(scale: str) -> list[Point]:
    """One point per network: data set, architecture, seed."""
    size = SIZES[scale]
    return [
        {"data": data, "model": model, "n_train": 1000, "n_test": size["n_test"], "seed": seed}
        for data in size["data"]
        for model in size["models"]
        for seed in range(size["seeds"])
    ]


def run(point: Point) -> Metrics:
    """D and G of every layer of a new network, on 500 test images; the training images only standardise them."""
    data, seed = data_of(point), int(point["seed"])
    network = ARCHITECTURES[point["model"]]().network(data.input_shape, None, data.n_outputs, seed)
    return {"start": measure_stability(network, data, seed, layers=True).values[0]}  # (layers, 2)


def starts(table: pd.DataFrame) -> pd.DataFrame:
    """R of the output at the start, and the factor by which the layer that is farthest differs from one."""
    layers = [np.asarray(start, float) for start in table.start]
    far = [float(np.exp(np.abs(measure.log_R(values)[1]).max())) for values in layers]
    return table.assign(R0=[values[-1, 0] / values[-1, 1] for values in layers], far=far)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """R of every network at the start, one panel per data set, with the factor of two that is judged."""
    import altair as alt

    frame = starts(table)[["data", "model", "R0"]]
    base = alt.Chart(frame)
    points = base.mark_point(filled=True, opacity=0.5).encode(
        alt.X("model:N", title=None), alt.Y("R0:Q", title="relative stability R at the start").scale(type="log")
    )
    lines = [
        base.mark_rule(strokeDash=dash).encode(y=alt.datum(at))
        for at, dash in ((1, [1, 0]), (2, [4, 4]), (0.5, [4, 4]))
    ]
    drawn: alt.TopLevelMixin = alt.layer(points, *lines).properties(width=150, height=200).facet("data:N", columns=3)
    return drawn


CLAIMS = (
    Claim(
        "D.4",
        f"{SOURCE}, Figs. 3 and 4",
        "at initialisation networks are as sensitive to deformations as to noise: R is about one for all data and networks",
        measure=lambda table: measure.distance_from_one(starts(table), "R0"),
        expect=at_most(2),
        reach=("model",),
    ),
    Claim(
        "D.9",
        f"{SOURCE}, Fig. 14",
        "R is about one at all depths at initialisation",
        checks=(
            Check(
                "factor from one of the layer that is farthest, mean over networks",
                lambda table: measure.distance_from_one(starts(table), "far"),
                at_most(2),
            ),
        ),
        reach=("model",),
    ),
)

PAPER = Paper(
    "diffeo-start", "Before training, deformations matter as much as noise", SOURCE, 1, grid, run, CLAIMS, chart
)

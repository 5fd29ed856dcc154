"""App. A.8: what the geometry does not see stays unlearnt with more data, few parameters, and at any learning rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from priorscope.lab import Metrics, Paper, Point
from priorscope.papers.geometry._along import along, two_directions
from priorscope.papers.geometry._sizes import SOURCE, models_of, sizes, width_of
from priorscope.papers.geometry._training_claims import VARIATIONS

if TYPE_CHECKING:
    import altair as alt

RATES = {1.0: 30, 0.1: 60, 0.01: 100, 0.001: 300}  # learning rate: epochs, more where steps are small


def grid(scale: str) -> list[Point]:
    """LeNet on twice the data, LeNet with few parameters, a residual network at four learning rates; repeats."""
    common = {**sizes(scale), "learning_rate": 0.1}
    n, batch = common["n_train"], common["batch"]
    rounds, rates = (2, {0.1: 2}) if scale == "tiny" else ({"small": 300, "paper": 100}[scale], RATES)
    points: list[Point] = []
    for seed in range({"tiny": 1, "small": 5, "paper": 5}[scale]):
        lenet = {"model": "lenet", **common, "seed": seed}
        # three times the epochs: in as many steps as on half of the data LeNet did not fit
        more = {"part": "data size", "n_train": 2 * n, "batch": 2 * batch, "width": 6, "epochs": rounds, "networks": 1}
        points += [{**lenet, **more, "data": covariance} for covariance in ("G", "flip")]
        tight = {"part": "few parameters", "n_train": 4 * n, "batch": 4 * batch, "width": 2, "epochs": min(60, rounds)}
        points.append({**lenet, **tight, "data": "linear"})  # about one sample per parameter
        third = models_of(scale)[2]
        rate = {"part": "rate", "model": third, "width": width_of(third, scale), **common, "data": "linear"}
        points += [{**rate, "learning_rate": step, "epochs": e, "seed": seed} for step, e in rates.items()]
    return points


def run(point: Point) -> Metrics:
    """The geometry along training on random labels, or accuracies along the first and the last eigenvector."""
    return along(point) if point["part"] == "data size" else two_directions(point)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Test accuracy along the first and the last eigenvector, one column per variation and point per repeat; chance dashed."""
    import altair as alt

    rows = table[table.part != "data size"]
    names = [
        "few parameters" if part == "few parameters" else f"rate {rate:g}"
        for part, rate in zip(rows.part, rows.learning_rate)
    ]
    ends = {"test_top": "first eigenvector", "test_bottom": "last eigenvector"}
    long = rows.assign(variation=names)[["variation", "seed", *ends]].melt(
        ["variation", "seed"], list(ends), "along", "accuracy"
    )
    long["along"] = long["along"].map(ends)
    y = alt.Y("accuracy:Q", title="test accuracy", scale=alt.Scale(domain=[0.4, 1.02]))
    x = alt.X("variation:N", title=None, axis=alt.Axis(labelAngle=-30))
    base = alt.Chart(long)
    points = base.mark_point(filled=True, size=45).encode(
        x, y, alt.Color("along:N", title=None), alt.XOffset("along:N")
    )
    chance = base.mark_rule(strokeDash=[4, 4], color="grey").encode(y=alt.datum(0.5))
    chart: alt.TopLevelMixin = (chance + points).properties(width=420, height=240)
    return chart


PAPER = Paper("geometry-variations", "The ordering stays under variations", SOURCE, 1, grid, run, VARIATIONS, chart)

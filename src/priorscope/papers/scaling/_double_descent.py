"""Double descent: the test error peaks where the network just fits its training set, and early stopping erases the peak."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from priorscope.inference import train_hinge
from priorscope.lab import Metrics, Paper, Point
from priorscope.models import plain_network
from priorscope.papers.jamming._images import counts, parity
from priorscope.papers.scaling._double_descent_claims import CLAIMS, SOURCE
from priorscope.papers.scaling._double_descent_measures import star_of

if TYPE_CHECKING:
    import altair as alt

DIM, MARGIN = 10, 1.0
SIZES: dict[str, Point] = {
    "tiny": {
        "common": {"data": "digits", "n_test": 400, "steps": 800, "depth": 2, "rate": 3e-3},
        "n_train": 80,
        "widths": [1, 4, 16],
        "norm": (4, [60]),
        "seeds": 2,
    },
    "small": {
        "common": {"data": "mnist", "n_test": 10_000, "steps": 40_000, "depth": 2, "rate": 1e-3},
        "n_train": 1000,
        "widths": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 22, 30, 60, 120],
        "norm": (10, [400, 600, 700, 800, 850, 900, *range(940, 1461, 40)]),  # twenty, most of them near P*
        "seeds": 8,
    },
    "paper": {
        "common": {"data": "mnist", "n_test": 20_000, "steps": 500_000, "depth": 5, "rate": 1e-4},
        "n_train": 50_000,
        "widths": [1, 2, 3, 5, 8, 10, 13, 16, 18, 20, 22, 24, 26, 28, 30, 33, 36, 40, 50, 70, 100, 300, 1000, 3000],
        "norm": (25, [10_000, 15_000, 20_000, 22_000, 24_000, 26_000, 28_000, 30_000, 35_000]),
        "seeds": 5,
    },
}


def grid(scale: str) -> list[Point]:
    """All widths at one number of patterns, then all numbers of patterns at one width."""
    size = SIZES[scale]
    width, sizes = size["norm"]
    shapes = [("width", h, size["n_train"]) for h in size["widths"]] + [("norm", width, n) for n in sizes]
    return [
        {"part": part, "width": h, "n_train": n, **size["common"], "seed": seed}
        for part, h, n in shapes
        for seed in range(size["seeds"])
    ]


def run(point: Point) -> Metrics:
    """Train one network by full-batch Adam at a constant rate; test error along the way, norm of the output at the end."""
    train, test = parity(point["data"], point["n_train"], point["n_test"], point["seed"], DIM)
    net = plain_network(DIM, point["width"], point["depth"], seed=point["seed"], gain=MARGIN)
    steps, errors = [], []

    @torch.no_grad()
    def look(step: int) -> None:
        steps.append(step)
        errors.append(float((net(test.inputs) * test.targets <= 0).double().mean()))

    watched = sorted({int(s) for s in np.geomspace(10, point["steps"], 60)})
    used = train_hinge(
        net,
        train.inputs,
        train.targets,
        point["steps"],
        stages=[(point["rate"], 1.0)],
        margin=MARGIN,
        watch=look,
        watch_at=watched,
    )
    look(used)
    with torch.no_grad():
        norms = {f"norm_{name}": float(net(s.inputs).square().mean().sqrt()) for name, s in zip(_SIDES, (train, test))}
    return (
        counts(net, train, MARGIN)
        | norms
        | {
            "used": used,
            "final": errors[-1],
            "best": min(errors),  # along training, seen on the test set: an oracle's early stop
            "times": np.array(steps),
            "errors": np.array(errors),
        }
    )


_SIDES = ("train", "test")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Test error at the end and at its lowest along training against N; norm of the output; the transition dashed.

    Networks that died in training, whose output is zero everywhere, are left out (some of width one).
    """
    import altair as alt

    rows = table[(table.part == "width") & (table.norm_test > 1e-3)]
    long = rows.melt(["n_weights", "seed"], ["final", "best"], "which", "error")
    long = long.assign(which=long.which.map({"final": "end of training", "best": "best along training"}))
    means = long.groupby(["n_weights", "which"], as_index=False).error.mean()
    x = alt.X("n_weights:Q", title="number of weights N", scale=alt.Scale(type="log", nice=False))
    y = alt.Y("error:Q", title="test error", scale=alt.Scale(zero=False), axis=alt.Axis(format="%"))
    colour = alt.Color("which:N", title=None, sort=["end of training", "best along training"])
    dash = alt.StrokeDash("which:N", legend=None, sort=["end of training", "best along training"])
    left = alt.Chart(means).mark_line().encode(x, y, colour, dash)
    left += alt.Chart(long).mark_point(filled=True, size=18, opacity=0.6).encode(x, y, colour)
    norms = rows[["n_weights", "norm_test"]]
    up = alt.Y("norm_test:Q", title="norm of the output on test points", scale=alt.Scale(type="log", nice=False))
    right = alt.Chart(norms).mark_point(filled=True, size=18, opacity=0.6).encode(x, up)
    line = norms.groupby("n_weights", as_index=False).norm_test.mean()
    right += alt.Chart(line).mark_line().encode(x, up)
    star = star_of(table[table.part == "width"])
    if np.isfinite(star):
        rule = alt.Chart(pd.DataFrame({"n_weights": [star]})).mark_rule(strokeDash=[4, 4], opacity=0.7).encode(x)
        left, right = left + rule, right + rule
    return alt.hconcat(left.properties(width=340), right.properties(width=280))


PAPER = Paper(
    name="double-descent",
    title="The test error peaks at the jamming point",
    source=SOURCE,
    version=3,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
)

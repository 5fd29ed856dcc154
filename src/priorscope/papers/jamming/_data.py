"""Jamming on structured data: parity of MNIST's digits on ten principal components, against random labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.inference import train_hinge
from priorscope.lab import Metrics, Paper, Point
from priorscope.models import plain_network
from priorscope.papers.jamming._claims import SOURCE
from priorscope.papers.jamming._data_claims import CLAIMS
from priorscope.papers.jamming._images import MARGIN, counts, patterns

if TYPE_CHECKING:
    import altair as alt

DIM = 10
# of each scale: steps and depth of the search; (data, P, widths of the search, seeds); of the jump the data, width, ratios
# P/N, seeds, and its steps: near the transition runs are slow
SIZES: dict[str, Point] = {
    "tiny": {
        "steps": 1500,
        "depth": 2,
        "star": [("digits", 60, [1, 2, 4, 8, 12], 1), ("random", 60, [2, 4, 8, 12, 16], 1)],
        "jump": ("digits", 3, [2.0, 9.0], 2, 1500),
    },
    "small": {
        "steps": 40_000,
        "depth": 2,
        "star": [
            ("random", 4000, [26, 28, 30, 32, 34, 36, 38], 8),
            ("random", 2000, [16, 18, 20, 22, 24, 26, 28], 8),
            ("random", 1000, [9, 10, 12, 14, 16, 18, 20], 8),
            ("random", 500, [6, 7, 8, 9, 10, 12, 14], 8),
            ("mnist", 4000, [11, 12, 14, 16, 18, 20, 22], 8),
            ("mnist", 2000, [8, 9, 10, 11, 12, 14, 16], 8),
            ("mnist", 1000, [5, 6, 7, 8, 9, 10, 12], 8),
            ("mnist", 500, [3, 4, 5, 6, 7, 8, 10], 8),
        ],
        "jump": ("mnist", 8, [5.0, 5.5, 6.0, 6.5, 7.0, 7.5, 8.0, 8.5, 9.0], 8, 100_000),
    },
    "paper": {
        "steps": 2_000_000,
        "depth": 5,
        "star": [
            (data, n, [*range(3, 20), *range(20, 60, 2), *range(60, 160, 6)], 3)
            for data in ("random", "mnist")
            for n in (500, 1000, 5000, 10_000, 50_000)
        ],
        "jump": ("mnist", 30, [8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 17.0], 4, 3_000_000),
    },
}


def grid(scale: str) -> list[Point]:
    """Searches for N* (the longest first), then runs over P/N at one width."""
    size = SIZES[scale]
    depth = size["depth"]
    points = [
        {
            "part": "star",
            "data": data,
            "n_train": n,
            "widths": widths,
            "depth": depth,
            "steps": size["steps"],
            "seed": seed,
        }
        for data, n, widths, seeds in size["star"]
        for seed in range(seeds)
    ]
    data, width, ratios, seeds, steps = size["jump"]
    weights = (DIM + 1) * width + (depth - 1) * width**2
    for ratio in ratios:
        n = round(ratio * weights / 2) * 2
        same = {"part": "jump", "data": data, "n_train": n, "widths": [width], "depth": depth, "steps": steps}
        points += [{**same, "seed": seed} for seed in range(seeds)]
    return points


def run(point: Point) -> Metrics:
    """Bisection over the widths for one seed, or one run at one width; counts of every network that was trained."""
    data = patterns(point["data"], point["n_train"], point["seed"], DIM)
    done: dict[int, Point] = {}

    def fits(width: int) -> bool:
        net = plain_network(DIM, width, point["depth"], seed=point["seed"], gain=MARGIN)
        n = (DIM + 1) * width + (point["depth"] - 1) * width**2
        enough = int(0.1 * n) if point["part"] == "star" else 0  # the papers' rule for N*
        used = train_hinge(net, data.inputs, data.targets, point["steps"], enough=enough)
        found = counts(net, data, MARGIN)
        done[width] = found | {"used": used}
        return bool(found["overlap_ratio"] < 0.1)

    ladder = point["widths"]
    if point["part"] == "jump":
        fits(ladder[0])
        return done[ladder[0]]
    low, high = -1, len(ladder)  # both ends are taken on trust until the search reaches them
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(ladder[middle]) else (middle, high)
    inside = low >= 0 and high < len(ladder)
    star = np.sqrt(done[ladder[low]]["n_weights"] * done[ladder[high]]["n_weights"]) if inside else float("nan")
    widths = sorted(done)
    return {
        "n_star": float(star),
        "searched": widths,
        "overlap_ratios": np.array([done[w]["overlap_ratio"] for w in widths]),
        "losses": np.array([done[w]["loss"] for w in widths]),
        "used": np.array([done[w]["used"] for w in widths]),
    }


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """N* against P for both kinds of data under the bound N* = 4P, and the jump of N_Δ/N over P/N."""
    import altair as alt

    stars = table[table.part == "star"][["data", "n_train", "n_star"]].dropna()
    names = {"random": "random labels", "mnist": "MNIST, 10 components", "digits": "digits, 10 components"}
    stars = stars.assign(data=stars.data.map(names))
    bound = pd.DataFrame({"n_train": sorted(set(table[table.part == "star"].n_train))})
    bound = bound.assign(n_star=4 * bound.n_train, data="bound 4P")
    ticks = alt.Axis(values=sorted({int(n) for n in bound.n_train}))
    x = alt.X("n_train:Q", title="patterns P", scale=alt.Scale(type="log", nice=False, padding=20), axis=ticks)
    y = alt.Y("n_star:Q", title="weights at the transition N*", scale=alt.Scale(type="log"))
    colour = alt.Color("data:N", title=None, legend=alt.Legend(symbolOpacity=1))
    left = (
        alt.Chart(stars).mark_point(filled=True, size=45).encode(x, y, colour)
        + alt.Chart(stars).mark_line(opacity=0.5).encode(x, alt.Y("mean(n_star):Q"), colour)
        + alt.Chart(bound).mark_line(strokeDash=[4, 4]).encode(x, y, colour)
    )
    jump = table[table.part == "jump"]
    jump = pd.DataFrame({"ratio": jump.n_train / jump.n_weights, "overlap": jump.overlap_ratio, "loss": jump.loss})
    points = alt.Chart(jump).mark_point(filled=True, size=45)
    up = alt.Y("overlap:Q", title="unsatisfied patterns per weight N_Δ/N")
    right = points.encode(alt.X("ratio:Q", title="patterns per weight P/N", scale=alt.Scale(zero=False)), up)
    half = alt.Chart(pd.DataFrame({"overlap": [0.5]})).mark_rule(strokeDash=[4, 4], opacity=0.6).encode(y="overlap:Q")
    return alt.hconcat(left.properties(width=320), (right + half).properties(width=320))


PAPER = Paper(
    name="jamming-data",
    title="Structured data jam later than random data",
    source=SOURCE,
    version=2,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
)

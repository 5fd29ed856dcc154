"""Fig. 3 of Spherical CNNs: how far layers are from commuting with rotations, by bandwidth, depth and nonlinearity."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, at_most, below, between, rising
from priorscope.papers._over_draws import highest, over_draws, where
from priorscope.papers.equivariance._source import SPHERES
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt

CHANNELS = 10  # K of section 5.1
SIZES: dict[str, tuple[tuple[int, ...], tuple[int, ...], int]] = {
    "tiny": ((2, 3), (1, 2), 2),
    "small": ((4, 6, 8, 12), (1, 2, 4), 64),
    "paper": ((5, 10, 20, 30), (1, 2, 4, 8), 500),
}


def grid(scale: str) -> list[Point]:
    """Bandwidths × depths × ReLU or none × precision, each over draws of network, noise and rotation."""
    bands, depths, draws = SIZES[scale]
    cells = [("none", "float32"), ("none", "float64"), ("relu", "float32")]
    return [
        {"bandwidth": b, "depth": depth, "nonlinearity": kind, "precision": precision, "seed": s}
        for b in bands
        for depth in depths
        for kind, precision in cells
        for s in range(draws)
    ]


def run(point: Point) -> Metrics:
    """One draw of Δ = std(L_R Φ(f) - Φ(L_R f)) / std(Φ(f)), on white noise, filters on the equator."""
    import torch

    from priorscope.data import random_rotations
    from priorscope.models import spheres

    b, seed = point["bandwidth"], point["seed"]
    dtype = {"float32": torch.float32, "float64": torch.float64}[point["precision"]]
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        layers: list[torch.nn.Module] = []
        for _ in range(point["depth"]):
            layers.append(spheres.SO3Correlation(CHANNELS, CHANNELS, b, b, points=spheres.ring_filter(2 * b)))
            layers += [torch.nn.ReLU()] if point["nonlinearity"] == "relu" else []
        network = torch.nn.Sequential(*layers).to(dtype)
        f = torch.randn(1, CHANNELS, 2 * b, 2 * b, 2 * b, dtype=dtype)
        R = random_rotations(1, seed)[0]
        out = network(f)
        difference = spheres.rotate_so3(out, R) - network(spheres.rotate_so3(f, R))
    return {"error": float(difference.std() / out.std())}


def cell(table: pd.DataFrame, nonlinearity: str, precision: str = "float32") -> pd.DataFrame:
    """The rows of one kind."""
    rows = where(table, nonlinearity=nonlinearity, precision=precision)
    return rows


def largest(table: pd.DataFrame, precision: str) -> Measured:
    """The largest mean error without ReLU over bandwidths and depths."""
    found: dict[str, Interval] = {}
    for (b, depth), rows in cell(table, "none", precision).groupby(["bandwidth", "depth"]):
        found[f"b = {b}, {depth} layers"] = over_draws(rows["error"])
    return highest(found)


def growth(table: pd.DataFrame, along: str, nonlinearity: str) -> Interval:
    """The slope of log error in log ``along``, the other coordinate averaged, over draws."""
    other = "depth" if along == "bandwidth" else "bandwidth"
    rows = cell(table, nonlinearity).assign(log=lambda t: np.log(t["error"]))
    wide = rows.pivot_table(index=["seed", other], columns=along, values="log").groupby("seed").mean()
    x = np.log(wide.columns.to_numpy(float))
    if len(x) < 2:
        raise NotMeasured(f"one {along} has no slope")
    return over_draws([float(np.polyfit(x, row, 1)[0]) for row in wide.to_numpy()])


def level(table: pd.DataFrame) -> Interval:
    """The mean error with ReLU over all bandwidths and depths."""
    return over_draws(cell(table, "relu").groupby("seed")["error"].mean())


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Error against bandwidth on log axes, one line per depth, one panel per kind."""
    import altair as alt

    kinds = {"none": "no nonlinearity", "relu": "ReLU"}
    named = table.assign(kind=[f"{kinds[k]}, {p}" for k, p in zip(table["nonlinearity"], table["precision"])])
    drawn: alt.Chart = (
        alt.Chart(named[["bandwidth", "depth", "kind", "error"]])
        .mark_line(point=True)
        .encode(
            x=alt.X("bandwidth:Q", title="bandwidth b"),
            y=alt.Y("mean(error):Q", title="equivariance error Δ").scale(type="log"),
            color=alt.Color("depth:O", title="layers"),
            column=alt.Column("kind:N", title=None),
        )
        .properties(width=180, height=180)
    )
    return drawn


CLAIMS = (
    Claim(
        "Q.1",
        f"{SPHERES}, section 5.1, Fig. 3",
        "without nonlinearity, layers commute with rotations up to rounding at every bandwidth and depth",
        checks=(
            Check("largest error, single precision", partial(largest, precision="float32"), below(1e-5)),
            Check("largest error, double precision", partial(largest, precision="float64"), below(1e-12)),
        ),
    ),
    Claim(
        "Q.2",
        f"{SPHERES}, section 5.1, Fig. 3",
        "without nonlinearity the error grows with the bandwidth and with the number of layers",
        checks=(
            Check("slope in the bandwidth", partial(growth, along="bandwidth", nonlinearity="none"), rising()),
            Check("slope in the depth", partial(growth, along="depth", nonlinearity="none"), rising()),
        ),
    ),
    Claim(
        "Q.3",
        f"{SPHERES}, section 5.1, Fig. 3",
        "with ReLU the error is higher but stays flat as the bandwidth and the depth grow",
        checks=(
            Check("mean error with ReLU", level, between(1e-2, 1.0)),
            Check(
                "slope in the bandwidth", partial(growth, along="bandwidth", nonlinearity="relu"), between(-0.1, 0.1)
            ),
            Check("slope in the depth", partial(growth, along="depth", nonlinearity="relu"), at_most(0.1)),
        ),
        changes="the levels of the figure are lost in our copy; flat means an exponent of at most 0.1",
    ),
)

PAPER = Paper(
    "equivariance-error", "How well spherical layers commute with rotations", SPHERES, 2, grid, run, CLAIMS, chart
)

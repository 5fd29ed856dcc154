"""Spectral bias outside the training set: a network follows its kernel's eigenfunctions, and where it stops doing so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Metrics, Paper, Point
from priorscope.papers.spectral_bias._claims import CLAIMS, SOURCE
from priorscope.papers.spectral_bias._runs import (
    run_antisymmetric,
    run_concentration,
    run_dynamics,
    run_identity,
    run_smoothness,
)

if TYPE_CHECKING:
    import altair as alt

NETWORKS = ("fc", "conv", "residual")
RUNS = {
    "identity": run_identity,
    "concentration": run_concentration,
    "antisymmetric": run_antisymmetric,
    "dynamics": run_dynamics,
    "smoothness": run_smoothness,
}
WIDTHS = {"tiny": (16, 32, 64), "small": (32, 64, 128, 256, 512), "paper": (64, 128, 256, 512, 1024, 2048)}
DRAWS = {"tiny": 3, "small": 12, "paper": 32}
JOINT = {"tiny": ((16, 32), 2), "small": ((64, 128, 256, 512), 5), "paper": ((128, 256, 512, 1024, 2048, 4096), 10)}
LARGEST = {"tiny": (48, 128, 2, 0.1), "small": (512, 3000, 16, 0.5), "paper": (4096, 16000, 10, 1.0)}
POWERS = (1.5, 2.0, 2.5, 4.0, 5.0)


def grid(scale: str) -> list[Point]:
    """Points of every kind; widths, draws and sizes grow with the scale."""
    points: list[Point] = []
    small = {"tiny": (16, 8, 1), "small": (64, 20, 3), "paper": (256, 50, 10)}[scale]
    for network in NETWORKS:
        for seed in range(small[2]):
            for kind in ("identity", "antisymmetric"):
                points.append({"kind": kind, "network": network, "width": small[0], "n": small[1], "seed": seed})
        for width in WIDTHS[scale]:
            for seed in range(DRAWS[scale]):
                points.append({"kind": "concentration", "network": network, "width": width, "n": 24, "seed": seed})
    width, n, draws, units = LARGEST[scale]
    for seed in range(draws):
        points.append({"kind": "dynamics", "width": width, "n": n, "units": units, "seed": seed})
    for width in JOINT[scale][0]:
        for seed in range(JOINT[scale][1]):
            points.append({"kind": "dynamics", "width": width, "n": width, "units": units, "seed": seed})
    size = {"tiny": 2048, "small": 16384, "paper": 65536}[scale]
    points += [{"kind": "smoothness", "power": power, "n": size, "seed": 0} for power in POWERS]
    return points


def run(point: Point) -> Metrics:
    """One point, by its kind."""
    return RUNS[point["kind"]](point)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Left: projections (points) and their ideal decay (lines) at the largest sizes. Right: kernel distance by width."""
    import altair as alt

    part = table[table.kind == "dynamics"]
    part = part[part.n == part.n.max()]
    rows = []
    for row in part.itertuples():
        measured, ideal = np.asarray(row.projections), np.asarray(row.ideal)
        for i in range(measured.shape[1]):
            for t, a, b in zip(np.asarray(row.times), measured[:, i], ideal[:, i]):
                rows.append(
                    {"seed": row.seed, "mode": i + 1, "time": t, "measured": a / ideal[0, i], "ideal": b / ideal[0, i]}
                )
    lines = pd.DataFrame(rows)
    colour = alt.Color("mode:O", title="mode i", scale=alt.Scale(scheme="viridis"))
    base = alt.Chart(lines).encode(alt.X("time:Q", title="time t"), colour)
    title = "share of ⟨r_t, φ_i⟩ left"
    decay = base.mark_line().encode(alt.Y("ideal:Q", title=title)) + base.mark_point(filled=True, size=20).encode(
        alt.Y("measured:Q", title=title)
    )
    distances = table[table.kind == "concentration"][["network", "width", "distance"]]
    log = alt.Scale(type="log")
    points = (
        alt.Chart(distances)
        .mark_point(filled=True, size=20)
        .encode(
            alt.X("width:Q", scale=log, title="width m"),
            alt.Y("distance:Q", scale=log, title="‖K_0 − K^∞‖ / ‖K^∞‖"),
            alt.Color("network:N"),
        )
    )
    chart: alt.TopLevelMixin = alt.hconcat(decay, points).resolve_scale(color="independent")
    return chart


PAPER = Paper(
    name="spectral-bias",
    title="Spectral bias outside the training set for deep networks in the kernel regime",
    source=SOURCE,
    version=2,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
)

"""Lazy and feature training: kernel, weights, time scale and predictions over ten decades of the output scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Paper, Point
from priorscope.papers.lazy_feature._claims import CLAIMS, SOURCE
from priorscope.papers.lazy_feature._runs import run

if TYPE_CHECKING:
    import altair as alt

RESCALED = [1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e5]
SIZES: dict[str, Point] = {
    "tiny": {
        "n_train": 10,
        "n_test": 100,
        "rescaled": [1e-3, 1e-2, 1.0, 1e2, 1e5],
        "max_turn": 1e-2,
        "max_steps": 1000,
        "sweeps": [(2, 6, 2), (2, 12, 2)],  # depth, width, seeds
        "unit": [(2, 8, 2), (2, 16, 2)],
        "init": [(3, 8, 3), (3, 16, 3)],
        "offset": [(2, 8, 2)],
    },
    "small": {
        "n_train": 100,
        "n_test": 800,
        "rescaled": RESCALED,
        "max_turn": 1e-3,
        "max_steps": 6000,
        "sweeps": [(2, 16, 16), (2, 32, 16), (2, 64, 16), (2, 128, 16), (1, 64, 8), (3, 64, 8)],
        "unit": [(2, 64, 8), (2, 128, 8), (2, 256, 8), (2, 512, 8)],
        "init": [(3, 32, 32), (3, 64, 32), (3, 128, 32), (3, 256, 32), (3, 512, 32)],
        "offset": [(2, 50, 8)],
    },
    "paper": {
        "n_train": 1000,
        "n_test": 797,
        "rescaled": [1e-5, *RESCALED],
        "max_turn": 1e-4,
        "max_steps": 100_000,
        "sweeps": [(3, 30, 20), (3, 100, 20), (3, 300, 20), (3, 1000, 20), (1, 100, 10), (2, 100, 10), (5, 100, 10)],
        "unit": [(3, 100, 10), (3, 300, 10), (3, 1000, 10)],
        "init": [(5, 32, 20), (5, 128, 20), (5, 512, 20), (5, 2048, 20)],
        "offset": [(3, 100, 10)],
    },
}


def grid(scale: str) -> list[Point]:
    """One point per network shape: all seeds, and in a sweep all output scales, are trained in one flow."""
    size = SIZES[scale]
    points = []
    for part, key in (("init", "init"), ("offset", "offset"), ("unit", "unit"), ("sweep", "sweeps")):
        for depth, width, seeds in size[key]:
            point = {"part": part, "depth": depth, "width": width, "seeds": seeds, "seed": 0}
            point |= {name: size[name] for name in ("n_train", "n_test", "max_turn", "max_steps")}
            if part == "sweep":
                point["rescaled"] = size["rescaled"]
            if part == "offset":
                point["alpha"] = 10.0
            points.append(point)
    return points


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Change of the kernel, time scale, error and variance times h against the rescaled output scale, widths on one axis."""
    import altair as alt

    names = {"kernel_change": "change of the kernel", "half_time": "time to half the loss", "error": "test error"}
    spread = "variance of the predictor times h"
    rows = []
    for _, row in table[table.part == "sweep"].iterrows():
        network, at = f"L = {row.depth}, h = {row.width}", np.asarray(row.rescaled, dtype=float)
        for scale, members in zip(at, np.asarray(row.deviation, dtype=float)):
            rows.append({"of": spread, "network": network, "at": scale, "value": row.width * members.mean()})
        for name, label in names.items():
            values = np.asarray(row[name], dtype=float)
            for at, member in zip(row.rescaled, values):
                rows.append({"of": label, "network": network, "at": at, "value": np.nanmean(member)})
    frame = pd.DataFrame(rows).dropna()
    panels = [
        alt.Chart(frame[frame.of == label])
        .mark_line(point=True)
        .encode(
            alt.X("at:Q", title="output scale √h α", scale=alt.Scale(type="log")),
            alt.Y("value:Q", title=label, scale=alt.Scale(type="linear" if name == "error" else "log", zero=False)),
            alt.Color("network:N", title=None),
        )
        .properties(width=240)
        for name, label in (names | {"variance": spread}).items()
    ]
    return alt.concat(*panels, columns=2)


PAPER = Paper(
    name="lazy-feature",
    title="One output scale decides between a frozen kernel and learnt features",
    source=SOURCE,
    version=3,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
    members="seeds",
)

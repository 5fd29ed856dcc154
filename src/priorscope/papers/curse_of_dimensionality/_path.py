"""Fig. 2: the symmetry of VEC grows with width, and with the rotation of the images."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pandas as pd
import torch

from priorscope.lab import Metrics, Paper, Point
from priorscope.papers.curse_of_dimensionality._systems import SOURCE, element, images, predictions, score
from priorscope.papers.curse_of_dimensionality._width_claims import TRENDS

if TYPE_CHECKING:
    import altair as alt

MEMBERS = 10  # initialisations in a mean, as in the paper
SIZES: dict[str, list[Point]] = {
    "tiny": [{"data": "local", "size": 4, "n": 16, "n_test": 16, "steps": 5}],
    "small": [
        {"data": "cifar10", "size": 8, "n": 256, "n_test": 500, "steps": 120},
        {"data": "local", "size": 5, "n": 400, "n_test": 1000, "steps": 300},
    ],
    "paper": [
        {"data": "cifar10", "size": 32, "n": 50000, "n_test": 10000, "steps": 40000},
        {"data": "local", "size": 5, "n": 400, "n_test": 1000, "steps": 300},
    ],
}
# at the scale small the synthetic set has the widths at which the published ones begin; CIFAR-10 stays narrow
WIDTHS = {
    "tiny": {"local": [2, 4, 6, 8]},
    "small": {"cifar10": [4, 8, 16, 32], "local": [16, 32, 64, 128]},
    "paper": {"cifar10": [16, 32, 64, 128, 256, 512], "local": [16, 32, 64, 128, 256, 512]},
}
TIMES = [0.0, 0.33, 0.67, 1.0]


def grid(scale: str) -> list[Point]:
    """Trained VEC by width and by position on a path of rotations, on two sets of images."""
    return [
        {"width": w, "time": t, **sizes, "seed": seed}
        for sizes in SIZES[scale]
        for seed in range({"tiny": 1, "small": 1, "paper": 3}[scale])
        for w in WIDTHS[scale][sizes["data"]]
        for t in TIMES
    ]


def run(point: Point) -> Metrics:
    """Accuracies of VEC, GAP and VEC_∞ at one width and one rotation, and the distances of VEC's mean to the other two."""
    dataset = images(point["data"], point["size"], point["n"], point["n_test"], 0)
    width, seed = point["width"], point["seed"]
    moved = dataset.transformed(element("O(c)^d", tuple(dataset.input_shape), seed, special=True).path(point["time"]))
    ours = predictions("vec", "nn+", moved, width=width, steps=point["steps"], seed=seed, members=MEMBERS)
    gap = _pooled(point["data"], point["size"], point["n"], point["n_test"], width, point["steps"], seed)
    limit = predictions("vec", "ntk", moved, width=width, steps=0, seed=seed)
    scale = float(limit.square().mean().sqrt())

    def distance(other: torch.Tensor) -> float:
        return float((ours - other).square().mean().sqrt()) / scale

    return {
        "accuracy": score(ours, moved),
        "gap_accuracy": score(gap, dataset),
        "limit_accuracy": score(limit, moved),
        "to_gap": distance(gap),
        "to_limit": distance(limit),
    }


@lru_cache(maxsize=8)  # the same for every point of a path
def _pooled(name: str, size: int, n: int, n_test: int, width: int, steps: int, seed: int) -> torch.Tensor:
    """The mean prediction of GAP on plain images."""
    dataset = images(name, size, n, n_test, 0)
    return predictions("gap", "nn+", dataset, width=width, steps=steps, seed=seed, members=MEMBERS)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Fig. 2: accuracy, distance to GAP, distance to VEC at infinite width; one line per rotation, one row per set of images."""
    import altair as alt

    path = table[["data", "width", "time", "accuracy", "to_gap", "to_limit"]]
    names = {"accuracy": "test accuracy", "to_gap": "distance to E GAP_n", "to_limit": "distance to VEC_∞"}
    rows = []
    for data, part in path.groupby("data", sort=False):
        panels = [
            alt.Chart(part, title=f"{data}: {title}")
            .mark_line(point=True)
            .encode(
                x=alt.X(
                    "width:Q",
                    scale=alt.Scale(type="log", base=2, nice=False),
                    axis=alt.Axis(values=sorted(int(w) for w in set(part.width))),
                    title="width n",
                ),
                y=alt.Y(f"mean({column}):Q", title=title, scale=alt.Scale(zero=False)),
                color=alt.Color("time:O", title="rotation t", scale=alt.Scale(scheme="viridis")),
            )
            .properties(width=210, height=190)
            for column, title in names.items()
        ]
        rows.append(alt.hconcat(*panels))
    return alt.vconcat(*rows)


PAPER = Paper(
    name="symmetry-path",
    title="Wide convolutional networks forget that weights are shared",
    source=SOURCE,
    version=1,
    grid=grid,
    run=run,
    claims=TRENDS,
    chart=chart,
)

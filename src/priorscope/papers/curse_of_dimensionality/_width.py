"""Fig. 2 and eqs. 8 and 11: the symmetry of VEC grows with width."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

import priorscope.models as models
from priorscope.inference import GradientDescent, KernelRegression
from priorscope.lab import Metrics, Paper, Point
from priorscope.papers.curse_of_dimensionality._systems import SOURCE, element, images, predictions, score
from priorscope.papers.curse_of_dimensionality._width_claims import CLAIMS
from priorscope.probes import empirical_ntk

if TYPE_CHECKING:
    import altair as alt

__all__ = ["PAPER"]

MEMBERS = 10  # initialisations in a mean, as in the paper
Sizes = Point
SIZES: dict[str, Sizes] = {
    "tiny": {"data": "local", "size": 4, "n": 16, "n_test": 16, "steps": 5},
    "small": {"data": "cifar10", "size": 8, "n": 256, "n_test": 500, "steps": 120},
    "paper": {"data": "cifar10", "size": 32, "n": 50000, "n_test": 10000, "steps": 40000},
}
LOCAL: Sizes = {"data": "local", "size": 5, "n": 400, "n_test": 1000, "steps": 300}
WIDTHS = {"tiny": [2, 4, 6, 8], "small": [4, 8, 16, 32], "paper": [16, 32, 64, 128, 256, 512]}
KERNEL_WIDTHS = {"tiny": [8, 16, 32], "small": [32, 64, 128, 256, 512], "paper": [64, 128, 256, 512, 1024]}
MEAN_WIDTHS = {"tiny": [4, 8, 16], "small": [16, 32, 64, 128], "paper": [64, 128, 256, 512]}
DRAWS = {"tiny": (2, 1), "small": (12, 16), "paper": (20, 16)}  # of kernels (four networks each), of means
TIMES = [0.0, 0.33, 0.67, 1.0]


def grid(scale: str) -> list[Sizes]:
    """Kernel errors by width; then trained VEC by width and by position on a path of rotations, on two sets of images."""
    s = SIZES[scale]
    points = [
        {"part": part, "width": w, "time": 0.0, **s, "seed": seed}
        for part, widths, draws in zip(("kernel", "mean"), (KERNEL_WIDTHS, MEAN_WIDTHS), DRAWS[scale])
        for w in widths[scale]
        for seed in range(draws)
    ]
    return points + [
        {"part": "path", "width": w, "time": t, **sizes, "seed": seed}
        for sizes in ((s,) if scale == "tiny" else (s, LOCAL))
        for seed in range({"tiny": 1, "small": 1, "paper": 3}[scale])
        for w in WIDTHS[scale]
        for t in TIMES
    ]


def run(point: Point) -> Metrics:
    """A kernel error, a distance of means, or accuracies and two distances along the path."""
    dataset = images(point["data"], point["size"], point["n"], point["n_test"], 0)
    width, seed = point["width"], point["seed"]
    if point["part"] == "kernel":
        return {"kernel_error": _kernel_error(dataset.inputs[:6], width, range(4 * seed, 4 * seed + 4))}
    if point["part"] == "mean":
        return {"mean_distance": _mean_distance(dataset, width, seed)}
    moved = dataset.transformed(element("O(c)^d", tuple(dataset.input_shape), seed, special=True).path(point["time"]))
    ours = predictions("vec", "nn+", moved, width=width, steps=point["steps"], seed=seed, members=MEMBERS)
    gap = _pooled(point["data"], point["size"], point["n"], point["n_test"], width, point["steps"], seed)
    limit = predictions("vec", "ntk", moved, width=width, steps=0, seed=seed)
    scale = float(limit.square().mean().sqrt())
    distance = lambda other: float((ours - other).square().mean().sqrt()) / scale  # noqa: E731
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


def _kernel_error(x: torch.Tensor, width: int, seeds: range) -> float:
    """Mean over networks of the Frobenius distance of the tangent kernel to its limit, relative to the limit."""
    arch = models.vec(depth=2)
    limit = arch.kernel(x.double(), kinds=("ntk",)).ntk
    errors = []
    for seed in seeds:
        network = arch.network(tuple(x.shape[1:]), width=width, outputs=1, seed=seed)
        errors.append(float((empirical_ntk(network, x).double() - limit).norm() / limit.norm()))
    return float(np.mean(errors))


def _mean_distance(dataset: Any, width: int, seed: int) -> float:
    """RMS of (mean over initialisations of centred VEC_n) − VEC_∞ after the same time of slow full-batch descent."""
    data = dataset.subset(12, seed=0, n_test=12)
    rate, steps = 0.2, 30
    arch = models.vec(depth=2)
    seeds = range(1000 * seed, 1000 * seed + MEMBERS)
    ensemble = arch.ensemble(tuple(data.input_shape), width=width, outputs=data.n_outputs, seeds=seeds)
    descent = GradientDescent(learning_rate=rate, steps=steps, centre=True, record=2)
    x = data.test.inputs
    mean = descent.fit(ensemble, data, seed=seed).predict(x).mean(0)
    limit = KernelRegression(learning_rate=rate, steps=steps).fit(arch, data)  # the linear model, by the same steps
    g = arch.kernel(x, data.inputs, kinds=("ntk",)).ntk.double() @ limit.coefficients  # float64, unlike its predictions
    return float((mean - g).square().mean().sqrt() / g.square().mean().sqrt())


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Fig. 2: accuracy, distance to GAP, distance to VEC at infinite width; one line per rotation, one row per set of images."""
    import altair as alt

    path = table[table.part == "path"][["data", "width", "time", "accuracy", "to_gap", "to_limit"]]
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
    name="symmetry-width",
    title="Wide convolutional networks forget that weights are shared",
    source=SOURCE,
    version=3,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
)

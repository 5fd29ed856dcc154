"""Eqs. 8 and 11: the tangent kernel and the mean prediction of VEC approach their limits as the width grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

import priorscope.models as models
from priorscope.inference import GradientDescent, KernelRegression
from priorscope.lab import Metrics, Paper, Point
from priorscope.papers.curse_of_dimensionality._systems import SOURCE, images
from priorscope.papers.curse_of_dimensionality._width_claims import RATES
from priorscope.probes import empirical_ntk

if TYPE_CHECKING:
    import altair as alt

    from priorscope.data import Dataset

MEMBERS = 10  # initialisations in a mean, as in the paper
SIZES: dict[str, Point] = {
    "tiny": {"data": "local", "size": 4, "n": 16, "n_test": 16},
    "small": {"data": "cifar10", "size": 8, "n": 256, "n_test": 500},
    "paper": {"data": "cifar10", "size": 32, "n": 50000, "n_test": 10000},
}
KERNEL_WIDTHS = {"tiny": [8, 16, 32], "small": [32, 64, 128, 256, 512], "paper": [64, 128, 256, 512, 1024]}
MEAN_WIDTHS = {"tiny": [4, 8, 16], "small": [16, 32, 64, 128], "paper": [64, 128, 256, 512]}
DRAWS = {"tiny": (2, 1), "small": (12, 16), "paper": (20, 16)}  # of kernels (four networks each), of means


def grid(scale: str) -> list[Point]:
    """Errors of kernels and distances of means, by width."""
    return [
        {"part": part, "width": w, **SIZES[scale], "seed": seed}
        for part, widths, draws in zip(("kernel", "mean"), (KERNEL_WIDTHS, MEAN_WIDTHS), DRAWS[scale])
        for w in widths[scale]
        for seed in range(draws)
    ]


def run(point: Point) -> Metrics:
    """A kernel error, or a distance of means."""
    dataset = images(point["data"], point["size"], point["n"], point["n_test"], 0)
    width, seed = point["width"], point["seed"]
    if point["part"] == "kernel":
        return {"kernel_error": _kernel_error(dataset.inputs[:6], width, range(4 * seed, 4 * seed + 4))}
    return {"mean_distance": _mean_distance(dataset, width, seed)}


def _kernel_error(x: torch.Tensor, width: int, seeds: range) -> float:
    """Mean over networks of the Frobenius distance of the tangent kernel to its limit, relative to the limit."""
    arch = models.vec(depth=2)
    limit = arch.kernel(x.double(), kinds=("ntk",)).ntk
    errors = []
    for seed in seeds:
        network = arch.network(tuple(x.shape[1:]), width=width, outputs=1, seed=seed)
        errors.append(float((empirical_ntk(network, x).double() - limit).norm() / limit.norm()))
    return float(np.mean(errors))


def _mean_distance(dataset: Dataset, width: int, seed: int) -> float:
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
    """Both distances to the limit against the width, one point per draw, beside a line of slope -1/2."""
    import altair as alt

    rows = pd.concat(
        [
            table[table.part == part][["width", column]].rename(columns={column: "distance"}).assign(of=name)
            for part, column, name in (
                ("kernel", "kernel_error", "tangent kernel"),
                ("mean", "mean_distance", "mean of ten predictions"),
            )
        ]
    )
    guides = [
        {"of": name, "width": w, "distance": float(np.exp(np.log(part.distance * part.width**0.5).mean()) * w**-0.5)}
        for name, part in rows.groupby("of")
        for w in sorted(set(part.width))
    ]
    log = alt.Scale(type="log", nice=False, padding=12)
    x = alt.X("width:Q", scale=log, title="width n", axis=alt.Axis(values=sorted({int(w) for w in rows.width})))
    y = alt.Y("distance:Q", scale=log, title="distance to infinite width, relative")
    colour = alt.Color("of:N", title=None)
    points = alt.Chart(rows).mark_point(filled=True, opacity=0.5).encode(x, y, colour)
    lines = alt.Chart(pd.DataFrame(guides)).mark_line(strokeDash=[4, 4]).encode(x, y, colour)
    chart: alt.TopLevelMixin = (points + lines).properties(width=380, height=280)
    return chart


PAPER = Paper(
    name="symmetry-width",
    title="Convolutional networks approach their limit like one over the root of the width",
    source=SOURCE,
    version=4,
    grid=grid,
    run=run,
    claims=RATES,
    chart=chart,
)

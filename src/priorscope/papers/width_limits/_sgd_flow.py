"""Stochastic gradient descent against gradient flow in the plane of width and output scale."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from priorscope.data import Dataset, digits
from priorscope.inference import GradientDescent, GradientFlow
from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, above
from priorscope.models import Architecture, Dense, fcn
from priorscope.papers._over_draws import over_draws

if TYPE_CHECKING:
    import altair as alt

SOURCE = "Geiger, thesis (2021), sec. 8.3: stochastic gradient descent in the plane (h, √h α)"
SIZES: dict[str, Point] = {
    "tiny": {"widths": [8, 16], "scales": [1.0, 100.0], "seeds": 2, "n": 40, "time": 0.3},
    "small": {"widths": [16, 64, 128], "scales": [1.0, 10.0, 100.0], "seeds": 5, "n": 128, "time": 10.0},
    "paper": {
        "widths": [16, 64, 256, 1024],
        "scales": [0.1, 1.0, 10.0, 100.0, 1000.0],
        "seeds": 20,
        "n": 1000,
        "time": 100.0,
    },
}
RATES = (
    0.04,
    0.01,
    0.0025,
)  # below 2 over the largest entry of the tangent kernel at the start, which is about 12 here
BATCH = 8


def grid(scale: str) -> list[Point]:
    """Every width, scaled output √h α and seed."""
    size = SIZES[scale]
    return [
        {"width": h, "scale": s, "n": size["n"], "time": size["time"], "seed": seed}
        for h in size["widths"]
        for s in size["scales"]
        for seed in range(size["seeds"])
    ]


def _data(n: int, seed: int) -> Dataset:
    """Parity of n digits, the rest for testing; inputs centred, of mean square one."""
    data = digits("parity")
    order = np.random.default_rng(seed).permutation(len(data.train))
    x, y = data.train.inputs.double().flatten(1)[order], data.train.targets.double()[order]
    x = (x - x.mean(0)) / float((x - x.mean(0)).square().mean().sqrt())
    split = type(data.train)
    return Dataset(split(x[:n], y[:n]), split(x[n : n + 1000], y[n : n + 1000]), "digits")


def _scaled(alpha: float) -> Architecture:
    """Two hidden layers whose output is multiplied by alpha: a readout with weights of alpha² times the variance."""
    layers = fcn(depth=2).layers
    return Architecture("fcn", (*layers[:-1], Dense(2.0 * alpha**2)))


def run(point: Point) -> Metrics:
    r"""Train to one time by flow, and by descent at three rates, from the same weights.

    Descent of :math:`\frac1n\sum\ell(F, y)` at rate :math:`\eta/\alpha^2` is a discrete flow of
    :math:`\frac1{\alpha^2n}\sum\ell(F, y)` at rate η (the loss of :class:`GradientFlow`).
    """
    width, alpha, seed = point["width"], point["scale"] / point["width"] ** 0.5, point["seed"]
    data = _data(point["n"], seed)
    x, y = data.test.inputs, data.test.targets
    net = fcn(depth=2).network((64,), width=width, seed=seed, dtype=torch.float64)
    flow = GradientFlow(alpha=alpha, time=point["time"], max_steps=40_000, record=2).fit(net, data)
    wanted = flow.predict(x)
    found: Metrics = {
        "flow_wrong": float((wanted * y <= 0).double().mean()),
        "flow_loss": float(flow.trajectory.loss[-1]),
    }
    found["flow_time"] = float(flow.times.min())
    for k, rate in enumerate(RATES):
        start = _scaled(alpha).network((64,), width=width, seed=seed, dtype=torch.float64)
        descent = GradientDescent(
            learning_rate=rate / alpha**2,
            steps=max(1, round(point["time"] / rate)),
            batch_size=BATCH,
            centre=True,
            record=2,
            dtype=torch.float64,
        )
        f = descent.fit(start, data, seed=seed).predict(x)
        found[f"apart_{k}"] = float((f - wanted).square().mean().sqrt() / wanted.square().mean().sqrt())
        found[f"wrong_{k}"] = float((f * y <= 0).double().mean())
    return found


def approach(table: pd.DataFrame, scale: float) -> Measured:
    """Exponent, in the rate, of the distance between descent and flow, over all widths."""
    rows = table[table.scale == scale].dropna(subset=["apart_0", "apart_1", "apart_2"])
    if len(rows) < 2:
        raise NotMeasured("fewer than two finite runs")
    logs = np.log(np.maximum(rows[["apart_0", "apart_1", "apart_2"]].to_numpy(float), 1e-12))
    slopes = np.polyfit(np.log(RATES), logs.T, 1)[0]
    means = pd.Series(slopes).groupby(rows.seed.to_numpy()).mean()
    told = ", ".join(f"{v:.3f}" for v in np.exp(logs.mean(0)))
    return Measured(over_draws(means), f"relative distances at rates {', '.join(map(str, RATES))}: {told}")


CLAIMS = (
    Claim(
        "B.7",
        SOURCE,
        "in the limit of a vanishing rate stochastic descent becomes gradient flow",
        checks=tuple(
            Check(f"exponent of the distance at √h α = {s:g}", partial(approach, scale=s), above(0.25))
            for s in (1.0, 10.0, 100.0)
        ),
    ),
)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Left: distance of descent from flow against the rate. Right: misclassified by both in the plane."""
    import altair as alt

    long = table.melt(["width", "scale", "seed"], ["apart_0", "apart_1", "apart_2"], "which", "apart")
    long = long.assign(rate=long.which.str[-1].astype(int).map(dict(enumerate(RATES))))
    means = long.groupby(["scale", "rate"], as_index=False).apart.mean()
    left = (
        alt.Chart(means)
        .mark_line(point=True)
        .encode(
            alt.X("rate:Q", title="learning rate η").scale(type="log", nice=False),
            alt.Y("apart:Q", title="distance of outputs, relative").scale(type="log"),
            alt.Color("scale:O", title="√h α"),
        )
    )
    both = table.melt(["width", "scale"], ["flow_wrong", "wrong_0"], "how", "wrong")
    both = both.assign(how=both.how.map({"flow_wrong": "gradient flow", "wrong_0": f"SGD, η = {RATES[0]}"}))
    mean = both.groupby(["width", "scale", "how"], as_index=False).wrong.mean()
    right = (
        alt.Chart(mean)
        .mark_line(point=True)
        .encode(
            alt.X("scale:Q", title="√h α").scale(type="log", nice=False),
            alt.Y("wrong:Q", title="misclassified").scale(zero=False),
            alt.Color("width:O", title="width h"),
            alt.StrokeDash("how:N", title=None),
        )
    )
    joined: alt.HConcatChart = alt.hconcat(left.properties(width=280), right.properties(width=280)).resolve_scale(
        color="independent"
    )
    return joined


PAPER = Paper(
    name="sgd-flow",
    title="Stochastic gradient descent beside gradient flow",
    source=SOURCE,
    version=1,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
)

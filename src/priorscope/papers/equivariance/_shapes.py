"""Shapes seen from the sphere around them, in place of SHREC17: classes and retrieval, trained upright, tested turned."""

from __future__ import annotations

from functools import partial
from math import pi
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, above, rising
from priorscope.papers._over_draws import over_draws, where
from priorscope.papers.equivariance._retrieval import retrieval
from priorscope.papers.equivariance._source import SPHERES

if TYPE_CHECKING:
    import altair as alt

SIZES: dict[str, Point] = {
    "tiny": {"n": 16, "n_test": 16, "bandwidth": 4, "bands": (3, 2), "channels": (3, 4), "steps": 2},
    "small": {"n": 240, "n_test": 160, "bandwidth": 10, "bands": (6, 4), "channels": (10, 20), "steps": 200},
    "paper": {
        "n": 8000,
        "n_test": 2000,
        "bandwidth": 64,
        "bands": (32, 22, 7),
        "channels": (50, 70, 350),
        "steps": 20000,
    },
}


def grid(scale: str) -> list[Point]:
    """A spherical and a planar network, each over draws of shapes and weights."""
    seeds = {"tiny": 2, "small": 6, "paper": 5}[scale]
    return [{"model": m, "scale": scale, "seed": s} for m in ("spherical", "planar") for s in range(seeds)]


def run(point: Point) -> Metrics:
    """Accuracy and retrieval measures on turned shapes, and accuracy on upright ones, of a network trained upright."""
    from priorscope import models
    from priorscope.data import shapes
    from priorscope.inference import GradientDescent
    from priorscope.system import System

    sizes, seed = SIZES[point["scale"]], point["seed"]
    upright = shapes(sizes["n"], sizes["n_test"], bandwidth=sizes["bandwidth"], rotate=(), seed=seed)
    turned = shapes(sizes["n"], sizes["n_test"], bandwidth=sizes["bandwidth"], seed=seed)
    upright, turned = upright.standardised("channel"), turned.standardised("channel")
    if point["model"] == "spherical":
        model = models.spherical_cnn(sizes["bands"], sizes["channels"], reach=pi / 4, normalise=True)
        width, rate = sizes["channels"][0], 0.03
    else:
        model, width, rate = models.planar_cnn(3, 2) if sizes["bandwidth"] > 4 else models.planar_cnn(3, 1), 16, 0.002
    descent = GradientDescent(
        learning_rate=rate,
        steps=sizes["steps"],
        batch_size=40,
        optimiser="adam",
        loss="cross-entropy",
        schedule="cosine",
        record=2,
    )
    outcome = System(turned, model, descent, width=width).run(seed)
    right = outcome.predict(upright.test.inputs).argmax(1) == upright.test.targets.argmax(1)
    scores = outcome.predict(turned.test.inputs).double().softmax(1).numpy()
    found = retrieval(scores, turned.test.targets.argmax(1).numpy())
    return {"turned": float(outcome.test_accuracy or 0.0), "upright": float(right.double().mean()), **found}


def mean(table: pd.DataFrame, model: str, column: str) -> Measured:
    """The mean of a measure over draws."""
    rows = where(table, model=model)
    return Measured(over_draws(rows[column]), f"{len(rows)} draws")


def gain(table: pd.DataFrame, column: str) -> Measured:
    """The spherical network's measure minus the planar one's, draw by draw."""
    wide = table.pivot_table(index="seed", columns="model", values=column).dropna()
    if wide.shape[1] < 2:
        raise NotMeasured("one of the networks is missing")
    return Measured(over_draws(np.asarray(wide["spherical"] - wide["planar"])), f"{len(wide)} pairs of draws")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Every measure of both networks."""
    import altair as alt

    long = table.melt(["model", "seed"], ["upright", "turned", "precision", "map", "ndcg"], "measure", "value")
    drawn: alt.Chart = (
        alt.Chart(long)
        .mark_circle(size=60, opacity=0.6)
        .encode(
            x=alt.X("measure:N", title=None, sort=None),
            y=alt.Y("value:Q", title="score").scale(domain=[0, 1]),
            color=alt.Color("model:N", title=None),
            xOffset="model:N",
        )
        .properties(width=320, height=220)
    )
    return drawn


CLAIMS = (
    Claim(
        "Q.11",
        f"{SPHERES}, section 5.3, table 2",
        "a spherical network retrieves randomly turned shapes well: precision at N 0.70, mAP 0.68, NDCG 0.76",
        checks=(
            Check("mAP", partial(mean, model="spherical", column="map"), above(0.6)),
            Check("NDCG", partial(mean, model="spherical", column="ndcg"), above(0.7)),
            Check("mAP above the planar network's", partial(gain, column="map"), rising()),
        ),
        changes="eight classes of procedural solids in place of SHREC17's 55, bandwidth 10 in place of 128, trained upright",
    ),
)

PAPER = Paper("shapes", "Shapes from all sides", SPHERES, 1, grid, run, CLAIMS, chart)

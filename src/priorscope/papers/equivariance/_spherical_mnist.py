"""Table 1 of Spherical CNNs: digits on the sphere, trained upright or turned, tested upright or turned."""

from __future__ import annotations

from functools import partial
from math import pi
from typing import TYPE_CHECKING

import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, Paper, Point, above, at_most, below, claimed
from priorscope.papers._over_draws import over_draws, where
from priorscope.papers.equivariance._source import SPHERES

if TYPE_CHECKING:
    import altair as alt

SIZES: dict[str, Point] = {
    "tiny": {"data": "digits", "bandwidth": 6, "bands": (3, 2), "channels": (2, 3), "n": 20, "n_test": 20, "steps": 2},
    "small": {"data": "mnist", "bandwidth": 10, "bands": (6, 4), "channels": (10, 20), "n": 3000, "n_test": 1000, "steps": 400},
    "paper": {
        "data": "mnist", "bandwidth": 30, "bands": (10, 6), "channels": (20, 40), "n": 60000, "n_test": 10000, "steps": 37500
    },
}  # fmt: skip
MODELS = ("spherical", "planar")


def grid(scale: str) -> list[Point]:
    """Both networks, trained upright and turned, each over draws of images, rotations and weights; Q.5 takes more."""
    seeds, upright = {"tiny": (2, 2), "small": (5, 20), "paper": (5, 5)}[scale]
    return [
        {"model": model, "train": train, "scale": scale, "seed": s}
        for model in MODELS
        for train in ("upright", "turned")
        for s in range(upright if (model, train) == ("spherical", "upright") else seeds)
    ]


def run(point: Point) -> Metrics:
    """Accuracy on upright and on turned test images of a network trained on one of the two."""
    from priorscope import models
    from priorscope.data import digits, mnist, on_sphere
    from priorscope.inference import GradientDescent
    from priorscope.system import System

    sizes, seed, small = SIZES[point["scale"]], point["seed"], point["scale"] != "paper"
    if sizes["data"] == "mnist":
        images = mnist(n_train=sizes["n"], n_test=sizes["n_test"], seed=seed)
    else:
        images = digits().subset(sizes["n"], seed, n_test=sizes["n_test"])
    turned = ("train",) if point["train"] == "turned" else ()
    upright_test = on_sphere(images, sizes["bandwidth"], rotate=turned, seed=seed)
    turned_test = on_sphere(images, sizes["bandwidth"], rotate=(*turned, "test"), seed=seed)
    if point["model"] == "spherical":
        reach = pi / 4 if small else pi / 8
        model = models.spherical_cnn(sizes["bands"], sizes["channels"], reach=reach, normalise=small)
        width, rate = sizes["channels"][0], 0.03 if small else 0.005
    else:
        model = models.planar_cnn(5, 3) if not small else models.planar_cnn(3, 2)
        width, rate = (32, 0.0005) if not small else (16, 0.002)
    descent = GradientDescent(
        learning_rate=rate,
        steps=sizes["steps"],
        batch_size=50 if small else 32,
        optimiser="adam",
        loss="cross-entropy",
        schedule="cosine" if small else "constant",
        record=2,
    )
    outcome = System(upright_test, model, descent, width=width).run(seed)
    right = outcome.predict(turned_test.test.inputs).argmax(1) == turned_test.test.targets.argmax(1)
    return {"on_upright": float(outcome.test_accuracy or 0.0), "on_turned": float(right.double().mean())}


def accuracy(table: pd.DataFrame, model: str, train: str, test: str) -> Measured:
    """Mean accuracy over draws of one entry of the table."""
    rows = where(table, model=model, train=train)
    return Measured(over_draws(rows[f"on_{test}"]), f"{len(rows)} draws")


def loss_by_turning(table: pd.DataFrame) -> Measured:
    """Accuracy of the spherical network trained upright: tested upright minus tested turned, draw by draw."""
    rows = table[(table["model"] == "spherical") & (table["train"] == "upright")]
    return Measured(over_draws(rows["on_upright"] - rows["on_turned"]), f"{len(rows)} draws")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Accuracy of both networks for the three pairs of the source."""
    import altair as alt

    pairs = {"NR/NR": ("upright", "upright"), "R/R": ("turned", "turned"), "NR/R": ("upright", "turned")}
    parts = [
        rows.assign(pair=name, accuracy=rows[f"on_{test}"])
        for name, (train, test) in pairs.items()
        for rows in [table[table["train"] == train]]
    ]
    drawn: alt.Chart = (
        alt.Chart(pd.concat(parts)[["model", "pair", "accuracy"]])
        .mark_circle(size=60, opacity=0.6)
        .encode(
            x=alt.X("pair:N", title="trained / tested", sort=list(pairs)),
            y=alt.Y("accuracy:Q").scale(domain=[0, 1]),
            color=alt.Color("model:N", title=None),
            xOffset="model:N",
        )
        .properties(width=260, height=220)
    )
    return drawn


_SMALL = "bandwidth 10 in place of 30, 3,000 training images in place of 60,000, 400 steps, batch normalisation"
CLAIMS = (
    Claim(
        "Q.4",
        f"{SPHERES}, table 1",
        "trained upright and tested turned, a planar network guesses: 11 %",
        measure=partial(accuracy, model="planar", train="upright", test="turned"),
        expect=below(0.2),
        changes=_SMALL,
    ),
    Claim(
        "Q.5",
        f"{SPHERES}, table 1",
        "trained upright and tested turned, a spherical network loses 0.02 of its accuracy, and keeps 94 %",
        checks=(
            Check("what turning costs", loss_by_turning, claimed(0.02, within=0.03)),
            Check(
                "accuracy on turned digits",
                partial(accuracy, model="spherical", train="upright", test="turned"),
                above(0.8),
            ),
        ),
        changes=_SMALL,
    ),
    Claim(
        "Q.6",
        f"{SPHERES}, table 1",
        "trained and tested turned, the planar network stays at 23 % where the spherical one reaches 95 %",
        checks=(
            Check("planar", partial(accuracy, model="planar", train="turned", test="turned"), at_most(0.4)),
            Check("spherical", partial(accuracy, model="spherical", train="turned", test="turned"), above(0.8)),
        ),
        changes=_SMALL,
    ),
)

PAPER = Paper("spherical-mnist", "Digits on the sphere", SPHERES, 2, grid, run, CLAIMS, chart)

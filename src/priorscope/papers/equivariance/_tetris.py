"""Tables 1 and 2 of 3D steerable CNNs: Tetris pieces learned in one orientation, known in all others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, above, at_least, near, rising
from priorscope.papers._over_draws import over_draws, where
from priorscope.papers.equivariance._source import STEERABLE

if TYPE_CHECKING:
    import altair as alt

SIZES: dict[str, Point] = {
    "tiny": {"size": 9, "cell": 1.5, "steps": 2, "n_test": 1, "point_steps": 2},
    "small": {"size": 15, "cell": 2.5, "steps": 150, "n_test": 6, "point_steps": 150},
    "overnight": {"size": 29, "cell": 4.0, "steps": 250, "n_test": 20, "point_steps": 250},
    "paper": {"size": 36, "cell": 5.0, "steps": 250, "n_test": 100, "point_steps": 400},
}
STEERABLE_FIELDS: dict[str, tuple[tuple[int, ...], ...]] = {
    "tiny": ((3, 1), (8,)),
    "small": ((3, 3, 2), (6, 4, 2), (8, 4, 2), (32,)),
    "overnight": ((3, 3, 2), (6, 4, 2), (8, 4, 2), (32,)),
    "paper": ((4, 4, 4, 1), (16, 16, 16), (32, 16, 16), (128,)),
}
PLAIN_CHANNELS: dict[str, tuple[int, ...]] = {
    "tiny": (6, 8),
    "small": (22, 28, 30, 32),
    "overnight": (22, 28, 30, 32),
    "paper": (43, 144, 160, 128),
}  # as many numbers per voxel as the steerable network
MODELS = ("steerable", "plain")


def grid(scale: str) -> list[Point]:
    """Points with and without parity; voxels with both networks, strides smoothed or not; each over draws."""
    seeds = {"tiny": 2, "small": 8, "overnight": 8, "paper": 17}[scale]
    volume_seeds = {"tiny": 2, "small": 4, "overnight": 8, "paper": 17}[scale]
    points: list[Point] = [
        {"kind": "points", "parity": parity, "scale": scale, "seed": s}
        for parity in (False, True)
        for s in range(seeds)
    ]
    points += [
        {"kind": "voxels", "model": model, "low_pass": low_pass, "scale": scale, "seed": s}
        for model in MODELS
        for low_pass in (False, True)
        for s in range(volume_seeds)
    ]
    return points


def run(point: Point) -> Metrics:
    """Accuracy on the eight training pieces and on pieces turned at random."""
    from priorscope import models
    from priorscope.data import tetris
    from priorscope.inference import GradientDescent
    from priorscope.system import System

    scale, seed = point["scale"], point["seed"]
    sizes = SIZES[scale]
    if point["kind"] == "points":
        data = tetris("points", 20, seed=seed)
        model, width, steps, rate = models.point_network(parity=point["parity"]), 4, sizes["point_steps"], 0.01
    else:
        data = tetris("voxels", sizes["n_test"], size=sizes["size"], cell=sizes["cell"], seed=seed)
        fields, channels = STEERABLE_FIELDS[scale], PLAIN_CHANNELS[scale]
        strides = (1, 2, 2, 1)[-len(fields) :]
        padding = 4 if scale == "paper" else 2
        if point["model"] == "steerable":
            model, width = (
                models.steerable_cnn(fields, strides, padding=padding, low_pass=point["low_pass"]),
                fields[0][0],
            )
            rate = 0.03 if scale != "paper" else 0.1
        else:
            model, width = models.voxel_cnn(channels, strides, padding=padding, low_pass=point["low_pass"]), channels[0]
            rate = 0.001
        steps = sizes["steps"]
    descent = GradientDescent(
        learning_rate=rate, steps=steps, optimiser="adam", loss="cross-entropy", schedule="cosine", record=2
    )
    outcome = System(data, model, descent, width=width).run(seed)
    learned = outcome.predict(data.inputs).argmax(1) == data.targets.argmax(1)
    return {"accuracy": float(outcome.test_accuracy or 0.0), "training": float(learned.double().mean())}


def points_accuracy(table: pd.DataFrame, parity: bool) -> Measured:
    """Mean accuracy of networks on points over draws."""
    rows = table[(table["kind"] == "points") & (table["parity"] == parity)]
    return Measured(over_draws(rows["accuracy"]), f"{len(rows)} draws")


def voxel_accuracy(table: pd.DataFrame, model: str, low_pass: bool) -> Measured:
    """Mean accuracy of networks on voxels over draws."""
    rows = where(table, kind="voxels", model=model, low_pass=low_pass)
    trained = rows["training"].mean()
    return Measured(over_draws(rows["accuracy"]), f"{len(rows)} draws, {trained:.2f} right on the training pieces")


def gap(table: pd.DataFrame, better: tuple[str, bool], worse: tuple[str, bool]) -> Measured:
    """Mean difference of accuracy between two cells, draw by draw."""
    rows = table[table["kind"] == "voxels"]
    wide = rows.pivot_table(index="seed", columns=["model", "low_pass"], values="accuracy")
    if better not in wide or worse not in wide:
        raise NotMeasured("a cell is missing")
    difference = (wide[better] - wide[worse]).dropna()
    return Measured(over_draws(difference), f"{len(difference)} pairs of draws")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Accuracy on turned pieces, one row per kind of network."""
    import altair as alt

    def name(kind: str, parity: bool, model: str, low_pass: bool) -> str:
        if kind == "points":
            return "points, mirrors " + ("are a symmetry" if parity else "are none")
        return f"voxels, {model}, " + ("low-pass" if low_pass else "stride")

    columns = (table[column] for column in ("kind", "parity", "model", "low_pass"))
    named = table.assign(network=[name(*values) for values in zip(*columns)])
    drawn: alt.Chart = (
        alt.Chart(named[["network", "accuracy"]])
        .mark_circle(size=60, opacity=0.5)
        .encode(
            y=alt.Y("network:N", title=None, sort=None),
            x=alt.X("accuracy:Q", title="accuracy on turned pieces").scale(domain=[0, 1]),
        )
        .properties(width=360, height=200)
    )
    return drawn


CLAIMS = (
    Claim(
        "Q.7",
        "seed 001, chapter 5: Geiger et al., e3nn",
        "a network on points that commutes with rotations, trained in one orientation, knows all pieces in every orientation",
        measure=partial(points_accuracy, parity=False),
        expect=at_least(0.99),
    ),
    Claim(
        "Q.8",
        "seed 001, chapter 5: Geiger et al., e3nn",
        "where mirrors are a symmetry too, invariant outputs cannot tell the two mirror images apart: seven of eight are right",
        measure=partial(points_accuracy, parity=True),
        expect=near(0.875, within=0.01),
    ),
    Claim(
        "Q.9",
        f"{STEERABLE}, supplement, table 2",
        "with low-pass strides a steerable network on voxels knows 99 % of turned pieces, a plain one 27 %",
        checks=(
            Check("steerable, low-pass", partial(voxel_accuracy, model="steerable", low_pass=True), above(0.9)),
            Check(
                "steerable beats plain, low-pass",
                partial(gap, better=("steerable", True), worse=("plain", True)),
                rising(),
            ),
        ),
        reach=("scale",),
        changes="15 voxels per side, 2.5 per cube, in place of 36 and 5; fewer fields; 150 steps",
    ),
    Claim(
        "Q.10",
        f"{STEERABLE}, supplement, table 2",
        "a stride without a low-pass filter breaks the symmetry: 36 % in place of 99 %",
        measure=partial(gap, better=("steerable", True), worse=("steerable", False)),
        expect=rising(),
        changes="the order of the two is judged, at the small size",
    ),
)

PAPER = Paper("tetris", "Tetris pieces in every orientation", STEERABLE, 1, grid, run, CLAIMS, chart, overnight=True)

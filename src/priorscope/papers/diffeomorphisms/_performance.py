"""Test error against stability over architectures: which of D, G and R goes with performance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from priorscope.lab import Check, Claim, Metrics, Paper, Point, below, claimed, falling, near, rising
from priorscope.papers.diffeomorphisms import _performance_measures as measure
from priorscope.papers.diffeomorphisms._runs import ARCHITECTURES, learning_rate, trained_run
from priorscope.papers.diffeomorphisms._source import SOURCE

if TYPE_CHECKING:
    import altair as alt

NETWORKS = [name for name in ARCHITECTURES if name != "resnet18"]
SIZES: dict[str, Point] = {
    "tiny": {
        "data": ["templates"],
        "models": ["dense-2", "max"],
        "P": [60],
        "seeds": 2,
        "pairs": 2,
        "eighths": 2,
        "steps": 4,
        "n_test": 60,
    },
    "small": {
        "data": ["cifar10", "fashion-mnist"],
        "models": NETWORKS,
        "P": [4000],
        "seeds": 2,
        "pairs": 4,
        "eighths": 4,
        "steps": 1200,
        "n_test": 2000,
    },
    "overnight": {
        "data": ["cifar10", "fashion-mnist"],
        "models": NETWORKS,
        "P": [40_000],
        "seeds": 2,
        "pairs": 4,
        "eighths": 7,
        "steps": 10_000,
        "n_test": 2000,
    },
    "paper": {
        "data": ["cifar10", "fashion-mnist", "mnist"],
        "models": list(ARCHITECTURES),
        "P": [512, 4096, 50_000],
        "seeds": 5,
        "pairs": 5,
        "eighths": 5,
        "steps": 97_500,
        "n_test": 10_000,
    },
}
AUGMENTED = (
    "residual-stride-bn"  # the network that is also trained on deformed images, with its plain twin at the same seeds
)


def grid(scale: str) -> list[Point]:
    """One point per network; one architecture also with deformed training images and at an eighth of the samples."""
    size = SIZES[scale]
    points = [
        _point(size, data, model, P, seed)
        for data in size["data"]
        for model in size["models"]
        for P in size["P"]
        for seed in range(size["eighths"] if model == AUGMENTED else size["seeds"])
    ]
    if scale != "tiny":
        largest = max(size["P"])
        for data in size["data"]:
            for seed in range(size["eighths"]):
                if seed < size["pairs"]:
                    points.append(_point(size, data, AUGMENTED, largest, seed, "diffeo"))
                points.append(_point(size, data, AUGMENTED, largest // 8, seed))
    return points


def _point(size: Point, data: str, model: str, P: int, seed: int, augment: str = "none") -> Point:
    point = {"data": data, "model": model, "n_train": P, "augment": augment, "seed": seed}
    return {**point, "steps": size["steps"], "n_test": size["n_test"], "learning_rate": learning_rate(model)}


def run(point: Point) -> Metrics:
    """Train one network and measure its error and its stabilities."""
    return trained_run(point)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Test error against R, D and 1/G on log axes, one row per data set, one point per architecture."""
    import altair as alt

    frame = measure.architectures(table)
    frame["1/G"] = 1 / frame.G
    log = alt.Scale(type="log", nice=False)
    y = alt.Y("error:Q", title="test error", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="~%"))
    rows = []
    for _, part in frame.groupby("data", sort=False):
        panels = [
            alt.Chart(part, title=str(part.data.iloc[0]) if name == "R" else "")
            .mark_point(filled=True, size=60)
            .encode(alt.X(f"{name}:Q", scale=log), y, alt.Color("model:N"), tooltip=["model", "error", "R", "D", "G"])
            .properties(width=200, height=180)
            for name in ("R", "D", "1/G")
        ]
        rows.append(alt.hconcat(*panels))
    picture: alt.TopLevelMixin = alt.vconcat(*rows)
    return picture


CLAIMS = (
    Claim(
        "D.13",
        f"{SOURCE}, Fig. 5",
        "over architectures on CIFAR-10 the test error goes with R: correlation of logarithms 0.97",
        measure=measure.correlation("cifar10", "R"),
        expect=claimed(0.97, within=0.1),
        reach=("n_train", "steps", "model"),
    ),
    Claim(
        "D.14",
        f"{SOURCE}, Fig. 5",
        "the test error on CIFAR-10 is 0.24 √R (0.2 √R in the abstract)",
        measure=measure.prefactor("cifar10"),
        expect=claimed(0.2, 0.24, within=0.06),
        reach=("n_train", "steps", "model"),
    ),
    Claim(
        "D.15",
        f"{SOURCE}, Figs. 15 and 16",
        "D and 1/G go with the test error on CIFAR-10 less than R: correlations 0.62 and 0.85",
        checks=(
            Check("of R minus that of D", measure.advantage("cifar10", "D"), rising()),
            Check("of R minus that of 1/G", measure.advantage("cifar10", "1/G"), rising()),
        ),
        reach=("n_train", "steps", "model"),
    ),
    Claim(
        "D.16",
        f"{SOURCE}, Table 2",
        "on Fashion-MNIST the test error goes with R and D, and against G: correlations 0.94, 0.72 and −0.68",
        checks=(
            Check("with R", measure.correlation("fashion-mnist", "R"), rising()),
            Check("with D", measure.correlation("fashion-mnist", "D"), rising()),
            Check("with G", measure.correlation("fashion-mnist", "G"), falling()),
        ),
        reach=("n_train", "steps", "model"),
    ),
    Claim(
        "D.17",
        f"{SOURCE}, Fig. 17",
        "means in place of medians give the same picture: error and R are correlated on CIFAR-10",
        checks=(
            Check("correlation by means", measure.correlation("cifar10", "R_mean"), rising()),
            Check(
                "correlation by means minus that by medians",
                measure.advantage("cifar10", "R", "R_mean"),
                near(0, within=0.2),
            ),
        ),
        reach=("n_train", "steps", "model"),
    ),
    Claim(
        "D.18",
        f"{SOURCE}, Fig. 18",
        "a network that gets more training samples moves down in error and in R together",
        checks=(
            Check("R at all samples over R at an eighth", measure.along_samples("R"), below(1)),
            Check("error at all samples over error at an eighth", measure.along_samples("error"), below(1)),
        ),
    ),
    Claim(
        "D.19",
        f"{SOURCE}, Fig. 12",
        "training on deformed images lowers R, and changes nothing else qualitatively",
        measure=measure.augmented_ratio,
        expect=below(1),
    ),
)

PAPER = Paper(
    name="diffeo-performance",
    title="Relative stability to deformations goes with performance",
    source=SOURCE,
    version=2,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
    overnight=True,
)

"""Two circles in a plane: networks with structured geometry learn them only in planes that they see."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, above, below
from priorscope.papers._over_draws import highest, lowest, over_draws
from priorscope.papers.geometry._sizes import SOURCE, sizes, width_of
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt

REDUCED = "Reduced: 1×16×16 inputs, 2,560 samples (10 per dimension, as published), ResNet18 of width 16 with group normalisation"
FITTED = 0.99  # training accuracy below which a plane tells nothing of generalisation (published: 1)
PLANES = {"top": (0, 1), "mixed": (0, -1), "bottom": (-2, -1)}  # ranks of u1, u2 among the eigenvectors of G


def grid(scale: str) -> list[Point]:
    """Models × repeats; each run trains one network per plane."""
    epochs, repeats = {"tiny": (2, 1), "small": (100, 5), "paper": (100, 5)}[scale]
    names = {"tiny": ("mlp",), "small": ("mlp", "normalised"), "paper": ("mlp", "lenet", "normalised")}[scale]
    side = {"size": 16, "n_train": 2560, "batch": 64} if scale == "small" else {}
    return [
        {"model": m, "width": width_of(m, scale), **sizes(scale), **side, "epochs": epochs, "seed": s}
        for m in names
        for s in range(repeats)
    ]


def run(point: Point) -> Metrics:
    """Test and training accuracy for each plane."""
    from priorscope.data import circles
    from priorscope.papers.geometry._models import accuracies, geometry, train

    size, seed = point["size"], point["seed"]
    modes = geometry(point["model"], point["n_models"], 1, size, point["width"]).modes
    options = {"radii": (1.0, 3.0), "noise": 1.0, "seed": seed, "input_shape": (1, size, size)}
    sets = [circles(modes[:, list(ranks)].mT, point["n_train"], 1000, **options) for ranks in PLANES.values()]
    template, params = train(
        point["model"], sets, seed=seed, width=point["width"], epochs=point["epochs"], batch=point["batch"]
    )
    test = accuracies(template, params, sets)
    fit = accuracies(template, params, sets, which="train")
    return {f"{part}_{p}": v for part, values in (("test", test), ("train", fit)) for p, v in zip(PLANES, values)}


def accuracy(table: pd.DataFrame, models: tuple[str, ...], planes: tuple[str, ...]) -> dict[str, Interval]:
    """Test accuracy in each of the planes, over repeats, of each of the models that were run and fitted its training sets."""
    rows = table[table["model"].isin(models)]
    for plane in planes:
        if len(rows) and (fit := rows[f"train_{plane}"].mean()) < FITTED:
            raise NotMeasured(f"the training accuracy in the {plane} plane is {fit:.2f}; {FITTED:g} is wanted")
    cells = {
        f"{model}, {plane}": over_draws(table[table["model"] == model][f"test_{plane}"])
        for model in models
        if model in set(table["model"])
        for plane in planes
    }
    if not cells:
        raise NotMeasured(f"this scale has no {' and no '.join(models)}")
    return cells


def least(table: pd.DataFrame, models: tuple[str, ...], planes: tuple[str, ...]) -> Measured:
    """The least of these accuracies."""
    return lowest(accuracy(table, models, planes))


def most(table: pd.DataFrame, models: tuple[str, ...], planes: tuple[str, ...]) -> Measured:
    """The largest of these accuracies; the note has what the networks reach on their training sets."""
    rows = table[table["model"].isin(models)]
    fit = ", ".join(f"{p} {rows[f'train_{p}'].mean():.2f}" for p in planes) if len(rows) else ""
    return highest(accuracy(table, models, planes), f"On the training sets: {fit}. {REDUCED}")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Test accuracy by plane and model: one point per repeat, a bar for the mean; chance is the dashed line."""
    import altair as alt

    long = table.melt(["model", "seed"], [f"test_{p}" for p in PLANES], "plane", "accuracy")
    long["plane"] = long["plane"].str.removeprefix("test_")
    x = alt.X("plane:N", sort=list(PLANES), title=None, axis=alt.Axis(labelAngle=0))
    scale = alt.Scale(domain=[0.4, 1.02])
    y = alt.Y("accuracy:Q", title="test accuracy", scale=scale)
    base = alt.Chart(long)
    points = base.mark_point(filled=True, opacity=0.7, size=40).encode(
        x=x, y=y, color=alt.Color("plane:N", legend=None)
    )
    means = base.mark_tick(thickness=3, width=40, color="black").encode(
        x=x, y=alt.Y("mean(accuracy):Q", title="test accuracy", scale=scale)
    )
    chance = base.mark_rule(strokeDash=[4, 4], color="grey").encode(y=alt.YDatum(0.5, scale=scale))
    panel = (chance + points + means).properties(width=150, height=220)
    chart: alt.TopLevelMixin = panel.facet(column=alt.Column("model:N", title=None)).properties(
        title="Circles in planes of G"
    )
    return chart


RESIDUAL = ("normalised",)
CLAIMS = (
    Claim(
        "S4.8",
        f"{SOURCE}, Fig. 1",
        "circles: the dense net generalises for any plane, ResNet only if both directions lie in the top eigenspace of G",
        checks=(
            Check("dense net, any plane", partial(least, models=("mlp",), planes=tuple(PLANES)), above(0.9)),
            Check("residual networks, top plane", partial(least, models=RESIDUAL, planes=("top",)), above(0.9)),
            Check(
                "residual networks, other planes",
                partial(most, models=RESIDUAL, planes=("mixed", "bottom")),
                below(0.65),
            ),
        ),
        reach=("size", "n_train"),
    ),
)

PAPER = Paper("circles", "Concentric circles in a plane of the input space", SOURCE, 2, grid, run, CLAIMS, chart)

"""Removing what the model hardly sees, against removing as much variance at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, Paper, Point, rising
from priorscope.papers._over_draws import lowest, over_draws
from priorscope.papers.geometry._charts import panels
from priorscope.papers.geometry._sizes import SOURCE, models_of, sizes, width_of

if TYPE_CHECKING:
    import altair as alt


def grid(scale: str) -> list[Point]:
    """Models × numbers of removed directions × repeats."""
    n, epochs, repeats = {"tiny": (100, 2, 1), "small": (5000, 30, 5), "paper": (10_000, 50, 5)}[scale]
    names = ("lenet",) if scale == "tiny" else models_of(scale)[1:]
    data = "digits" if scale == "tiny" else "cifar2"
    side = {"size": 16} if scale == "small" else {}
    common = {
        **sizes(scale),
        **side,
        "data": data,
        "n_train": n,
        "batch": 128 if scale == "paper" else 64,
        "epochs": epochs,
    }
    removed = {"tiny": (32,), "small": (64, 128, 192), "paper": (256, 512, 768, 960)}[scale]
    return [
        {"model": m, "width": width_of(m, scale), "removed": k, **common, "seed": s}
        for m in names
        for k in removed
        for s in range(repeats)
    ]


def run(point: Point) -> Metrics:
    """Test accuracy after removing directions by geometry and at random, trained side by side."""
    from priorscope.papers.geometry._models import accuracies, geometry, images, train
    from priorscope.probes import remove_features

    name, seed = point["model"], point["seed"]
    data = images(point["data"], point["n_train"], seed, point["size"], n_test=4000)
    G = geometry(name, point["n_models"], 1, point["size"], point["width"])
    cut = remove_features(data, point["removed"], geometry=G, seed=seed)
    sets = [cut.data, cut.control]
    options = {key: point[key] for key in ("epochs", "batch", "width")}
    template, params = train(name, sets, seed=seed, **options)
    kept, control = accuracies(template, params, sets)
    fit, control_fit = accuracies(template, params, sets, which="train")
    counts = {"removed_at_random": len(cut.removed_at_random), "variance": cut.variance_removed}
    trained = {"train_geometry": fit, "train_random": control_fit}
    return {
        "geometry": kept,
        "random": control,
        **trained,
        **counts,
        "variance_at_random": cut.control_variance_removed,
    }


def gap(table: pd.DataFrame) -> Measured:
    """Test accuracy after removal by geometry minus at random, mean over models and numbers removed, over repeats."""
    gaps = (table["geometry"] - table["random"]).groupby(table["seed"]).mean()
    return Measured(
        over_draws(gaps), "CIFAR-2 in grey at 16×16, 5,000 images; a small residual network in place of ResNet18"
    )


def least_gap(table: pd.DataFrame) -> Measured:
    """The same gap for the model and number of removed directions where it is least."""
    gaps = (table["geometry"] - table["random"]).groupby([table["model"], table["removed"]])
    return lowest({f"{model} {removed}": over_draws(values) for (model, removed), values in gaps})


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Test accuracy against the number of removed directions, one panel per model."""
    names = {"geometry": "least G per variance", "random": "random, equal variance"}
    long = table.rename(columns=names).melt(["model", "removed", "seed"], list(names.values()), "by", "accuracy")
    titles: Point = {"title": "Removing features", "x_title": "directions removed", "y_title": "test accuracy"}
    chart: alt.TopLevelMixin = panels(long, "removed", "accuracy", "by", "model", **titles)
    return chart


CLAIMS = (
    Claim(
        "S4.11",
        f"{SOURCE}, Fig. 6",
        "removing features by (G, S) hurts less than removing random directions of equal variance",
        checks=(
            Check("mean gap of accuracy", gap, rising()),
            Check("least gap of a model and number removed", least_gap, rising()),
        ),
        reach=("size", "width", "n_train", "epochs"),
    ),
)

PAPER = Paper("feature-removal", "Removing features by the geometry", SOURCE, 2, grid, run, CLAIMS, chart)

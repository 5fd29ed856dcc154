"""A linear and a circular feature that both tell the class: which one a network relies on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, Paper, Point, falling, rising
from priorscope.papers._over_draws import over_draws
from priorscope.papers.geometry._charts import panels
from priorscope.papers.geometry._sizes import REDUCED, SOURCE, models_of, rows_of, sizes, width_of

if TYPE_CHECKING:
    import altair as alt


def grid(scale: str) -> list[Point]:
    """Models × repeats; each run trains one network per rank of the linear feature."""
    epochs, repeats, ranks = {"tiny": (2, 1, 2), "small": (30, 5, 5), "paper": (100, 5, 1022)}[scale]
    names = ("mlp",) if scale == "tiny" else models_of(scale)
    return [
        {"model": m, "width": width_of(m, scale), **sizes(scale), "epochs": epochs, "ranks": ranks, "seed": s}
        for m in names
        for s in range(repeats)
    ]


def run(point: Point) -> Metrics:
    """Accuracy on test sets where only the linear or only the circular feature tells the class."""
    from priorscope.data import linear_plus_circle
    from priorscope.papers.geometry._models import accuracies, geometry, spaced_ranks, train

    name, size, seed = point["model"], point["size"], point["seed"]
    modes = geometry(name, point["n_models"], 1, size, point["width"]).modes
    plane = modes[:, :2].mT
    ranks = spaced_ranks(2, modes.shape[1], point["ranks"])
    options = {"seed": seed, "input_shape": (1, size, size), "radii": (1.0, 3.0), "strength": 1.0}
    by_feature = {
        keep: [linear_plus_circle(modes[:, k], plane, point["n_train"], 1000, keep=keep, **options) for k in ranks]
        for keep in ("linear", "circle")
    }
    sets = by_feature["linear"]  # the training splits are the same
    template, params = train(name, sets, seed=seed, width=point["width"], epochs=point["epochs"], batch=point["batch"])
    out = {keep: np.array(accuracies(template, params, sets)) for keep, sets in by_feature.items()}
    fit = np.array(accuracies(template, params, sets, which="train"))
    preferred = out["linear"] - out["circle"]
    ends = {"first_preference": float(preferred[0]), "last_preference": float(preferred[-1])}
    return {"rank": np.array(ranks), **out, **ends, "train_accuracy": fit}


def curves(table: pd.DataFrame) -> pd.DataFrame:
    """One row per model, repeat and rank."""
    rows = [
        {"model": r["model"], "seed": r["seed"], "rank": int(k), "linear": float(a), "circle": float(b)}
        for r in table.to_dict("records")
        for k, a, b in zip(r["rank"], r["linear"], r["circle"])
    ]
    return pd.DataFrame(rows)


def preference(table: pd.DataFrame, model: str, end: str) -> Measured:
    """Accuracy by the linear feature alone minus by the circular one alone, over repeats, at the first or the last rank."""
    return Measured(over_draws(rows_of(table, None, model)[f"{end}_preference"]), REDUCED)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Both accuracies against the rank of the linear feature, one panel per model."""
    long = curves(table).melt(["model", "seed", "rank"], ["linear", "circle"], "feature", "accuracy")
    titles: Point = {
        "title": "Which feature the network relies on",
        "y_title": "accuracy by this feature alone",
    }
    chart: alt.TopLevelMixin = panels(
        long, "rank", "accuracy", "feature", "model", chance=0.5, x_title="rank of the linear one in G", **titles
    )
    return chart


CLAIMS = (
    Claim(
        "S4.10",
        f"{SOURCE}, Fig. 5",
        "as the eigenvalue of the linear feature falls, the network switches from it to the circular feature",
        checks=tuple(
            Check(f"linear minus circular at the {end} rank, {name}", partial(preference, model=m, end=end), expect)
            for m, name in (("lenet", "LeNet"), ("residual", "residual network"))
            for end, expect in (("first", rising()), ("last", falling()))
        ),
    ),
)

PAPER = Paper("simplicity", "Simplicity bias and the geometry of the input space", SOURCE, 2, grid, run, CLAIMS, chart)

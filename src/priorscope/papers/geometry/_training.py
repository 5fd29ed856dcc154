"""The geometry along training: where it moves, and how little it moves on data that it does not see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from priorscope.lab import Metrics, Paper, Point
from priorscope.papers.geometry._sizes import SOURCE, models_of, sizes, width_of
from priorscope.papers.geometry._training_claims import CLAIMS

if TYPE_CHECKING:
    import altair as alt

__all__ = ["PAPER"]

RATES = {1.0: 30, 0.1: 60, 0.01: 100, 0.001: 300}  # learning rate: epochs, more where steps are small
RECIPE: Point = {"clip": 0.5, "decay": True}  # of the released code, where the text is silent


def grid(scale: str) -> list[Point]:
    """Alignment on images; G against flip(G) data with random labels; variations of data, width and step size."""
    tiny = scale == "tiny"
    epochs, repeats, nets = {"tiny": (2, 1, 2), "small": (300, 5, 5), "paper": (100, 5, 25)}[scale]
    long = {"tiny": 2, "small": 100, "paper": 100}[scale]
    few = {"tiny": 2, "small": 2, "paper": 25}[scale]
    common = {**sizes(scale), "learning_rate": 0.1}
    names = models_of(scale)[:2] if tiny else models_of(scale)
    n, batch = common["n_train"], common["batch"]
    points: list[Point] = []
    for seed in range(repeats):
        last = {"seed": seed}
        for m in names:
            base = {"part": "alignment", "model": m, "width": width_of(m, scale), **common, "batch": n}  # whole data
            images = "digits" if tiny else "cifar2"
            points.append({**base, "data": images, "epochs": epochs, "networks": nets, **last})
        for m in names if tiny else ("mlp", "lenet", "resnet"):
            deep = m == "resnet"  # 1,500 steps and one network at the small scale: 23 ms per step
            rounds = {"small": 75, "paper": 50}[scale] if deep else long
            flip = {"part": "flip", "model": m, "width": width_of(m, scale), **common, "epochs": rounds}
            flip |= {"networks": 1 if deep and scale == "small" else few, **last}
            points += [{**flip, "data": covariance} for covariance in ("G", "flip")]
        if tiny:
            continue
        lenet = {"model": "lenet", **common, **last}
        more = {"part": "data size", "n_train": 2 * n, "batch": 2 * batch, "width": 6, "epochs": long, "networks": 1}
        points += [{**lenet, **more, "data": covariance} for covariance in ("G", "flip")]  # as many steps
        tight = {"part": "few parameters", "n_train": 4 * n, "batch": 4 * batch, "width": 2, "epochs": 60}
        points.append({**lenet, **tight, "data": "linear"})  # about one sample per parameter
        third = models_of(scale)[2]
        rate = {"part": "rate", "model": third, "width": width_of(third, scale), **common, "data": "linear", **last}
        points += [{**rate, "learning_rate": step, "epochs": rounds} for step, rounds in RATES.items()]
    return points


def run(point: Point) -> Metrics:
    """Correlations, velocity and training accuracy after every epoch, over an ensemble trained together."""
    return _two_directions(point) if point["part"] in ("rate", "few parameters") else _along(point)


def _along(point: Point) -> Metrics:
    """The geometry after every epoch on images, or on Gaussian data of covariance G or flip(G) with random labels.

    Gaussian data are scaled to a mean variance of one per number, for both covariances: divided by the largest eigenvalue
    only, inputs are ten times shorter at 8×8 than at the published size, and networks stay at their first plateau.
    """
    from priorscope.data import flip_spectrum, random_labels
    from priorscope.papers.geometry._models import build, geometry, images
    from priorscope.probes import geometry_trajectory, matrix_correlation, second_moment

    name, size, seed = point["model"], point["size"], point["seed"]
    G = geometry(name, point["n_models"], 1, size, point["width"])
    if point["part"] == "alignment":
        data = images(point["data"], point["n_train"], seed, size)
    else:
        covariance = G.matrix if point["data"] == "G" else flip_spectrum(G.matrix)
        unit = float((size**2 * G.eigenvalues[0] / G.eigenvalues.sum()).sqrt())
        data = random_labels(covariance, point["n_train"], seed=seed, input_shape=(1, size, size))
        data = data.transformed(lambda batch: unit * batch)
    options = {key: point[key] for key in ("epochs", "learning_rate", "batch")}
    options |= {"clip": 5.0, "decay": True} if point["part"] == "alignment" else RECIPE
    module = build(name, size=size, width=point["width"])
    path = geometry_trajectory(data, module, geometry=G, n_networks=point["networks"], seed=seed, **options)
    names = ("corr_gsg", "corr_s") if point["part"] == "alignment" else ("velocity", "accuracy")
    out: Point = {key: getattr(path, key).float().numpy() for key in names}  # for the chart
    means = {"mean_accuracy": float(path.accuracy[1:].mean()), "mean_velocity": float(path.velocity.mean())}
    S = second_moment(data.inputs)
    alike = matrix_correlation(G.matrix.double() @ S @ G.matrix.double(), S)
    early = early_and_later(path.corr_gsg.numpy(), path.corr_s.numpy())
    return {**out, **means, **early, "train_accuracy": float(path.accuracy[-1]), "corr_gsg_s": alike}


def early_and_later(gsg: np.ndarray, s: np.ndarray) -> dict[str, float]:
    """Rise of Corr(Gᵗ, GSG) and its lead over Corr(Gᵗ, S) in the first quarter of training, and the lead after it.

    The paper speaks of the initial stage; the first quarter was fixed before the runs.
    """
    early = max(2, len(gsg) // 4)
    lead = gsg - s
    return {
        "early_rise": float(gsg[1:early].max() - gsg[0]),
        "early_lead": float(lead[1:early].mean()),
        "later_lead": float(lead[early:].mean()),
    }


def _two_directions(point: Point) -> Metrics:
    """Test and training accuracy where the first or the last eigenvector of G tells the class."""
    from priorscope.data import directional
    from priorscope.papers.geometry._models import accuracies, geometry, train

    name, size, seed = point["model"], point["size"], point["seed"]
    modes = geometry(name, point["n_models"], 1, size, point["width"]).modes
    shape = {"seed": seed, "input_shape": (1, size, size)}
    sets = [directional(modes[:, k], point["data"], point["n_train"], 1000, **shape) for k in (0, -1)]
    options = {key: point[key] for key in ("epochs", "learning_rate", "batch", "width")}
    template, params = train(name, sets, seed=seed, **options, **RECIPE)
    top, bottom = accuracies(template, params, sets)
    fit_top, fit_bottom = accuracies(template, params, sets, which="train")
    return {"test_top": top, "test_bottom": bottom, "fit_top": fit_top, "fit_bottom": fit_bottom}


def _curves(rows: pd.DataFrame, columns: dict[str, str]) -> pd.DataFrame:
    """Mean and standard deviation over repeats of curves along training, at most about 60 epochs of each."""
    records = [
        {
            "model": r["model"],
            "curve": name or f"data of {'G' if r['data'] == 'G' else 'flip(G)'}",
            "epoch": t,
            "value": float(r[column][t]),
        }
        for r in rows.to_dict("records")
        for column, name in columns.items()
        for t in range(0, len(r[column]), -(-len(r[column]) // 60))
    ]
    groups = pd.DataFrame(records).groupby(["model", "curve", "epoch"])["value"]
    mean, spread = groups.mean(), groups.std().fillna(0.0)
    return pd.DataFrame({"value": mean, "low": mean - spread, "high": mean + spread}).reset_index()


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Correlations along training on images; below, training accuracy and velocity on G and flip(G) data."""
    import altair as alt

    def lines(rows: pd.DataFrame, title: str) -> Any:
        base = alt.Chart(rows).encode(x=alt.X("epoch:Q").scale(nice=False), color=alt.Color("curve:N", title=None))
        band = base.mark_area(opacity=0.25).encode(y=alt.Y("low:Q", title=title).scale(zero=False), y2="high:Q")
        mean = base.mark_line().encode(y=alt.Y("value:Q", title=title))
        panel = (band + mean).properties(width=200, height=150)
        return panel.facet(column=alt.Column("model:N", title=None)).resolve_scale(x="independent")

    images, noise = (table[table["part"] == part] for part in ("alignment", "flip"))
    three = alt.vconcat(
        lines(_curves(images, {"corr_gsg": "Corr(Gᵗ, GSG)", "corr_s": "Corr(Gᵗ, S)"}), "correlation, images"),
        lines(_curves(noise, {"accuracy": ""}), "training accuracy"),
        lines(_curves(noise, {"velocity": ""}), "velocity of G"),
    )
    heading = alt.Title("The geometry along training", subtitle="mean and standard deviation over repeats")
    return three.resolve_scale(color="independent").properties(title=heading)


PAPER = Paper(
    "geometry-training", "The geometry of the input space along training", SOURCE, 3, grid, run, CLAIMS, chart
)

"""Runs along training: the geometry after every epoch, and accuracies where one direction tells the class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Metrics, Point

if TYPE_CHECKING:
    import altair as alt


RECIPE: Point = {"clip": 0.5, "decay": True}  # of the released code, where the text is silent


def along(point: Point) -> Metrics:
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


def two_directions(point: Point) -> Metrics:
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


def curves(rows: pd.DataFrame, columns: dict[str, str]) -> pd.DataFrame:
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


def lines(rows: pd.DataFrame, title: str) -> alt.FacetChart:
    """Mean and standard deviation along training, one panel per model, from what :func:`curves` gives."""
    import altair as alt

    base = alt.Chart(rows).encode(x=alt.X("epoch:Q").scale(nice=False), color=alt.Color("curve:N", title=None))
    band = base.mark_area(opacity=0.25).encode(y=alt.Y("low:Q", title=title).scale(zero=False), y2="high:Q")
    mean = base.mark_line().encode(y=alt.Y("value:Q", title=title))
    panel = (band + mean).properties(width=200, height=150)
    chart: alt.FacetChart = panel.facet(column=alt.Column("model:N", title=None)).resolve_scale(x="independent")
    return chart

"""The geometry along training: where it moves, and how little it moves on data that it does not see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from priorscope.lab import Claim, Paper, Verdict
from priorscope.statistics import bootstrap_interval

__all__ = ["PAPER"]

SOURCE = "Geometric inductive biases of deep networks: the role of data and architecture"
BASE = {"width": 16, "learning_rate": 0.1, "n_train": 1000}


def grid(scale: str) -> list[dict[str, Any]]:
    """Alignment on images; G against flip(G) data with random labels, and variations of width, data and step size."""
    epochs, repeats, nets = {"tiny": (2, 1, 3), "small": (20, 5, 8), "paper": (50, 5, 25)}[scale]
    names = ("mlp", "resnet") if scale == "tiny" else ("mlp", "lenet", "resnet")
    models = {"tiny": 20, "small": 500, "paper": 10_000}[scale]
    base = {**BASE, "n_train": 100} if scale == "tiny" else BASE
    data = "digits" if scale == "tiny" else "cifar2"
    sizes = {"epochs": epochs, "networks": nets, "n_models": models}
    points: list[dict[str, Any]] = []
    variations: list[dict[str, Any]] = [{}]
    if scale != "tiny":
        variations += [{"width": 8}, {"width": 32}, {"n_train": 4000}, {"learning_rate": 0.01}, {"learning_rate": 1.0}]
    for seed in range(repeats):
        for name in names:
            points.append({"part": "alignment", "model": name, "data": data, **base, **sizes, "seed": seed})
        for covariance in ("G", "flip"):
            points += [
                {"part": "flip", "model": m, "data": covariance, **base, **v, **sizes, "seed": seed}
                for m in names
                for v in (variations if m == "resnet" else [{}])
            ]
    return points


def run(point: dict[str, Any]) -> dict[str, Any]:
    """Correlations, velocity and training accuracy after every epoch, over an ensemble trained together."""
    import torch

    from priorscope.data import flip_spectrum, random_labels
    from priorscope.probes import matrix_correlation, second_moment
    from priorscope.probes._geometry._training import geometry_of

    from ._geometry_models import accuracies, geometry, images, train

    G = geometry(point["model"], point["n_models"], width=point["width"]).matrix
    if point["part"] == "alignment":
        data = images(point["data"], point["n_train"], point["seed"])
    else:
        covariance = G if point["data"] == "G" else flip_spectrum(G)
        data = random_labels(covariance, point["n_train"], seed=point["seed"], input_shape=(1, 8, 8))
    S = second_moment(data.inputs)
    probes = torch.randn(16, *data.input_shape, generator=torch.Generator().manual_seed(point["seed"]))
    sets = [data] * point["networks"]
    curves: dict[str, list[float]] = {"corr_gsg": [], "corr_s": [], "velocity": []}
    last: list[Any] = []

    def watch(template: Any, params: Any) -> None:
        now = geometry_of(template, params, probes)
        curves["corr_gsg"].append(matrix_correlation(now, G @ S @ G))
        curves["corr_s"].append(matrix_correlation(now, S))
        if last:
            curves["velocity"].append(1 - matrix_correlation(now, last[-1]))
        last.append(now)

    batch = 128 * point["n_train"] // BASE["n_train"] if point["n_train"] > BASE["n_train"] else 128  # steps stay equal
    template, params = train(
        point["model"],
        sets,
        seed=point["seed"],
        width=point["width"],
        epochs=point["epochs"],
        learning_rate=point["learning_rate"],
        batch=batch,
        watch=watch,
    )
    final = float(np.mean(accuracies(template, params, sets, which="train")))
    out: dict[str, Any] = {name: np.array(values) for name, values in curves.items()}
    return {**out, "train_accuracy": final, "mean_velocity": float(np.mean(curves["velocity"]))}


def _judge_alignment(table: pd.DataFrame) -> Verdict:
    rows = table[table["part"] == "alignment"]
    words, good = [], []
    rises_of: dict[str, Any] = {}
    for model, group in rows.groupby("model"):
        gsg, s = (np.stack(list(group[c])) for c in ("corr_gsg", "corr_s"))  # (seeds, epochs + 1)
        early = max(2, gsg.shape[1] // 4)
        rise = bootstrap_interval(gsg[:, 1:early].max(1) - gsg[:, 0])
        above = bootstrap_interval((gsg - s)[:, 1:].mean(1))
        good.append(rise.low > 0 and (abs(above.value) < 0.05 if model == "mlp" else above.low > 0))
        words.append(f"{model}: early rise {rise.value:+.3f}, above Corr(G, S) by {above.value:+.3f}")
        rises_of[str(model)] = above
    if not {"mlp", "lenet", "resnet"} <= set(rises_of):
        return Verdict("not run", note="this scale has not all models")
    value = rises_of["resnet"]
    note = "; ".join(words) + ". Reduced: CIFAR-2 in grey at 8×8, 1,000 images, 8 networks, small models"
    return Verdict("holds" if all(good) else "fails", value.value, value.low, value.high, note)


def _gaps(rows: pd.DataFrame, metric: str) -> np.ndarray:
    """Metric on G data minus on flip(G) data, by seed."""
    wide = rows.pivot_table(index="seed", columns="data", values=metric)
    return (wide["G"] - wide["flip"]).to_numpy()


def _is_base(table: pd.DataFrame) -> pd.Series:
    return (
        (table["width"] == BASE["width"])
        & (table["learning_rate"] == BASE["learning_rate"])
        & (table["n_train"] == BASE["n_train"])
    )


def _judge_flip(table: pd.DataFrame) -> Verdict:
    rows = table[(table["part"] == "flip")]
    rows = rows[_is_base(rows)]
    if not {"mlp", "lenet", "resnet"} <= set(rows["model"]):
        return Verdict("not run", note="this scale has not all models")
    words, good = [], []
    for model, group in rows.groupby("model"):
        speed, fit = (bootstrap_interval(_gaps(group, m)) for m in ("mean_velocity", "train_accuracy"))
        words.append(f"{model}: accuracy {fit.value:+.3f}, velocity {speed.value:+.4f}")
        if model == "mlp":
            good.append(abs(fit.value) < 0.05)
        else:
            good.append(speed.low > 0 and fit.low > 0)
    interval = bootstrap_interval(_gaps(rows[rows["model"] == "resnet"], "train_accuracy"))
    note = "G minus flip(G): " + "; ".join(words) + ". Reduced: 1×8×8 inputs, 1,000 samples, 8 networks, small models"
    return Verdict("holds" if all(good) else "fails", interval.value, interval.low, interval.high, note)


def _judge_variations(table: pd.DataFrame) -> Verdict:
    rows = table[(table["part"] == "flip") & (table["model"] == "resnet")]
    rows = rows[~_is_base(rows)]
    if rows.empty:
        return Verdict("not run", note="this scale has no variations")
    words, good, least = [], [], []
    for (width, rate, n), group in rows.groupby(["width", "learning_rate", "n_train"]):
        fit = bootstrap_interval(_gaps(group, "train_accuracy"))
        words.append(f"width {width}, rate {rate:g}, n {n}: {fit.value:+.3f}")
        good.append(fit.low > 0)
        least.append(fit)
    worst = min(least, key=lambda i: i.value)
    note = "training accuracy on G minus flip(G): " + "; ".join(words) + ". Reduced as S4.7; rates 1, 0.1 and 0.01"
    return Verdict("holds" if all(good) else "fails", worst.value, worst.low, worst.high, note)


def chart(table: pd.DataFrame) -> Any:
    """Correlations along training, a panel a model."""
    import altair as alt

    rows = [
        {"model": r["model"], "epoch": t, "with": name, "correlation": float(v)}
        for r in table[table["part"] == "alignment"].to_dict("records")
        for name, column in (("GSG", "corr_gsg"), ("S", "corr_s"))
        for t, v in enumerate(r[column])
    ]
    lines = alt.Chart(pd.DataFrame(rows), title="The geometry along training").mark_line()
    y = alt.Y("mean(correlation):Q", title="correlation of Gᵗ")
    return lines.encode(x="epoch:Q", y=y, color="with:N", column="model:N").properties(width=220, height=220)


CLAIMS = (
    Claim(
        "S4.6",
        f"{SOURCE}, Fig. 2",
        "Corr(G^t, GSG) rises early in training and lies above Corr(G^t, S), except for the dense net where they coincide",
        "rise > 0, above",
        None,
        _judge_alignment,
    ),
    Claim(
        "S4.7",
        f"{SOURCE}, Fig. 3",
        "velocity and training accuracy are far lower on flip(G) data than on G data; not so for the dense net",
        "gap > 0",
        None,
        _judge_flip,
    ),
    Claim(
        "S4.13",
        f"{SOURCE}, App. A.8",
        "the effect is not one of over-parametrisation, data size or learning rate",
        "same ordering",
        None,
        _judge_variations,
    ),
)

PAPER = Paper(
    "geometry-training", "The geometry of the input space along training", SOURCE, 1, grid, run, CLAIMS, chart
)

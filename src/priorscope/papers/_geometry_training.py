"""The geometry along training: where it moves, and how little it moves on data that it does not see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from priorscope.lab import Claim, Paper, Verdict
from priorscope.statistics import bootstrap_interval

from ._geometry_sizes import REDUCED, SOURCE, models_of, sizes, width_of

__all__ = ["PAPER"]

RATES = {1.0: 25, 0.1: 25, 0.01: 50, 0.001: 100}  # learning rate: epochs, more where steps are small


def grid(scale: str) -> list[dict[str, Any]]:
    """Alignment on images; G against flip(G) data with random labels; variations of data, width and step size."""
    tiny = scale == "tiny"
    epochs, repeats, nets = {"tiny": (2, 1, 2), "small": (15, 5, 5), "paper": (100, 5, 25)}[scale]
    long = {"tiny": 2, "small": 40, "paper": 50}[scale]
    few = {"tiny": 2, "small": 2, "paper": 25}[scale]
    common = {**sizes(scale), "learning_rate": 0.1}
    names = models_of(scale)[:2] if tiny else models_of(scale)
    n, batch = common["n_train"], common["batch"]
    more: list[dict[str, Any]] = [
        {"part": "data size", "n_train": 2 * n, "batch": 2 * batch, "width": 6},  # as many steps
        {"part": "few parameters", "n_train": 4 * n, "batch": 4 * batch, "width": 2},  # about one a sample
    ]
    points: list[dict[str, Any]] = []
    for seed in range(repeats):
        last = {"seed": seed}
        for m in names:
            base = {"model": m, "width": width_of(m, scale), **common}
            images = "digits" if tiny else "cifar2"
            points.append({"part": "alignment", **base, "data": images, "epochs": epochs, "networks": nets, **last})
            flip = {"part": "flip", **base, "epochs": long, "networks": few, **last}
            points += [{**flip, "data": covariance} for covariance in ("G", "flip")]
        if tiny:
            continue
        lenet = {"model": "lenet", **common, "epochs": long, "networks": 2, **last}
        points += [{**lenet, **variation, "data": covariance} for variation in more for covariance in ("G", "flip")]
        points += [
            {**lenet, "part": "rate", "width": 6, "data": "linear", "learning_rate": rate, "epochs": rounds}
            for rate, rounds in RATES.items()
        ]
    return points


def run(point: dict[str, Any]) -> dict[str, Any]:
    """Correlations, velocity and training accuracy after every epoch, over an ensemble trained together."""
    return _rate(point) if point["part"] == "rate" else _along(point)


def _along(point: dict[str, Any]) -> dict[str, Any]:
    """The geometry after every epoch on images, or on Gaussian data of covariance G or flip(G) with random labels."""
    from priorscope.data import flip_spectrum, random_labels
    from priorscope.probes import geometry_trajectory

    from ._geometry_models import build, geometry, images

    name, size, seed = point["model"], point["size"], point["seed"]
    G = geometry(name, point["n_models"], 1, size, point["width"])
    if point["part"] == "alignment":
        data = images(point["data"], point["n_train"], seed, size)
    else:
        covariance = G.matrix if point["data"] == "G" else flip_spectrum(G.matrix)
        data = random_labels(covariance, point["n_train"], seed=seed, input_shape=(1, size, size))
    options = {key: point[key] for key in ("epochs", "learning_rate", "batch")}
    module = build(name, size=size, width=point["width"])
    path = geometry_trajectory(data, module, geometry=G, n_networks=point["networks"], seed=seed, **options)
    names = ("corr_gsg", "corr_s", "velocity", "accuracy")
    out: dict[str, Any] = {key: getattr(path, key).numpy() for key in names}
    means = {"mean_accuracy": float(path.accuracy[1:].mean()), "mean_velocity": float(path.velocity.mean())}
    return {**out, **means, "train_accuracy": float(path.accuracy[-1])}


def _rate(point: dict[str, Any]) -> dict[str, Any]:
    """Test and training accuracy at one learning rate where the first or the last eigenvector of G tells the class."""
    from priorscope.data import directional

    from ._geometry_models import accuracies, geometry, train

    name, size, seed = point["model"], point["size"], point["seed"]
    modes = geometry(name, point["n_models"], 1, size, point["width"]).modes
    shape = {"seed": seed, "input_shape": (1, size, size)}
    sets = [directional(modes[:, k], point["data"], point["n_train"], 1000, **shape) for k in (0, -1)]
    options = {key: point[key] for key in ("epochs", "learning_rate", "batch", "width")}
    template, params = train(name, sets, seed=seed, **options)
    top, bottom = accuracies(template, params, sets)
    fit_top, fit_bottom = accuracies(template, params, sets, which="train")
    return {"test_top": top, "test_bottom": bottom, "fit_top": fit_top, "fit_bottom": fit_bottom}


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
    if len(rises_of) < 3:
        return Verdict("not run", note="this scale has not all models")
    value = rises_of[sorted(set(rises_of) - {"mlp", "lenet"})[0]]
    note = "; ".join(words) + f". CIFAR-2 in grey, 5 networks a repeat. {REDUCED}"
    return Verdict("holds" if all(good) else "fails", value.value, value.low, value.high, note)


def _gaps(rows: pd.DataFrame, metric: str) -> np.ndarray:
    """Metric on G data minus on flip(G) data, by seed."""
    wide = rows.pivot_table(index="seed", columns="data", values=metric)
    return (wide["G"] - wide["flip"]).to_numpy()


def _judge_flip(table: pd.DataFrame) -> Verdict:
    rows = table[table["part"] == "flip"]
    if rows["model"].nunique() < 3:
        return Verdict("not run", note="this scale has not all models")
    words, good = [], []
    for model, group in rows.groupby("model"):
        speed, fit = (bootstrap_interval(_gaps(group, m)) for m in ("mean_velocity", "mean_accuracy"))
        fits, speeds = (group.groupby("data")[m].mean().to_dict() for m in ("mean_accuracy", "mean_velocity"))
        words.append(
            f"{model!s}: accuracy {fits['G']:.3f} against {fits['flip']:.3f}, "
            f"velocity {speeds['G']:.2g} against {speeds['flip']:.2g}"
        )
        good.append(abs(fit.value) < 0.05 if model == "mlp" else speed.low > 0 and fit.low > 0)
    interval = bootstrap_interval(_gaps(rows[~rows["model"].isin(["mlp", "lenet"])], "mean_accuracy"))
    note = f"G against flip(G), means along training: {'; '.join(words)}. 2 networks a repeat. {REDUCED}"
    return Verdict("holds" if all(good) else "fails", interval.value, interval.low, interval.high, note)


def _judge_variations(table: pd.DataFrame) -> Verdict:
    words, gaps = [], []
    for part in ("data size", "few parameters"):
        rows = table[table["part"] == part]
        if not rows.empty:
            gaps.append(bootstrap_interval(_gaps(rows, "mean_accuracy")))
            words.append(f"{part}: training accuracy on G minus flip(G) {gaps[-1].value:+.3f}")
    rates = table[table["part"] == "rate"]
    if rates.empty or len(gaps) < 2:
        return Verdict("not run", note="this scale has no variations")
    for rate, group in rates.groupby("learning_rate"):
        gaps.append(bootstrap_interval(group["test_top"] - group["test_bottom"]))
        words.append(
            f"rate {rate:g}: test accuracy {group['test_top'].mean():.2f} along the first, "
            f"{group['test_bottom'].mean():.2f} along the last eigenvector"
        )
    worst = min(gaps, key=lambda i: i.value)
    good = [g.low > 0 for g in gaps]
    verdict = "holds" if all(good) else "fails"
    note = (
        "; ".join(words) + f". {sum(good)} of {len(good)} keep the ordering. LeNet throughout; rates on linear labels"
    )
    return Verdict(verdict, worst.value, worst.low, worst.high, note + f". {REDUCED}")


def chart(table: pd.DataFrame) -> Any:
    """Above, correlations along training on images; below, training accuracy on G and flip(G) data."""
    import altair as alt

    def lines(rows: list[dict[str, Any]], title: str) -> Any:
        base = alt.Chart(pd.DataFrame(rows)).encode(x=alt.X("epoch:Q"), color=alt.Color("curve:N", title=None))
        y = alt.Y("value:Q", title=title).scale(zero=False)
        band = base.mark_errorband(extent="stdev").encode(y=y)
        mean = base.mark_line().encode(y=alt.Y("mean(value):Q", title=title))
        panel = (band + mean).properties(width=200, height=180)
        return panel.facet(column=alt.Column("model:N", title=None))

    images = [
        {"model": r["model"], "epoch": t, "curve": name, "value": float(v)}
        for r in table[table["part"] == "alignment"].to_dict("records")
        for name, column in (("Corr(Gᵗ, GSG)", "corr_gsg"), ("Corr(Gᵗ, S)", "corr_s"))
        for t, v in enumerate(r[column])
    ]
    noise = [
        {"model": r["model"], "epoch": t, "curve": {"G": "data of G", "flip": "data of flip(G)"}[r["data"]], "value": v}
        for r in table[table["part"] == "flip"].to_dict("records")
        for t, v in enumerate(np.asarray(r["accuracy"]).tolist())
    ]
    both = alt.vconcat(lines(images, "correlation"), lines(noise, "training accuracy"))
    return both.resolve_scale(color="independent").properties(title="The geometry along training")


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

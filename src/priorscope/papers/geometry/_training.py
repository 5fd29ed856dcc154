"""The geometry along training: where it moves, and how little it moves on data that it does not see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from priorscope.lab import Claim, Paper, Verdict
from priorscope.papers.geometry._sizes import NARROW, REDUCED, SOURCE, models_of, sizes, width_of
from priorscope.statistics import bootstrap_interval

__all__ = ["PAPER"]

RATES = {1.0: 30, 0.1: 60, 0.01: 100, 0.001: 300}  # learning rate: epochs, more where steps are small
TRAINED = 0.6  # training accuracy on G data below which a network has not trained, so nothing is tested
FITTED = 0.9  # training accuracy along the first eigenvector below which a rate decides nothing (published: 1)
RECIPE: dict[str, Any] = {"clip": 0.5, "decay": True}  # of the released code, where the text is silent


def grid(scale: str) -> list[dict[str, Any]]:
    """Alignment on images; G against flip(G) data with random labels; variations of data, width and step size."""
    tiny = scale == "tiny"
    epochs, repeats, nets = {"tiny": (2, 1, 2), "small": (300, 5, 5), "paper": (100, 5, 25)}[scale]
    long = {"tiny": 2, "small": 100, "paper": 100}[scale]
    few = {"tiny": 2, "small": 2, "paper": 25}[scale]
    common = {**sizes(scale), "learning_rate": 0.1}
    names = models_of(scale)[:2] if tiny else models_of(scale)
    n, batch = common["n_train"], common["batch"]
    points: list[dict[str, Any]] = []
    for seed in range(repeats):
        last = {"seed": seed}
        for m in names:
            base = {"part": "alignment", "model": m, "width": width_of(m, scale), **common, "batch": n}  # whole data
            images = "digits" if tiny else "cifar2"
            points.append({**base, "data": images, "epochs": epochs, "networks": nets, **last})
        for m in names if tiny else ("mlp", "lenet", "resnet"):
            deep = m == "resnet"  # 1,500 steps and one network at the small scale: 23 ms a step
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
        points.append({**lenet, **tight, "data": "linear"})  # about one sample a parameter
        third = models_of(scale)[2]
        rate = {"part": "rate", "model": third, "width": width_of(third, scale), **common, "data": "linear", **last}
        points += [{**rate, "learning_rate": step, "epochs": rounds} for step, rounds in RATES.items()]
    return points


def run(point: dict[str, Any]) -> dict[str, Any]:
    """Correlations, velocity and training accuracy after every epoch, over an ensemble trained together."""
    return _two_directions(point) if point["part"] in ("rate", "few parameters") else _along(point)


def _along(point: dict[str, Any]) -> dict[str, Any]:
    """The geometry after every epoch on images, or on Gaussian data of covariance G or flip(G) with random labels.

    Gaussian data are scaled to a mean variance of one a number, for both covariances: divided by the largest eigenvalue
    only, inputs are ten times shorter at 8×8 than at the published size, and networks stay at their first plateau.
    """
    from priorscope.data import flip_spectrum, random_labels
    from priorscope.papers.geometry._models import build, geometry, images
    from priorscope.probes import geometry_trajectory
    from priorscope.probes.geometry._correlation import matrix_correlation, second_moment

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
    names = ("corr_gsg", "corr_s", "velocity", "accuracy")
    out: dict[str, Any] = {key: getattr(path, key).numpy() for key in names}
    means = {"mean_accuracy": float(path.accuracy[1:].mean()), "mean_velocity": float(path.velocity.mean())}
    S = second_moment(data.inputs)
    alike = matrix_correlation(G.matrix.double() @ S @ G.matrix.double(), S)
    return {**out, **means, "train_accuracy": float(path.accuracy[-1]), "corr_gsg_s": alike}


def _two_directions(point: dict[str, Any]) -> dict[str, Any]:
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


def _judge_alignment(table: pd.DataFrame) -> Verdict:
    """Both halves over the first quarter of training: the claim speaks of the initial stage."""
    rows = table[table["part"] == "alignment"]
    words, good = [], []
    above_of: dict[str, Any] = {}
    for model, group in rows.groupby("model"):
        gsg, s = (np.stack(list(group[c])) for c in ("corr_gsg", "corr_s"))  # (seeds, epochs + 1)
        early = max(2, gsg.shape[1] // 4)
        rise = bootstrap_interval(gsg[:, 1:early].max(1) - gsg[:, 0])
        above = bootstrap_interval((gsg - s)[:, 1:early].mean(1))
        later = float((gsg - s)[:, early:].mean())
        good.append(rise.low > 0 and (abs(above.value) < 0.05 if model == "mlp" else above.low > 0))
        words.append(
            f"{model}: early rise {rise.value:+.3f}, above Corr(G, S) by {above.value:+.3f} early and {later:+.3f} later, "
            f"Corr(GSG, S) itself {group['corr_gsg_s'].mean():.3f}"
        )
        above_of[str(model)] = above
    if len(above_of) < 3:
        return Verdict("not run", note="this scale has not all models")
    value = above_of[sorted(set(above_of) - {"mlp", "lenet"})[0]]
    note = "; ".join(words) + f". CIFAR-2 in grey, 5 networks a repeat, whole-batch gradient descent. {REDUCED}"
    return Verdict("holds" if all(good) else "fails", value.value, value.low, value.high, note)


def _gaps(rows: pd.DataFrame, metric: str) -> np.ndarray:
    """Metric on G data minus on flip(G) data, by seed."""
    wide = rows.pivot_table(index="seed", columns="data", values=metric)
    return (wide["G"] - wide["flip"]).to_numpy()


def _judge_flip(table: pd.DataFrame) -> Verdict:
    rows = table[table["part"] == "flip"]
    if rows["model"].nunique() < 3:
        return Verdict("not run", note="this scale has not all models")
    words, good, trained = [], [], []
    for model, group in rows.groupby("model"):
        speed, fit = (bootstrap_interval(_gaps(group, m)) for m in ("mean_velocity", "mean_accuracy"))
        fits, speeds = (group.groupby("data")[m].mean().to_dict() for m in ("mean_accuracy", "mean_velocity"))
        words.append(
            f"{model!s}: accuracy {fits['G']:.3f} against {fits['flip']:.3f}, "
            f"velocity {speeds['G']:.2g} against {speeds['flip']:.2g}"
        )
        trained.append(group[group["data"] == "G"]["train_accuracy"].mean() >= TRAINED)
        good.append(abs(fit.value) < 0.05 if model == "mlp" else speed.low > 0 and fit.low > 0)
    interval = bootstrap_interval(_gaps(rows[~rows["model"].isin(["mlp", "lenet"])], "mean_accuracy"))
    note = f"G against flip(G), means along training: {'; '.join(words)}. 1 or 2 networks a repeat. {NARROW}"
    verdict = "holds" if all(good) else "fails"
    if not all(trained):
        verdict, note = "not shown", f"a network did not train on G data either, so nothing is tested. {note}"
    return Verdict(verdict, interval.value, interval.low, interval.high, note)


def _judge_variations(table: pd.DataFrame) -> Verdict:
    """All variations keep the ordering; one whose network has not fitted its easiest data decides nothing."""
    words, gaps, undecided = [], [], []
    sizes_of = table[table["part"] == "data size"]
    pairs = table[table["part"].isin(["rate", "few parameters"])]
    if sizes_of.empty or pairs.empty:
        return Verdict("not run", note="this scale has no variations")
    gap = bootstrap_interval(_gaps(sizes_of, "mean_accuracy"))
    words.append(f"twice the data: training accuracy on G minus flip(G) {gap.value:+.3f}")
    if sizes_of[sizes_of["data"] == "G"]["train_accuracy"].mean() < TRAINED:
        undecided.append("twice the data")
    else:
        gaps.append(gap)
    for (part, rate), group in pairs.groupby(["part", "learning_rate"]):
        name = f"rate {rate:g}" if part == "rate" else str(part)
        words.append(
            f"{name}: test accuracy {group['test_top'].mean():.2f} along the first, "
            f"{group['test_bottom'].mean():.2f} along the last eigenvector"
        )
        if group["fit_top"].mean() < FITTED:
            undecided.append(name)
        else:
            gaps.append(bootstrap_interval(group["test_top"] - group["test_bottom"]))
    note = "; ".join(words) + ". "
    if undecided:
        note += f"Undecided, as the network did not fit its easiest data: {', '.join(undecided)}. "
    note += f"LeNet on data and parameters, the small residual network on rates, linear labels. {REDUCED}"
    if not gaps:
        return Verdict("not shown", note=note)
    worst = min(gaps, key=lambda i: i.value)
    kept = all(g.low > 0 for g in gaps)
    verdict = ("not shown" if undecided else "holds") if kept else "fails"
    return Verdict(verdict, worst.value, worst.low, worst.high, note)


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


def chart(table: pd.DataFrame) -> Any:
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
    "geometry-training", "The geometry of the input space along training", SOURCE, 2, grid, run, CLAIMS, chart
)

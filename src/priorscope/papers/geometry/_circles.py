"""Two circles in a plane: networks with structured geometry learn them only in planes that they see."""

from __future__ import annotations

from typing import Any

import pandas as pd

from priorscope.lab import Claim, Paper, Verdict
from priorscope.papers.geometry._sizes import SOURCE, sizes, width_of
from priorscope.statistics import bootstrap_interval

__all__ = ["PAPER"]

REDUCED = "Reduced: 1×8×8 inputs, 640 samples (10 a dimension, as published), ResNet18 of width 4 without normalisation"
PLANES = {"top": (0, 1), "mixed": (0, -1), "bottom": (-2, -1)}  # ranks of u1, u2 among the eigenvectors of G


def grid(scale: str) -> list[dict[str, Any]]:
    """Models × repeats; each run trains one network a plane."""
    epochs, repeats = {"tiny": (2, 1), "small": (50, 5), "paper": (100, 5)}[scale]
    names = {"tiny": ("mlp",), "small": ("mlp", "lenet", "resnet", "residual"), "paper": ("mlp", "lenet", "resnet")}[
        scale
    ]
    return [
        {"model": m, "width": width_of(m, scale), **sizes(scale), "epochs": epochs, "seed": s}
        for m in names
        for s in range(repeats)
    ]


def run(point: dict[str, Any]) -> dict[str, Any]:
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


def _judge(table: pd.DataFrame) -> Verdict:
    means = table.groupby("model")[[f"test_{p}" for p in PLANES]].mean()
    if "resnet" not in means.index:
        return Verdict("not run", note="this scale has not all models")
    words = "; ".join(f"{m}: " + ", ".join(f"{p} {means.loc[m, f'test_{p}']:.2f}" for p in PLANES) for m in means.index)
    mlp = means.loc["mlp"].to_numpy(float)
    top, *others = means.loc["resnet"].to_numpy(float)
    resnet = table[table["model"] == "resnet"]
    gap = bootstrap_interval(resnet["test_top"] - resnet[["test_mixed", "test_bottom"]].max(axis=1))
    published = bool(mlp.min() > 0.9 and top > 0.9 and max(others) < 0.65)
    if "residual" in means.index:  # the stand-in with the more structured G must show it too
        first, *rest = means.loc["residual"].to_numpy(float)
        published = published and bool(first > 0.9 and max(rest) < 0.65)
    ordering = gap.low > 0.1 and mlp.max() - mlp.min() < 0.05
    agree = True
    if "residual" in means.index:
        rows = table[table["model"] == "residual"]
        agree = bootstrap_interval(rows["test_top"] - rows[["test_mixed", "test_bottom"]].max(axis=1)).low > 0.1
    partly = "holds with changes" if agree else "not shown"
    verdict = "holds" if published else (partly if ordering else "fails")
    fit = ", ".join(f"{p} {resnet[f'train_{p}'].mean():.2f}" for p in PLANES)
    note = f"test accuracies by plane: {words}; ResNet on its training set: {fit}. {REDUCED}"
    if verdict == "holds with changes":
        note += "; the ordering holds, the accuracies are not 1 against chance"
    elif verdict == "not shown":
        note += "; ResNet18 shows the ordering, the small residual network, whose G is more structured, does not"
    return Verdict(verdict, gap.value, gap.low, gap.high, note)


def chart(table: pd.DataFrame) -> Any:
    """Test accuracy by plane and model: a point a repeat, a bar for the mean; chance is the dashed line."""
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
    return panel.facet(column=alt.Column("model:N", title=None)).properties(title="Circles in planes of G")


CLAIMS = (
    Claim(
        "S4.8",
        f"{SOURCE}, Fig. 1",
        "circles: the dense net generalises for any plane, ResNet only if both directions lie in the top eigenspace of G",
        "accuracy near 1 against chance",
        None,
        _judge,
    ),
)

PAPER = Paper("circles", "Concentric circles in a plane of the input space", SOURCE, 1, grid, run, CLAIMS, chart)

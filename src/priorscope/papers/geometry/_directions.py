"""Test accuracy against the rank of the one direction that tells the class."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, below, rising
from priorscope.papers._over_draws import over_draws
from priorscope.papers.geometry._charts import panels
from priorscope.papers.geometry._sizes import SOURCE, models_of, rows_of, sizes, width_of
from priorscope.statistics import Interval, exact

if TYPE_CHECKING:
    import altair as alt

FITTED = 0.9  # training accuracy, at the rank where it is highest, below which a curve decides nothing (published: 1)
KINDS = ("linear", "quadratic", "sinusoidal")
RANKS = {
    "tiny": [0, 32, 63],
    "small": [0, 1, 2, 4, 7, 11, 15, 23, 31, 47, 63],  # dense at the top, where accuracy falls
    "paper": list(range(0, 1024, 10)),  # every tenth, as published
}


def grid(scale: str) -> list[Point]:
    """Models × label kinds × repeats; each run trains one network per rank."""
    epochs, repeats = {"tiny": (2, 1), "small": (60, 5), "paper": (50, 5)}[scale]
    longer = (
        {"sinusoidal": 200} if scale == "small" else {}
    )  # 4,000 steps: in 1,200 neither LeNet nor the dense net learns it
    names = ("mlp",) if scale == "tiny" else models_of(scale)
    return [
        {
            "model": m,
            "width": width_of(m, scale),
            "kind": k,
            **sizes(scale),
            "epochs": longer.get(k, epochs),
            "ranks": RANKS[scale],
            "seed": s,
        }
        for m in names
        for k in KINDS
        for s in range(repeats)
    ]


def run(point: Point) -> Metrics:
    """Test and training accuracies at the given ranks of the eigenvectors of G, the first and the last included."""
    from priorscope.data import directional
    from priorscope.papers.geometry._models import accuracies, geometry, train

    name, size, seed = point["model"], point["size"], point["seed"]
    modes = geometry(name, point["n_models"], 1, size, point["width"]).modes
    ranks = point["ranks"]
    options: Point = {"seed": seed, "input_shape": (1, size, size)}
    if point["kind"] == "sinusoidal":
        strength = 5.0 if name in ("resnet", "residual") else 2.1  # App. A.7: 5.0 for ResNet18
        options |= {"strength": strength, "frequency": math.pi / strength}  # sin(πα), as in the released code
    sets = [directional(modes[:, k], point["kind"], point["n_train"], 1000, **options) for k in ranks]
    steps: Point = {"epochs": point["epochs"], "batch": point["batch"], "clip": 0.5, "decay": True}
    template, params = train(name, sets, seed=seed, width=point["width"], **steps)
    test = accuracies(template, params, sets)
    fit = accuracies(template, params, sets, which="train")
    return {"rank": np.array(ranks), "accuracy": np.array(test), "train_accuracy": np.array(fit)}


def curves(table: pd.DataFrame) -> pd.DataFrame:
    """One row per model, kind, repeat and rank."""
    rows = [
        {"model": r["model"], "kind": r["kind"], "seed": r["seed"], "rank": int(k), "accuracy": float(a)}
        for r in table.to_dict("records")
        for k, a in zip(r["rank"], r["accuracy"])
    ]
    return pd.DataFrame(rows)


def _rows(table: pd.DataFrame, model: str, kind: str) -> pd.DataFrame:
    """Accuracies by rank of one model and kind, where training fitted at some rank: else no rank can lose anything."""
    rows = rows_of(table, None, model)
    rows = rows[rows["kind"] == kind]
    fit = np.stack([np.asarray(a, dtype=float) for a in rows["train_accuracy"]]).mean(0).max()
    if fit < FITTED:
        raise NotMeasured(f"the training accuracy is at most {fit:.2f} at any rank; {FITTED:g} is wanted")
    return curves(rows)


def p_not_falling(table: pd.DataFrame, model: str, kind: str) -> Measured:
    """One-sided p of Spearman's correlation of accuracy with rank, all repeats together; 1 for a constant."""
    from scipy.stats import spearmanr

    rows = _rows(table, model, kind)
    if rows["accuracy"].nunique() == 1:
        return Measured(exact(1.0), "the accuracy is the same at every rank")
    found = spearmanr(rows["rank"], rows["accuracy"], alternative="less")
    return Measured(exact(found.pvalue), f"ρ = {found.statistic:.2f}, {len(rows)} networks")


def range_over_ranks(table: pd.DataFrame, model: str, kind: str) -> Interval:
    """Largest minus least accuracy over ranks, of the mean over repeats."""
    wide = _rows(table, model, kind).pivot_table(index="seed", columns="rank", values="accuracy")
    return over_draws(wide.to_numpy(), lambda v: float(np.ptp(v.mean(0))))


def falls_sooner(table: pd.DataFrame, model: str, kind: str) -> Measured:
    """The rank at which half of the accuracy is lost: that of the line minus that of another kind, over repeats."""
    lines, others = (_half_ranks(_rows(table, model, k)) for k in ("linear", kind))
    note = f"half is lost at rank {lines.mean():.1f} for the line, {others.mean():.1f} here"
    return Measured(over_draws((lines - others).dropna()), note)


def _half_ranks(rows: pd.DataFrame) -> pd.Series:
    """The first rank, for each repeat, at which accuracy has lost half of its lead over chance at the first rank."""
    wide = rows.pivot_table(index="seed", columns="rank", values="accuracy")
    level = 0.5 + (wide.iloc[:, 0] - 0.5) / 2
    lost = wide.lt(level, axis=0).to_numpy()
    ranks = wide.columns.to_numpy(float)
    return pd.Series(np.where(lost.any(1), ranks[lost.argmax(1)], ranks[-1] + 1), index=wide.index)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Accuracy against rank, one panel per model."""
    titles: Point = {
        "title": "One direction tells the class",
        "x_title": "rank of it in G",
        "y_title": "test accuracy",
    }
    chart: alt.TopLevelMixin = panels(curves(table), "rank", "accuracy", "kind", "model", chance=0.5, **titles)
    return chart


STRUCTURED = {"lenet": "LeNet", "residual": "residual network"}
CLAIMS = (
    Claim(
        "S4.9",
        f"{SOURCE}, Figs. 4 and 10",
        "test accuracy falls with the eigen-index of u, faster for quadratic and sinusoidal labels; flat for the dense net",
        checks=(
            *(  # p < 0.01 on both sides together
                Check(f"p of not falling, {name}, {kind}", partial(p_not_falling, model=m, kind=kind), below(0.005))
                for m, name in STRUCTURED.items()
                for kind in KINDS
            ),
            *(
                Check(
                    f"ranks sooner than the line, {name}, {kind}", partial(falls_sooner, model=m, kind=kind), rising()
                )
                for m, name in STRUCTURED.items()
                for kind in KINDS[1:]
            ),
            *(
                Check(
                    f"range over ranks, dense net, {kind}",
                    partial(range_over_ranks, model="mlp", kind=kind),
                    below(0.1),
                )
                for kind in KINDS
            ),
        ),
        reach=("size", "n_train"),
    ),
)

PAPER = Paper("directions", "Learning a direction of the input space", SOURCE, 3, grid, run, CLAIMS, chart)

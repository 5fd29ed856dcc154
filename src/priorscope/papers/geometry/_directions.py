"""Test accuracy against the rank of the one direction that tells the class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from priorscope.lab import Claim, Paper, Verdict
from priorscope.papers.geometry._charts import panels
from priorscope.papers.geometry._sizes import REDUCED, SOURCE, models_of, sizes, width_of

__all__ = ["PAPER"]

KINDS = ("linear", "quadratic", "sinusoidal")
RANKS = {
    "tiny": [0, 32, 63],
    "small": [0, 1, 2, 4, 7, 11, 15, 23, 31, 47, 63],  # dense at the top, where accuracy falls
    "paper": list(range(0, 1024, 10)),  # every tenth, as published
}


def grid(scale: str) -> list[dict[str, Any]]:
    """Models × label kinds × repeats; each run trains one network a rank."""
    epochs, repeats = {"tiny": (2, 1), "small": (60, 5), "paper": (50, 5)}[scale]
    names = ("mlp",) if scale == "tiny" else models_of(scale)
    return [
        {
            "model": m,
            "width": width_of(m, scale),
            "kind": k,
            **sizes(scale),
            "epochs": epochs,
            "ranks": RANKS[scale],
            "seed": s,
        }
        for m in names
        for k in KINDS
        for s in range(repeats)
    ]


def run(point: dict[str, Any]) -> dict[str, Any]:
    """Test and training accuracies at the given ranks of the eigenvectors of G, the first and the last included."""
    from priorscope.data import directional
    from priorscope.papers.geometry._models import accuracies, geometry, train

    name, size, seed = point["model"], point["size"], point["seed"]
    modes = geometry(name, point["n_models"], 1, size, point["width"]).modes
    ranks = point["ranks"]
    options: dict[str, Any] = {"seed": seed, "input_shape": (1, size, size)}
    if point["kind"] == "sinusoidal":
        strength = 5.0 if name in ("resnet", "residual") else 2.1  # App. A.7: 5.0 for ResNet18
        options |= {"strength": strength, "frequency": math.pi / strength}  # sin(πα), as in the released code
    sets = [directional(modes[:, k], point["kind"], point["n_train"], 1000, **options) for k in ranks]
    steps: dict[str, Any] = {"epochs": point["epochs"], "batch": point["batch"], "clip": 0.5, "decay": True}
    template, params = train(name, sets, seed=seed, width=point["width"], **steps)
    test = accuracies(template, params, sets)
    fit = accuracies(template, params, sets, which="train")
    return {"rank": np.array(ranks), "accuracy": np.array(test), "train_accuracy": np.array(fit)}


def curves(table: pd.DataFrame) -> pd.DataFrame:
    """One row a model, kind, repeat and rank."""
    rows = [
        {"model": r["model"], "kind": r["kind"], "seed": r["seed"], "rank": int(k), "accuracy": float(a)}
        for r in table.to_dict("records")
        for k, a in zip(r["rank"], r["accuracy"])
    ]
    return pd.DataFrame(rows)


def _half_rank(group: pd.DataFrame) -> float:
    """First rank at which the mean accuracy has lost half of what it had above chance at rank 0."""
    mean = group.groupby("rank")["accuracy"].mean()
    level = 0.5 + (float(mean.iloc[0]) - 0.5) / 2
    below = mean.index[mean < level]
    return float(below[0]) if len(below) else float(mean.index[-1] + 1)


def _rank_correlation(rows: pd.DataFrame) -> tuple[float, float]:
    """Spearman's rho of accuracy and rank with its p; (0, 1) for a constant."""
    from scipy.stats import spearmanr

    if rows["accuracy"].nunique() == 1:
        return 0.0, 1.0
    result = spearmanr(rows["rank"], rows["accuracy"])
    return float(result.statistic), float(result.pvalue)


def _judge(table: pd.DataFrame) -> Verdict:
    long = curves(table)
    names = set(long["model"])
    if len(names) < 3:
        return Verdict("not run", note="this scale has not all models")
    words, falls, faster = [], [], []
    for model in sorted(names):
        half = {}
        for kind in KINDS:
            rows = long[(long["model"] == model) & (long["kind"] == kind)]
            rho, p = _rank_correlation(rows)
            half[kind] = _half_rank(rows)
            spread = rows.groupby("rank")["accuracy"].mean()
            words.append(f"{model} {kind}: ρ = {rho:.2f} (p = {p:.1g}), half at rank {half[kind]:.0f}")
            if model == "mlp":
                flat = float(spread.max() - spread.min()) < 0.1 or p > 0.01
                falls.append(flat)
            else:
                falls.append(bool(rho < 0 and p < 0.01))
        if model != "mlp":
            faster.append(half["quadratic"] < half["linear"] and half["sinusoidal"] < half["linear"])
    rhos = [_rank_correlation(g)[0] for (m, _), g in long.groupby(["model", "kind"]) if m != "mlp"]
    verdict = "holds" if all(falls) and all(faster) else "fails"
    note = (
        "; ".join(words)
        + f". Falls and flat as claimed: {sum(falls)} of {len(falls)}; faster for the nonlinear labels: "
    )
    note += f"{sum(faster)} of {len(faster)} models. {REDUCED}"
    return Verdict(verdict, float(np.mean(rhos)), float(np.min(rhos)), float(np.max(rhos)), note)


def chart(table: pd.DataFrame) -> Any:
    """Accuracy against rank, a panel a model."""
    titles: dict[str, Any] = {
        "title": "One direction tells the class",
        "x_title": "rank of it in G",
        "y_title": "test accuracy",
    }
    return panels(curves(table), "rank", "accuracy", "kind", "model", chance=0.5, **titles)


CLAIMS = (
    Claim(
        "S4.9",
        f"{SOURCE}, Figs. 4 and 10",
        "test accuracy falls with the eigen-index of u, faster for quadratic and sinusoidal labels; flat for the dense net",
        "rank correlation < 0, p < 0.01",
        None,
        _judge,
    ),
)

PAPER = Paper("directions", "Learning a direction of the input space", SOURCE, 2, grid, run, CLAIMS, chart)

"""Two circles in a plane: networks with structured geometry learn them only in planes that they see."""

from __future__ import annotations

from typing import Any

import pandas as pd

from priorscope.lab import Claim, Paper, Verdict
from priorscope.statistics import bootstrap_interval

__all__ = ["PAPER"]

SOURCE = "Geometric inductive biases of deep networks: the role of data and architecture"
PLANES = {"top": (0, 1), "mixed": (0, -1), "bottom": (-2, -1)}  # ranks of u1, u2 among the eigenvectors of G


def grid(scale: str) -> list[dict[str, Any]]:
    """Models × repeats; each run trains one network a plane."""
    n, epochs, repeats = {"tiny": (100, 2, 1), "small": (2000, 60, 5), "paper": (10_000, 100, 5)}[scale]
    names = ("mlp",) if scale == "tiny" else ("mlp", "lenet", "resnet")
    models = {"tiny": 20, "small": 500, "paper": 10_000}[scale]
    return [
        {"model": m, "n_train": n, "epochs": epochs, "n_models": models, "seed": s}
        for m in names
        for s in range(repeats)
    ]


def run(point: dict[str, Any]) -> dict[str, Any]:
    """Test accuracy for each plane."""
    from priorscope.data import circles

    from ._geometry_models import accuracies, geometry, train

    modes = geometry(point["model"], point["n_models"]).modes
    sets = [
        circles(
            modes[:, list(ranks)].mT,
            point["n_train"],
            1000,
            radii=(1.0, 3.0),
            noise=1.0,
            seed=point["seed"],
            input_shape=(1, 8, 8),
        )
        for ranks in PLANES.values()
    ]
    template, params = train(point["model"], sets, seed=point["seed"], epochs=point["epochs"], learning_rate=0.05)
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
    ordering = gap.low > 0.1 and mlp.max() - mlp.min() < 0.05
    verdict = "holds" if published else ("holds with changes" if ordering else "fails")
    note = f"test accuracies by plane: {words}. Reduced: 1×8×8 inputs, a narrow residual network in place of ResNet18"
    if verdict == "holds with changes":
        note += "; the ordering holds, the accuracies are not 1 against chance"
    return Verdict(verdict, gap.value, gap.low, gap.high, note)


def chart(table: pd.DataFrame) -> Any:
    """Test accuracy by plane and model."""
    import altair as alt

    long = table.melt(["model", "seed"], [f"test_{p}" for p in PLANES], "plane", "accuracy")
    bars = alt.Chart(long, title="Circles in planes of G").mark_bar()
    return bars.encode(x=alt.X("plane:N", sort=None), y="mean(accuracy):Q", column="model:N").properties(width=120)


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

"""Pruning training samples of low score, against pruning at random."""

from __future__ import annotations

from typing import Any

import pandas as pd

from priorscope.lab import Claim, Paper, Verdict
from priorscope.statistics import bootstrap_interval

__all__ = ["PAPER"]

SOURCE = "Geometric inductive biases of deep networks: the role of data and architecture"


def grid(scale: str) -> list[dict[str, Any]]:
    """Data sets × fractions × repeats."""
    n, epochs, repeats = {"tiny": (200, 2, 1), "small": (5000, 15, 5), "paper": (50_000, 100, 5)}[scale]
    fractions = (0.5,) if scale == "tiny" else (0.1, 0.3, 0.5, 0.7, 0.9)
    names = ("digits",) if scale == "tiny" else ("cifar10", "mnist")
    models = {"tiny": 20, "small": 500, "paper": 10_000}[scale]
    sizes = {"model": "resnet", "n_train": n, "epochs": epochs, "n_models": models}
    return [{"data": d, "fraction": f, **sizes, "seed": s} for d in names for f in fractions for s in range(repeats)]


def run(point: dict[str, Any]) -> dict[str, Any]:
    """Test accuracy after pruning by score and at random, trained side by side on ten classes."""
    from priorscope import data as sets_of
    from priorscope.probes import prune, sample_scores

    from ._geometry_models import accuracies, geometry, train

    n, seed = point["n_train"], point["seed"]
    if point["data"] == "digits":
        data = sets_of.digits().subset(n, seed=seed, n_test=200).standardised()
    else:
        load = getattr(sets_of, point["data"])
        data = load(size=8, n_train=n, n_test=min(n, 2000), seed=seed).standardised()
    G = geometry(point["model"], point["n_models"], channels=data.input_shape[0])
    scores = sample_scores(data, None, geometry=G)
    sets = [prune(data, point["fraction"], scores), prune(data, point["fraction"], seed=seed)]
    options = {"seed": seed, "epochs": point["epochs"], "learning_rate": 0.1}
    template, params = train(point["model"], sets, outputs=10, **options)
    by_score, random = accuracies(template, params, sets, outputs=10)
    return {"score": by_score, "random": random, "kept": len(sets[0].train)}


def _judge(table: pd.DataFrame) -> Verdict:
    table = table.assign(gap=table["score"] - table["random"])
    cifar = table[table["data"] == "cifar10"]
    if cifar.empty:
        return Verdict("not run", note="this scale has no CIFAR-10")
    interval = bootstrap_interval(cifar["gap"], level=0.68)
    groups = table.groupby(["data", "fraction"])["gap"]
    words = ", ".join(f"{d} {f:.0%}: {100 * g.mean():+.1f}" for (d, f), g in groups)
    verdict = "holds" if interval.low > 0 else ("not shown" if interval.high > 0 else "fails")
    note = f"gap in points by share pruned: {words}. Reduced: 5,000 images at 8×8, a narrow residual network, 15 epochs"
    return Verdict(verdict, 100 * interval.value, 100 * interval.low, 100 * interval.high, note)


def chart(table: pd.DataFrame) -> Any:
    """Test accuracy against the share pruned, a panel a data set."""
    import altair as alt

    long = table.melt(["data", "fraction", "seed"], ["score", "random"], "pruned by", "accuracy")
    lines = alt.Chart(long, title="Pruning training samples").mark_line(point=True)
    y = alt.Y("mean(accuracy):Q", title="test accuracy").scale(zero=False)
    x = alt.X("fraction:Q", title="share of the samples pruned")
    return lines.encode(x=x, y=y, color="pruned by:N", column="data:N").properties(width=240, height=220)


CLAIMS = (
    Claim(
        "S4.12",
        f"{SOURCE}, Table 1",
        "pruning training samples of low score beats random pruning",
        "+0.6 to +2.0 points",
        "68 % interval above 0",
        _judge,
    ),
)

PAPER = Paper("pruning", "Pruning samples by the geometry", SOURCE, 1, grid, run, CLAIMS, chart)

"""One sample per step: a network in whose weights descent stores samples, and what noise and batches do to it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, Paper, Point, above, at_least, near
from priorscope.papers._over_draws import where
from priorscope.papers.universality._parity import SOURCE
from priorscope.statistics import seed_interval

if TYPE_CHECKING:
    import altair as alt

SPARE = 12  # samples beyond the number of bits, so that random ones determine the parity
FULL = 0  # stands for the whole data set as one batch


def grid(scale: str) -> list[Point]:
    """Dimensions × batch sizes × noise, each over draws of the parity and the samples."""
    sizes, seeds = {"tiny": ((6,), 2), "small": ((20, 50, 100), 10), "paper": ((20, 50, 100, 200), 20)}[scale]
    points: list[Point] = [
        {"n": n, "batch": b, "noise": 0.0, "seed": s} for n in sizes for b in (1, 2, 16, FULL) for s in range(seeds)
    ]
    points += [
        {"n": n, "batch": 1, "noise": level, "seed": s} for n in sizes for level in (0.15, 0.5) for s in range(seeds)
    ]
    return points


def run(point: Point) -> Metrics:
    """Accuracy of the trained register network on fresh inputs; no answer counts as a coin flip."""
    import torch

    from priorscope.data import Split
    from priorscope.inference import GradientDescent
    from priorscope.models import RegisterNetwork

    n, seed = point["n"], point["seed"]
    draw = torch.Generator().manual_seed(seed)
    chosen = torch.randint(2, (n,), generator=draw).bool()

    def samples(count: int) -> Split:
        x = torch.randint(2, (count, n), generator=draw).float() * 2 - 1
        return Split(x, x[:, chosen].prod(1, keepdim=True))

    count = n + SPARE
    batch = count if point["batch"] == FULL else point["batch"]
    descent = GradientDescent(
        learning_rate=1.0, steps=count, batch_size=batch, noise=point["noise"] / n, record=2, loss="squared"
    )
    fitted = descent.fit(RegisterNetwork(n, count), samples(count), seed)
    fresh = samples(1000)
    with torch.no_grad():
        right = (fitted.predict(fresh.inputs) * fresh.targets).sign()
    return {"accuracy": float((1 + right).mean()) / 2}


def accuracy(table: pd.DataFrame, n: int, batch: int, noise: float = 0.0) -> Measured:
    """The mean accuracy over draws."""
    rows = where(table, n=n, batch=batch, noise=noise)
    return Measured(seed_interval(rows["accuracy"]), f"{len(rows)} draws")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Accuracy by batch size and noise, one panel per dimension."""
    import altair as alt

    named = table.assign(
        steps=[
            ("all samples" if b == FULL else f"batch {int(b)}") + (f", noise {s:g}/n" if s else "")
            for b, s in zip(table["batch"], table["noise"])
        ]
    )
    drawn: alt.Chart = (
        alt.Chart(named[["n", "steps", "accuracy", "seed"]])
        .mark_circle(size=60, opacity=0.5)
        .encode(
            y=alt.Y("steps:N", title=None, sort=None),
            x=alt.X("accuracy:Q").scale(domain=[0.3, 1.0]),
            column=alt.Column("n:O", title="bits n"),
        )
        .properties(width=170, height=170)
    )
    return drawn


SIZES = (20, 50, 100)
CLAIMS = (
    Claim(
        "P.5",
        f"{SOURCE}, Theorem 2 and corollary",
        "stochastic gradient descent on a network built for it learns parities; gradient descent on the same network does not",
        checks=(
            *(Check(f"one sample per step, n = {n}", partial(accuracy, n=n, batch=1), at_least(0.99)) for n in SIZES),
            *(
                Check(f"all samples per step, n = {n}", partial(accuracy, n=n, batch=FULL), near(0.5, within=0.05))
                for n in SIZES
            ),
        ),
        changes="the network is ours, for parities only; the emulation of the source is general and its picture is lost",
    ),
    Claim(
        "P.6",
        f"{SOURCE}, Theorem 2",
        "it stands noise that falls like an inverse polynomial of the dimension",
        checks=tuple(
            Check(f"noise 0.15/n, n = {n}", partial(accuracy, n=n, batch=1, noise=0.15), above(0.9)) for n in SIZES
        ),
    ),
)

PAPER = Paper("sgd-universality", "What stochastic gradient descent can learn", SOURCE, 1, grid, run, CLAIMS, chart)

"""Parities and monomials: cross-predictability, signals in gradients, the certificate, and noisy gradient descent itself."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, Paper, Point, at_most, falling, near, rising
from priorscope.papers._over_draws import over_draws
from priorscope.statistics import exact, seed_interval

if TYPE_CHECKING:
    import altair as alt

SOURCE = "Abbe & Sandon, Universality and limitations of deep learning (2018)"


def grid(scale: str) -> list[Point]:
    """Families by size, gradients of random networks, junk flows by dimension, and training by degree."""
    bits = {"tiny": (4,), "small": (6, 8), "paper": (6, 8, 10)}[scale]
    signal, seeds = {"tiny": ((4,), 2), "small": ((6, 8, 10, 12), 8), "paper": ((6, 8, 10, 12, 14), 20)}[scale]
    sizes, steps, batch = {
        "tiny": ((6,), 3, 20),
        "small": ((60, 100), 300, 500),
        "paper": ((20, 60, 100, 140), 300, 2000),
    }[scale]
    points: list[Point] = [{"kind": "family", "n": n, "degree": k, "seed": 0} for n in bits for k in (1, 2, 3)]
    points += [{"kind": "signal", "n": n, "width": 32, "seed": s} for n in signal for s in range(seeds)]
    points += [{"kind": "junk", "n": n, "width": 64, "steps": steps, "batch": batch, "seed": 0} for n in sizes]
    learnt = {"tiny": (4, (2, 4), 5), "small": (12, (2, 4, 6, 8, 12), 300), "paper": (12, (2, 3, 4, 6, 8, 12), 600)}[
        scale
    ]
    points += [
        {"kind": "learn", "n": learnt[0], "degree": k, "width": 64, "steps": learnt[2], "seed": s}
        for k in learnt[1]
        for s in range(seeds)
    ]
    return points


def run(point: Point) -> Metrics:
    """One of the four measurements."""
    import itertools

    import torch

    from priorscope import models, probes
    from priorscope.data import Split
    from priorscope.inference import GradientDescent

    n, seed = point["n"], point["seed"]
    if point["kind"] == "family":
        x = probes.all_signs(n).numpy()
        sets = itertools.combinations(range(n), point["degree"])
        return {"predictability": probes.cross_predictability(np.stack([x[:, list(s)].prod(1) for s in sets]))}
    if point["kind"] == "signal":
        network = models.plain_network(n, point["width"], 1, seed=seed).double()
        found = probes.gradient_signal(network, n)
        return {"by_degree": found.by_degree, "floor": found.floor}
    if point["kind"] == "junk":

        def signs(draw: int, count: int) -> torch.Tensor:
            return torch.randint(2, (count, n), generator=torch.Generator().manual_seed(draw)).float() * 2 - 1

        network = models.plain_network(n, point["width"], 1, seed=seed)
        flow = probes.junk_flow(
            network, signs, steps=point["steps"], learning_rate=0.1, noise=0.01, batch=point["batch"], runs=4
        )
        parity = probes.monomial_cross_predictability(n)
        return {
            "flow": flow.flow.value,
            "flow_high": flow.flow.high,
            "advantage": flow.advantage(parity),
            "advantage_orthonormal": flow.advantage(parity, orthonormal=True),
        }
    bits = probes.all_signs(n, torch.float32)
    data = Split(bits, bits[:, : point["degree"]].prod(1, keepdim=True))
    descent = GradientDescent(learning_rate=0.2, steps=point["steps"], noise=0.003, record=2)
    fitted = descent.fit(models.plain_network(n, point["width"], 1, seed=seed), data, seed)
    with torch.no_grad():
        right = (fitted.predict(bits) * data.targets > 0).float().mean()
    return {"accuracy": float(right)}


def predictability_ratio(table: pd.DataFrame) -> Measured:
    """Cross-predictability times the number of monomials, farthest from 1."""
    import math

    rows = table[table["kind"] == "family"].to_dict("records")
    ratios = [r["predictability"] * math.comb(int(r["n"]), int(r["degree"])) for r in rows]
    return Measured(exact(max(ratios, key=lambda v: abs(v - 1))), f"of {len(rows)} families, all inputs listed")


def signal_over_floor(table: pd.DataFrame, share: float) -> Measured:
    """The logarithm of the signal over the floor at the degree that is this share of n, at the largest n."""
    rows = table[table["kind"] == "signal"]
    rows = rows[rows["n"] == rows["n"].max()]
    n = int(rows["n"].iloc[0])
    k = round(share * n)
    logs = [float(np.log(np.asarray(r["by_degree"])[k] / r["floor"])) for r in rows.to_dict("records")]
    return Measured(over_draws(logs), f"degree {k} of n = {n}")


def floor_exponent(table: pd.DataFrame) -> Measured:
    """The slope in n of log2 of the signal at full degree."""
    rows = table[table["kind"] == "signal"]
    rows = rows.assign(last=[float(np.log2(np.asarray(v)[-1])) for v in rows["by_degree"]])
    wide = rows.pivot_table(index="seed", columns="n", values="last")
    sizes = wide.columns.to_numpy(float)
    slopes = [float(np.polyfit(sizes, row, 1)[0]) for row in wide.to_numpy()]
    return Measured(seed_interval(slopes), f"n = {', '.join(str(int(n)) for n in sizes)}")


def best_advantage(table: pd.DataFrame, column: str) -> Measured:
    """The advantage that cannot be exceeded at the largest n."""
    rows = table[table["kind"] == "junk"]
    row = rows.sort_values("n").iloc[-1]
    return Measured(exact(float(row[column])), f"n = {int(row['n'])}, junk flow {row['flow']:.3g}")


def accuracy_by_degree(table: pd.DataFrame) -> Measured:
    """The slope of accuracy in the degree, one per draw."""
    rows = table[table["kind"] == "learn"]
    wide = rows.pivot_table(index="seed", columns="degree", values="accuracy")
    degrees = wide.columns.to_numpy(float)
    slopes = [float(np.polyfit(degrees, row, 1)[0]) for row in wide.to_numpy()]
    means = ", ".join(f"{int(k)}: {v:.2f}" for k, v in zip(degrees, wide.mean()))
    return Measured(over_draws(slopes), f"mean accuracy by degree {means}")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Left: the signal in the gradient by degree. Right: accuracy of noisy gradient descent by degree."""
    import altair as alt

    signal = pd.DataFrame(
        [
            {"n": str(int(r["n"])), "seed": r["seed"], "degree": k, "signal": float(v)}
            for r in table[table["kind"] == "signal"].to_dict("records")
            for k, v in enumerate(np.asarray(r["by_degree"]))
        ]
    )
    left = (
        alt.Chart(signal)
        .mark_line(point=True)
        .encode(
            x=alt.X("degree:Q", title="degree of the monomial"),
            y=alt.Y("mean(signal):Q", title="gradient signal").scale(type="log"),
            color=alt.Color("n:O", title="bits n", sort=None),
        )
        .properties(width=300, height=240, title="What a random network's gradient sees")
    )
    learnt = table[table["kind"] == "learn"]
    base = alt.Chart(learnt[["degree", "accuracy", "seed"]])
    x = alt.X("degree:Q", title="degree of the monomial")
    dots = base.mark_circle(opacity=0.4).encode(x=x, y=alt.Y("accuracy:Q").scale(domain=[0.4, 1.0]))
    line = base.mark_line().encode(x=x, y="mean(accuracy):Q")
    return alt.hconcat(left, (dots + line).properties(width=300, height=240, title="Noisy gradient descent, 12 bits"))


CLAIMS = (
    Claim(
        "P.1",
        f"{SOURCE}, cross-predictability",
        "products of k of n bits have cross-predictability one over their number",
        measure=predictability_ratio,
        expect=near(1, within=1e-9),
    ),
    Claim(
        "P.2",
        f"{SOURCE}, proof of Theorem 1",
        "what the gradient knows of a monomial falls with its degree to a floor, which halves with every two bits",
        checks=(
            Check("log of signal over floor at degree 1", partial(signal_over_floor, share=0.0833), rising()),
            Check("slope of log2 of the signal at full degree", floor_exponent, near(-0.5, within=0.1)),
        ),
    ),
    Claim(
        "P.3",
        f"{SOURCE}, Theorem 1",
        "at 100 bits, noisy gradient descent on a ReLU network cannot predict random parities better than by 0.001",
        checks=(
            Check(
                "any family of this cross-predictability", partial(best_advantage, column="advantage"), at_most(1e-3)
            ),
            Check("orthonormal families", partial(best_advantage, column="advantage_orthonormal"), at_most(1e-3)),
        ),
        changes="the junk flow sums root mean squares of single gradients, as the proof gives, not norms of their mean",
    ),
    Claim(
        "P.4",
        f"{SOURCE}, corollary",
        "noisy gradient descent learns monomials of low degree, and high degrees ever more slowly",
        measure=accuracy_by_degree,
        expect=falling(),
    ),
)

PAPER = Paper("parity", "What gradient descent cannot learn", SOURCE, 1, grid, run, CLAIMS, chart)

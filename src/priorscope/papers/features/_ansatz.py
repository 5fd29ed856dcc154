"""The neural feature ansatz in small networks: weights against gradients, layer by layer, before and after training."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from torch import nn

from priorscope import data, models
from priorscope.inference import GradientDescent
from priorscope.lab import Claim, Measured, Metrics, NotMeasured, Paper, Point, above, at_least
from priorscope.papers._over_draws import lowest, over_draws
from priorscope.probes import FeatureAnsatz, feature_ansatz
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt

    from priorscope.data import Dataset

SOURCE = (
    "Radhakrishnan et al., Mechanism for feature learning in neural networks and backpropagation-free machine learning models "
    "(Science 383, 1461, 2024; arXiv 2212.13881)"
)
PATCHES = "Beaglehole et al., Mechanism of feature learning in convolutional neural networks (2023, arXiv 2309.00570)"
SIZES: dict[str, Point] = {
    "tiny": {"seeds": [1], "n": 60, "steps": 10, "width": {"dense": 16, "conv": 4}, "samples": 40},
    "small": {
        "seeds": list(range(1, 49)),  # 16 in version 1, which left G.4 and G.5 undecided
        "n": 1200,
        "steps": 800,
        "width": {"dense": 128, "conv": 16},
        "samples": 500,
    },
    "paper": {
        "seeds": list(range(1, 17)),
        "n": 10_000,
        "steps": 10_000,
        "width": {"dense": 1024, "conv": 64},
        "samples": 2000,
    },
}
DIM = 20  # of the inputs of the single-index problem
HIDDEN = {"dense": 2, "conv": 3}  # layers before the readout, whose correlation is one by definition


def grid(scale: str) -> list[Point]:
    """One point per problem, kind of network and seed; seed 0 was used while this was written and takes no part."""
    size = SIZES[scale]
    kinds = (("digits", "dense"), ("single-index", "dense"), ("digits", "conv"))
    return [
        {
            "problem": problem,
            "network": kind,
            "n": size["n"],
            "steps": size["steps"],
            "width": size["width"][kind],
            "samples": size["samples"],
            "large": scale == "paper",
            "seed": seed,
        }
        for problem, kind in kinds
        for seed in size["seeds"]
    ]


def _problem(point: Point) -> tuple[Dataset, str]:
    """Images of digits in ten classes, or numbers that depend on one direction of twenty; and the loss."""
    if point["problem"] == "digits":
        images = data.mnist() if point["large"] else data.digits()
        return images.standardised().subset(min(point["n"], len(images.train)), seed=point["seed"]), "cross-entropy"
    generator = torch.Generator().manual_seed(point["seed"])
    x = torch.randn(point["n"] + 500, DIM, generator=generator)
    w = torch.randn(DIM, generator=generator)
    return data.from_arrays(x, torch.sin(2 * x @ (w / w.norm())), test_fraction=500 / len(x)), "squared"


def run(point: Point) -> Metrics:
    """Correlations of every hidden layer before and after training, and how well the network then does."""
    problem, loss = _problem(point)
    model = models.mlp() if point["network"] == "dense" else models.convnet()
    network = model.network(
        problem.input_shape, width=point["width"], outputs=problem.targets.shape[1], seed=point["seed"]
    )
    before = feature_ansatz(network, problem, n_samples=point["samples"])
    training = GradientDescent(
        learning_rate=0.1 if loss == "cross-entropy" else 0.05,
        momentum=0.9,
        steps=point["steps"],
        batch_size=64,
        loss=loss,
        centre=False,
    )
    fitted = training.fit(network, problem.train, seed=point["seed"])
    trained: nn.Module = fitted.network(0)
    after = feature_ansatz(trained, problem, n_samples=point["samples"])
    out = fitted.predict(problem.test.inputs)
    found: Point = {"squared": float((out - problem.test.targets).square().mean())}
    if problem.test_labels is not None:
        found["accuracy"] = float((out.argmax(1) == problem.test_labels).double().mean())
    return {**found, **_layers("start", before, point), **_layers("end", after, point)}


def _layers(when: str, found: FeatureAnsatz, point: Point) -> Point:
    hidden = found.layers[: HIDDEN[point["network"]]]
    return {
        f"{when}": np.array([one.correlation(0.5) for one in hidden]),
        f"{when}_at_one": np.array([one.correlation(1.0) for one in hidden]),
        f"{when}_without_identity": np.array([one.correlation(0.5, without_identity=True) for one in hidden]),
        f"{when}_power": np.array([one.best()[0] for one in hidden]),
    }


def _cells(table: pd.DataFrame, kind: str, value: Callable[[pd.Series], np.ndarray]) -> dict[str, Interval]:
    """Mean over seeds with its interval, for every problem and layer of this kind of network."""
    rows = table[table["network"] == kind]
    found: dict[str, Interval] = {}
    for problem, own in rows.groupby("problem"):
        values = np.array([value(row) for _, row in own.iterrows()])  # (seeds, layers)
        for layer in range(values.shape[1]):
            found[f"{problem}, layer {layer + 1}"] = over_draws(values[:, layer])
    if not found:
        raise NotMeasured(f"no {kind} network was run")
    return found


def _correlation(kind: str) -> Callable[[pd.DataFrame], Measured]:
    return lambda table: lowest(_cells(table, kind, lambda row: np.asarray(row["end"], float)))


def _rise(kind: str) -> Callable[[pd.DataFrame], Measured]:
    def measure(table: pd.DataFrame) -> Measured:
        def gained(row: pd.Series) -> np.ndarray:
            start: np.ndarray = np.asarray(row["start_without_identity"], float)
            gain: np.ndarray = np.asarray(row["end_without_identity"], float) - start
            return gain

        return lowest(_cells(table, kind, gained))

    return measure


def _half_over_one(table: pd.DataFrame) -> Measured:
    """Correlation at s = ½ less that at s = 1, after training, over all layers of all networks."""

    def apart(row: pd.Series) -> np.ndarray:
        gap: np.ndarray = np.asarray(row["end"], float) - np.asarray(row["end_at_one"], float)
        return gap

    cells = {f"{kind}: {name}": v for kind in HIDDEN for name, v in _cells(table, kind, apart).items()}
    return lowest(cells)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Correlation of each hidden layer before and after training, without the identity's share; one point per seed."""
    import altair as alt

    rows = [
        {"network": f"{row.network}, {row.problem}", "layer": layer + 1, "when": when, "correlation": float(value)}
        for _, row in table.iterrows()
        for when, name in (("before", "start_without_identity"), ("after", "end_without_identity"))
        for layer, value in enumerate(np.asarray(row[name], float))
    ]
    chart: alt.TopLevelMixin = (
        alt.Chart(pd.DataFrame(rows))
        .mark_point(filled=True, size=30, opacity=0.6)
        .encode(
            x=alt.X("layer:O", title="hidden layer"),
            xOffset=alt.XOffset("when:N", sort=["before", "after"]),
            y=alt.Y("correlation:Q", title="correlation of WᵀW and M^½, identity taken out"),
            color=alt.Color("when:N", title="training", sort=["before", "after"]),
            column=alt.Column("network:N", title=None),
        )
        .properties(width=170, height=220)
    )
    return chart


PAPER = Paper(
    name="feature-ansatz",
    title="What weights become: the average gradient outer product of their layer",
    source=SOURCE,
    version=2,
    grid=grid,
    run=run,
    claims=(
        Claim(
            id="G.1",
            source=SOURCE + ", the deep neural feature ansatz; 0.8 for 'high' is ours",
            says="in every hidden layer of trained dense networks WᵀW is highly correlated with M^½ (cosine of at least 0.8)",
            measure=_correlation("dense"),
            expect=at_least(0.8),
            reach=("n", "steps", "width"),
            finding="above 0.95 in both layers on digits, 0.76 and 0.68 on a single-index target: how close depends on the data",
        ),
        Claim(
            id="G.2",
            source="priorscope, on the measure of " + SOURCE,
            says="in dense networks training raises the correlation in every hidden layer, the identity's share taken out",
            measure=_rise("dense"),
            expect=above(0.0),
        ),
        Claim(
            id="G.3",
            source=PATCHES + ", abstract; 0.8 for 'high' is ours",
            says="in every convolution of trained networks WᵀW is highly correlated with M^½ of patches (at least 0.8)",
            measure=_correlation("conv"),
            expect=at_least(0.8),
        ),
        Claim(
            id="G.4",
            source="priorscope, on the measure of " + PATCHES,
            says="training raises the correlation in every convolution, the identity's share taken out",
            measure=_rise("conv"),
            expect=above(0.0),
            finding="it rises in the last convolution (by 0.08) and falls a little in the first (by 0.016)",
        ),
        Claim(
            id="G.5",
            source="priorscope: which power of M",
            says="after training M^½ fits WᵀW better than M does, in every hidden layer",
            measure=_half_over_one,
            expect=above(0.0),
        ),
    ),
    chart=chart,
)

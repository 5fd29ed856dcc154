"""Jamming of deep networks on random data: where training stops reaching zero loss, and the landscape there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from priorscope.data import random_patterns
from priorscope.inference import QuadraticHinge, train_hinge
from priorscope.lab import Metrics, Paper, Point
from priorscope.models import plain_network
from priorscope.papers.jamming._claims import CLAIMS, SOURCE
from priorscope.papers.jamming._images import MARGIN
from priorscope.probes import Landscape, count_cusps, effective_parameters, landscape

if TYPE_CHECKING:
    import altair as alt
    from torch import nn

    from priorscope.contracts import Samples

# of each scale: (activation, depth, width = dimension, ratios P/N, seeds), then Adam steps
LADDERS: dict[str, tuple[list[tuple[str, int, int, list[float], int]], int]] = {
    "tiny": ([("relu", 2, 6, [0.5, 6.0], 2), ("relu", 3, 5, [6.0], 1), ("tanh", 2, 4, [9.0], 1)], 3000),
    "small": (
        [
            ("relu", 2, 8, [2.0, 2.4, 2.8, 3.2, 3.6], 8),
            ("relu", 2, 12, [2.4, 2.7, 3.0, 3.3], 8),
            ("relu", 2, 16, [2.4, 2.8, 3.2], 8),
            ("relu", 3, 10, [1.8, 2.2, 2.6, 3.0], 8),
            ("tanh", 2, 10, [4.5, 5.0], 8),
        ],
        100_000,
    ),
    "paper": (
        [
            ("relu", 2, 62, [2.6, 2.7, 2.8, 2.85, 2.9, 3.0, 3.1], 8),
            ("relu", 2, 31, [2.6, 2.7, 2.8, 2.85, 2.9, 3.0, 3.1], 8),
            ("relu", 3, 51, [2.6, 2.7, 2.8, 2.85, 2.9, 3.0, 3.1], 16),
            ("relu", 5, 40, [2.6, 2.7, 2.8, 2.85, 2.9, 3.0, 3.1], 8),
            ("tanh", 3, 27, [4.0, 4.5, 5.0], 4),
        ],
        10_000_000,
    ),
}
# tanh at the transition: (width = dimension, ratios P/N, seeds), depth 2
SMOOTH: dict[str, tuple[int, list[float], int]] = {
    "tiny": (4, [8.0], 1),
    "small": (12, [3.8, 4.0, 4.2], 8),
    "paper": (33, [4.0, 4.5, 4.93], 3),
}
# networks whose effective parameters are counted: patterns, then (depth, width = dimension)
EFFECTIVE: dict[str, tuple[int, list[tuple[int, int]]]] = {
    "tiny": (200, [(1, 3), (2, 3)]),
    "small": (3000, [(1, 8), (2, 8), (3, 6), (3, 10)]),
    "paper": (5000, [(1, 12), (2, 12), (3, 12), (5, 10)]),
}


def n_weights(depth: int, width: int) -> int:
    """N of a network as wide as its input: weights without biases."""
    return depth * width**2 + width


def grid(scale: str) -> list[Point]:
    """Runs over P/N for every architecture, tanh at its transition, networks whose effective parameters are counted."""
    ladders, steps = LADDERS[scale]
    points: list[Point] = []
    for activation, depth, width, ratios, seeds in ladders:
        for ratio in ratios:
            n = round(ratio * n_weights(depth, width) / 2) * 2
            same = {"part": "run", "activation": activation, "depth": depth, "width": width, "ratio": ratio}
            points += [{**same, "n_train": n, "steps": steps, "seed": seed} for seed in range(seeds)]
    width, ratios, seeds = SMOOTH[scale]
    for ratio in ratios:
        n = round(ratio * n_weights(2, width) / 2) * 2
        same = {"part": "smooth", "activation": "tanh", "depth": 2, "width": width, "ratio": ratio}
        points += [{**same, "n_train": n, "steps": steps, "seed": seed} for seed in range(seeds)]
    n, shapes = EFFECTIVE[scale]
    for depth, width in shapes:
        for activation in ("relu", "tanh"):
            same = {"part": "effective", "activation": activation, "depth": depth, "width": width, "ratio": 0.0}
            points.append({**same, "n_train": n, "steps": 0, "left_out": "weights", "seed": 0})
    return points


def run(point: Point) -> Metrics:
    """Train one network until every margin is met or the steps are over; where patterns stay, look at the landscape."""
    depth, width, seed = point["depth"], point["width"], point["seed"]
    shape = {"dim": width, "width": width, "depth": depth, "activation": point["activation"]}
    data = random_patterns(point["n_train"], width, seed=seed)
    net = plain_network(**shape, seed=seed, gain=MARGIN)
    sizes = {"n_weights": n_weights(depth, width), "n_parameters": sum(p.numel() for p in net.parameters())}
    if point["part"] == "effective":
        return sizes | {
            "n_effective": effective_parameters(net, data.inputs),
            "n_dead": _unreached(net, data.inputs),
        }
    loss = QuadraticHinge(MARGIN)
    if point["part"] == "smooth":
        return sizes | _smooth(net, data, point["steps"])
    used = train_hinge(net, data.inputs, data.targets, point["steps"])
    found = landscape(net, data, loss, dense_up_to=9000)
    result: Point = sizes | {
        "used": used,
        "loss": found.loss,
        "overlap_ratio": found.overlap_ratio,
        "n_unsatisfied": found.n_unsatisfied,
        "n_dead": found.n_dead,
        "n_misclassified": found.n_misclassified,
        "rank_first": found.rank_first,
        **_reduced(found),
        "n_negative": found.n_negative,
        "n_positive": found.n_positive,
        "index": found.index,
        "cusps": count_cusps(net, data.inputs, tolerance=1e-4) if point["activation"] == "relu" else 0,
    }
    if point["activation"] == "tanh":  # the same run a quarter as long, to see negative modes go
        early = plain_network(**shape, seed=seed, gain=MARGIN)
        train_hinge(early, data.inputs, data.targets, point["steps"] // 4)
        result["index_early"] = landscape(early, data, loss, dense_up_to=9000).index
    return result


def _living_loss(found: Landscape) -> float:
    """The loss without what dead patterns add to it."""
    return float((np.maximum(found.slack[~found.dead], 0) ** 2).sum()) / (2 * len(found.slack))


def _reduced(found: Landscape) -> dict[str, float]:
    """Numbers of spectra and slacks that claims are judged from; NaN where there is too little of them."""
    first = found.first[found.first > found.zero * np.abs(found.first).max(initial=0.0)]
    second = np.abs(found.second)
    second = second[second > found.zero * second.max(initial=0.0)]
    overlaps, gaps = found.overlap_exponent, found.gap_exponent
    return {
        "living_loss": _living_loss(found),
        "gap_over_bulk": found.gap / float(np.median(first)) if len(first) else float("nan"),
        "edge": float(np.quantile(second, 0.9)) if len(second) else float("nan"),
        "theta": float("nan") if overlaps is None else overlaps.value,
        "gamma": float("nan") if gaps is None else gaps.value,
    }


def _smooth(net: nn.Sequential, data: Samples, steps: int) -> Metrics:
    """One run of a smooth network, its Hessian looked at after a tenth and half of the steps, and at the end."""
    found: list[Landscape] = []

    def look(step: int) -> None:
        found.append(landscape(net, data, QuadraticHinge(MARGIN), dense_up_to=9000))

    used = train_hinge(net, data.inputs, data.targets, steps, watch=look, watch_at=[steps // 10, steps // 2])
    look(used)
    end = found[-1]
    return {
        "used": used,
        "loss": end.loss,
        "living_loss": _living_loss(end),
        "overlap_ratio": end.overlap_ratio,
        "n_negative": end.n_negative,
        "n_positive": end.n_positive,
        "index_at": np.array([f.index for f in found]),
        "lowest_at": np.array([float(f.total.min()) for f in found]),
        "loss_at": np.array([f.loss for f in found]),
    }


def _unreached(net: nn.Sequential, inputs: Tensor) -> int:
    """Parameters no pattern reaches, beyond the one a rescaling takes from each neuron.

    Those are weights into and out of neurons that are never on, and weights between neurons that are never on together:
    their gradient is zero on every pattern, so they count for nothing in N (source, Sec. III: neurons never active).
    """
    z, never = inputs, 0
    for module in net:
        z = module(z)
        if isinstance(module, nn.ReLU):
            never += int((z == 0).all(0).sum())

    def output(params: dict[str, Tensor], x: Tensor) -> Tensor:
        found: Tensor = torch.func.functional_call(net, params, (x[None],))[0, 0]
        return found

    params = {name: p.detach() for name, p in net.named_parameters()}
    gradients = torch.func.vmap(torch.func.grad(output), (None, 0))(params, inputs)
    return sum(int((g.flatten(1) == 0).all(0).sum()) for g in gradients.values()) - never


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """The jump: unsatisfied patterns per weight against P/N, and against the loss that is left."""
    import altair as alt

    runs = table[table.part.isin(["run", "smooth"])].copy()
    runs["network"] = [f"{a}, L = {d}, h = {h}" for a, d, h in zip(runs.activation, runs.depth, runs.width)]
    runs = runs.sort_values(["activation", "depth", "width"])
    shown = runs[["network", "ratio", "overlap_ratio", "loss"]]
    colour = alt.Color("network:N", title=None, sort=list(dict.fromkeys(runs.network)))
    base = alt.Chart(shown).mark_point(filled=True, size=45).encode(color=colour)
    y = alt.Y("overlap_ratio:Q", title="unsatisfied patterns per weight N_Δ/N")
    left = base.encode(alt.X("ratio:Q", title="patterns per weight P/N", scale=alt.Scale(zero=False)), y)
    right = base.transform_filter("datum.loss > 1e-6").encode(
        alt.X("loss:Q", title="final loss", scale=alt.Scale(type="log"), axis=alt.Axis(format="~e")), y
    )
    return alt.hconcat(left.properties(width=300), right.properties(width=300))


PAPER = Paper(
    name="jamming",
    title="Random data jam a deep network like ellipses jam a box",
    source=SOURCE,
    version=3,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
)

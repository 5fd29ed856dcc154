"""Noise of initialisation: errors of single networks, of ensembles, and the distance of their decision boundaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from priorscope.data import Split
from priorscope.inference import train_hinge
from priorscope.lab import Metrics, Paper, Point
from priorscope.models import DenseStack, plain_network
from priorscope.papers.jamming._images import counts, parity
from priorscope.papers.lazy_feature._runs import split
from priorscope.papers.scaling._ensemble_statistics import (
    SIZES,
    boundary_distances,
    ensemble_errors,
    with_and_without,
)
from priorscope.papers.scaling._fluctuations_claims import CLAIMS, SOURCE
from priorscope.papers.scaling._fluctuations_measures import star_of
from priorscope.probes import kernel_fluctuations

if TYPE_CHECKING:
    import altair as alt

DIM, MARGIN = 10, 1.0
SCALES: dict[str, Point] = {
    "tiny": {
        "common": {"data": "digits", "n_train": 60, "n_test": 300, "n_gradients": 100, "depth": 2, "compared": 4},
        "optimiser": {"steps": 800, "rate": 5e-3},
        "widths": {2: 4, 8: 8, 16: 4, 32: 4},
        "kernel": ([8, 32], 4, 20),
    },
    "small": {
        "common": {"data": "mnist", "n_train": 500, "n_test": 4000, "n_gradients": 2000, "depth": 2, "compared": 32},
        "optimiser": {"steps": 30_000, "rate": 1e-3},
        "widths": {5: 32, 8: 32, 12: 128, 18: 32, 28: 32, 44: 32, 70: 32},  # width: members
        "kernel": ([16, 32, 64, 128, 256, 512], 20, 100),
    },
    "paper": {
        "common": {
            "data": "mnist",
            "n_train": 10_000,
            "n_test": 50_000,
            "n_gradients": 10_000,
            "depth": 5,
            "compared": 20,
        },
        "optimiser": {"steps": 2_000_000, "rate": 1e-4},
        "widths": {8: 20, 12: 20, 16: 20, 20: 20, 30: 20, 57: 100, 100: 20, 200: 20, 400: 20, 800: 20, 1265: 20},
        "kernel": ([32, 128, 512, 2048], 40, 1000),
    },
}


def grid(scale: str) -> list[Point]:
    """One point per width: its members, which are averaged, train on the same patterns. Then kernels at the start.

    ``compared`` members of every width are compared with their ensemble; widths with more give the law of ensemble sizes.
    """
    size = SCALES[scale]
    points = [
        {"part": "ensemble", "width": h, "members": members, **size["common"], **size["optimiser"], "seed": 0}
        for h, members in size["widths"].items()
    ]
    widths, members, n = size["kernel"]
    return points + [
        {"part": "kernel", "width": h, "n_train": n, "n_test": 300, "depth": 2, "members": members, "seed": 0}
        for h in widths
    ]


def run(point: Point) -> Metrics:
    """Errors of members and of their ensembles, and distances of decision boundaries; or both variances of kernels."""
    if point["part"] == "kernel":
        return _kernels(point)
    train, test = parity(point["data"], point["n_train"], point["n_test"], 0, DIM)
    members = [_member(point, seed, train, test) for seed in range(point["members"])]
    found = [one for one, _, _ in members]
    F, G = np.stack([m for _, m, _ in members]), np.stack([g for _, _, g in members])  # (K, n), (K, n_gradients, d)
    return {
        "n_weights": found[0]["n_weights"],
        "overlap_ratios": [one["overlap_ratio"] for one in found],
        "losses": [one["loss"] for one in found],
        "used": [one["used"] for one in found],
        "errors": (F <= 0).mean(1).tolist(),
        "ensemble": ensemble_errors(F, [len(F)])[0],
        **_reduced(F, G, point["compared"]),
    }


def _member(point: Point, seed: int, train: Split, test: Split) -> tuple[Point, np.ndarray, np.ndarray]:
    """Counts of one trained network, its outputs times labels on the test points, and their gradients over the input."""
    net = plain_network(DIM, point["width"], point["depth"], seed=seed, gain=MARGIN)
    rate = min(point["rate"], 0.1 * point["width"] ** -1.5) if point["width"] > 100 else point["rate"]
    used = train_hinge(net, train.inputs, train.targets, point["steps"], stages=[(rate, 1.0)], margin=MARGIN)
    x = test.inputs.clone().requires_grad_()
    f = net(x)
    (gradient,) = torch.autograd.grad(f.sum(), x)
    margins = (test.targets * f.detach())[:, 0].numpy()
    slopes = (test.targets * gradient)[: point["n_gradients"]].numpy()
    return counts(net, train, MARGIN) | {"used": used}, margins, slopes


def _reduced(F: np.ndarray, G: np.ndarray, compared: int) -> Metrics:
    """What is averaged over members: all of them in the first row, then each of eight blocks left out."""

    def single_and_together(keep: np.ndarray) -> list[float]:
        return [float((F[keep] <= 0).mean()), *ensemble_errors(F[keep], [len(keep)])]

    found: Point = {"single_and_together": with_and_without(min(compared, len(F)), single_and_together).tolist()}
    if len(F) < 4 * SIZES[-1]:  # half of the members are the reference, and ensembles of every size come twice at least
        return found
    half = len(F) // 2
    reference = F[half:, : G.shape[1]].mean(0)  # members that are in no ensemble
    near = F[:half, : G.shape[1]]
    distances = with_and_without(half, lambda keep: boundary_distances(near[keep], G[keep], reference, SIZES)[0])
    _, estimates, without = boundary_distances(near, G[:half], reference, SIZES)
    return found | {
        "ensemble_errors": with_and_without(len(F), lambda keep: ensemble_errors(F[keep], SIZES)).tolist(),
        "boundary_distances": distances.tolist(),
        "boundary_estimates": estimates,
        "boundary_without": without,
    }


def _kernels(point: Point) -> Metrics:
    train, test = split(point["n_train"], point["n_test"], point["seed"])
    stack = DenseStack(train.inputs.shape[1], point["width"], point["depth"], range(point["members"]))
    found = kernel_fluctuations(
        stack.gram(stack.stacked, train.inputs),
        stack.gram(stack.stacked, test.inputs, train.inputs),
        train.targets,
        (stack.call(stack.stacked, train.inputs), stack.call(stack.stacked, test.inputs)),
    )
    spread = [(part - part.mean(0)).square().mean(1).numpy() for part in (found.learnt, found.start)]
    return {"learnt": spread[0], "start": spread[1]}


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Error of single networks and of the ensemble against N; error of ensembles of M members at one width."""
    import altair as alt

    ensembles = table[table.part == "ensemble"].sort_values("n_weights")
    rows = []
    for _, row in ensembles.iterrows():
        rows += [{"n": row.n_weights, "error": e, "which": "one network"} for e in row.errors]
        rows.append({"n": row.n_weights, "error": row.ensemble, "which": "ensemble"})
    frame = pd.DataFrame(rows)
    x = alt.X("n:Q", title="number of weights N", scale=alt.Scale(type="log", nice=False))
    up = alt.Y("error:Q", title="test error", scale=alt.Scale(zero=False), axis=alt.Axis(format="%"))
    colour = alt.Color("which:N", title=None, sort=["one network", "ensemble"], legend=alt.Legend(symbolOpacity=1))
    left = alt.Chart(frame).mark_point(filled=True, size=14, opacity=0.4).encode(x, up, colour)
    left += alt.Chart(frame).mark_line().encode(x, alt.Y("mean(error):Q"), colour)
    star = star_of(ensembles)
    if np.isfinite(star):
        left += alt.Chart(pd.DataFrame({"n": [star]})).mark_rule(strokeDash=[4, 4], opacity=0.7).encode(x)
    most = ensembles.iloc[int(ensembles.members.to_numpy().argmax())]
    if not isinstance(most.get("ensemble_errors"), (list, np.ndarray)):
        chart: alt.TopLevelMixin = left.properties(width=340)
        return chart
    law = pd.DataFrame({"m": SIZES, "error": most.ensemble_errors[0]})
    across = alt.X("m:Q", title=f"members M (N = {int(most.n_weights)})", scale=alt.Scale(type="log", base=2))
    right = alt.Chart(law).mark_line(point=True).encode(across, up)
    return alt.hconcat(left.properties(width=340), right.properties(width=260))


PAPER = Paper(
    name="fluctuations",
    title="Averaging networks removes the second descent",
    source=SOURCE,
    version=2,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
    members="members",
)

"""Noise of initialisation: errors of single networks, of ensembles, and the distance of their decision boundaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from priorscope.inference import train_hinge
from priorscope.lab import Claim, Paper
from priorscope.models import DenseStack, plain_network
from priorscope.papers._announced_regimes import SCALING
from priorscope.papers.jamming._images import counts, parity
from priorscope.papers.lazy_feature._runs import split
from priorscope.papers.scaling._double_descent_claims import star_of
from priorscope.papers.scaling._fluctuations_claims import JUDGES, by_width, ensemble_errors
from priorscope.probes import kernel_fluctuations

__all__ = ["PAPER"]

DIM, MARGIN = 10, 1.0
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {
        "common": {"data": "digits", "n_train": 60, "n_test": 300, "n_gradients": 100, "depth": 2},
        "optimiser": {"steps": 800, "rate": 5e-3},
        "widths": {2: 4, 8: 8, 16: 4, 32: 4},
        "kernel": ([8, 32], 4, 20),
    },
    "small": {
        "common": {"data": "mnist", "n_train": 500, "n_test": 4000, "n_gradients": 2000, "depth": 2},
        "optimiser": {"steps": 30_000, "rate": 1e-3},
        "widths": {5: 20, 8: 20, 12: 64, 18: 20, 28: 20, 44: 20, 70: 20},  # width: members
        "kernel": ([16, 32, 64, 128, 256, 512], 20, 100),
    },
    "paper": {
        "common": {"data": "mnist", "n_train": 10_000, "n_test": 50_000, "n_gradients": 10_000, "depth": 5},
        "optimiser": {"steps": 2_000_000, "rate": 1e-4},
        "widths": {8: 20, 12: 20, 16: 20, 20: 20, 30: 20, 57: 100, 100: 20, 200: 20, 400: 20, 800: 20, 1265: 20},
        "kernel": ([32, 128, 512, 2048], 40, 1000),
    },
}


def grid(scale: str) -> list[dict[str, Any]]:
    """One point a member of every width; all members train on the same patterns. Then kernels at the start, in closed form."""
    size = SIZES[scale]
    points = [
        {"part": "member", "width": h, **size["common"], **size["optimiser"], "seed": seed}
        for h, members in size["widths"].items()
        for seed in range(members)
    ]
    widths, members, n = size["kernel"]
    return points + [
        {"part": "kernel", "width": h, "n_train": n, "n_test": 300, "depth": 2, "members": members, "seed": 0}
        for h in widths
    ]


def run(point: dict[str, Any]) -> dict[str, Any]:
    """Outputs of one trained member on the test points and their gradients over the input; or both variances of kernels."""
    if point["part"] == "kernel":
        return _kernels(point)
    train, test = parity(point["data"], point["n_train"], point["n_test"], 0, DIM)
    net = plain_network(DIM, point["width"], point["depth"], seed=point["seed"], gain=MARGIN)
    rate = min(point["rate"], 0.1 * point["width"] ** -1.5) if point["width"] > 100 else point["rate"]
    used = train_hinge(net, train.inputs, train.targets, point["steps"], stages=[(rate, 1.0)], margin=MARGIN)
    x = test.inputs.clone().requires_grad_()
    f = net(x)
    (gradient,) = torch.autograd.grad(f.sum(), x)
    margins = (test.targets * f.detach())[:, 0].numpy()  # outputs times labels: all a judge needs
    slopes = (test.targets * gradient)[: point["n_gradients"]].numpy()
    return counts(net, train, MARGIN) | {
        "used": used,
        "error": float((margins <= 0).mean()),
        "margins": margins.astype(np.float32),
        "slopes": slopes.astype(np.float32),
    }


def _kernels(point: dict[str, Any]) -> dict[str, Any]:
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


def chart(table: pd.DataFrame) -> Any:
    """Error of single networks and of the ensemble against N; error of ensembles of M members at one width."""
    import altair as alt

    members = table[table.part == "member"]
    rows = []
    widths = by_width(members)
    for n, group in widths.items():
        rows += [{"n": n, "error": e, "which": "one network"} for e in group.error]
        rows.append({"n": n, "error": ensemble_errors(group, [len(group)])[0], "which": "ensemble"})
    frame = pd.DataFrame(rows)
    x = alt.X("n:Q", title="number of weights N", scale=alt.Scale(type="log", nice=False))
    up = alt.Y("error:Q", title="test error", scale=alt.Scale(zero=False), axis=alt.Axis(format="%"))
    colour = alt.Color("which:N", title=None, sort=["one network", "ensemble"], legend=alt.Legend(symbolOpacity=1))
    left = alt.Chart(frame).mark_point(filled=True, size=14, opacity=0.4).encode(x, up, colour)
    left += alt.Chart(frame).mark_line().encode(x, alt.Y("mean(error):Q"), colour)
    star = star_of(members)
    if np.isfinite(star):
        left += alt.Chart(pd.DataFrame({"n": [star]})).mark_rule(strokeDash=[4, 4], opacity=0.7).encode(x)
    most = max(widths.values(), key=len)
    sizes = [m for m in (1, 2, 4, 8, 16, 32) if m <= len(most) // 2]
    law = pd.DataFrame({"m": sizes, "error": ensemble_errors(most, sizes)})
    across = alt.X("m:Q", title=f"members M (N = {int(most.n_weights.iloc[0])})", scale=alt.Scale(type="log", base=2))
    right = alt.Chart(law).mark_line(point=True).encode(across, up)
    return alt.hconcat(left.properties(width=340), right.properties(width=260))


PAPER = Paper(
    name="fluctuations",
    title="Averaging networks removes the second descent",
    source=SCALING,
    version=1,
    grid=grid,
    run=run,
    claims=tuple(Claim(id_, SCALING, *line) for id_, line in JUDGES.items()),
    chart=chart,
)

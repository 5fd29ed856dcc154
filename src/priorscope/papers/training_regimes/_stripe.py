"""The stripe: labels that depend on one direction of many, learnt with features and with a frozen kernel."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from priorscope.data import stripe
from priorscope.inference import GradientFlow
from priorscope.lab import Metrics, Paper, Point
from priorscope.models import ShallowStack
from priorscope.papers.training_regimes._stripe_claims import CLAIMS, SOURCE
from priorscope.probes import Compression, compression, frozen_flows

if TYPE_CHECKING:
    import altair as alt

__all__ = ["PAPER"]

SIZES: dict[str, Point] = {
    "tiny": {
        "sizes": [8],
        "common": {"dim": 3, "width": 20, "kernel_width": 50, "n_test": 200, "data_seeds": 2, "rescaled": 1e-2},
        "steps": {"max_turn": 1e-2, "max_steps": 120},
    },
    "small": {
        "sizes": [256, 128, 96, 64, 48, 32, 16],
        "common": {"dim": 5, "width": 400, "kernel_width": 2000, "n_test": 4000, "data_seeds": 8, "rescaled": 1e-6},
        "steps": {"max_turn": 1e-3, "max_steps": 60_000},
    },
    "paper": {
        "sizes": [4096, 2048, 1024, 512, 256, 128, 64, 32],
        "common": {
            "dim": 5,
            "width": 1000,
            "kernel_width": 10_000,
            "n_test": 20_000,
            "data_seeds": 10,
            "rescaled": 1e-6,
        },
        "steps": {"max_turn": 1e-4, "max_steps": 1_000_000},
    },
}


def grid(scale: str) -> list[Point]:
    """One point per number of patterns: the networks of all training sets of that size are trained in one flow."""
    size = SIZES[scale]
    return [{"n_train": n, **size["common"], **size["steps"], "seed": 0} for n in size["sizes"]]


def run(point: Point) -> Metrics:
    """Errors of feature training, of the flow of a wide network's initial kernel, and of the latter on squeezed inputs."""
    dim, seeds = point["dim"], range(point["data_seeds"])
    sets = [stripe(point["n_train"], dim, 1000 * point["seed"] + s) for s in seeds]
    x, y = torch.stack([s.inputs for s in sets]), torch.stack([s.targets[:, 0] for s in sets])
    fresh = stripe(point["n_test"], dim, 999)
    new, labels = fresh.inputs, fresh.targets[:, 0]
    flow = GradientFlow(
        loss="soft-hinge", stop="fitted", max_turn=point["max_turn"], max_steps=point["max_steps"], record=1, time=1e12
    )
    stack = ShallowStack(x, y, point["width"], seeds)
    alpha = point["rescaled"] / point["width"] ** 0.5
    signs = torch.ones(point["n_train"], 1).double()
    signs[1::2] = -1
    fitted = flow.with_alpha(alpha).fit(stack, SimpleNamespace(inputs=signs, targets=signs))
    start, end = (fitted.members.unflatten(p) for p in (fitted.initial, fitted.params))
    F = alpha * (stack.outputs(end, new) - stack.outputs(start, new))
    informative = torch.eye(dim, 1).double()
    squeezed = _compression(end, informative)
    wide = ShallowStack(x[:1], y[:1], point["kernel_width"], [12345]).stacked
    scales = torch.ones(len(sets), 1, dim).double()
    scales[:, :, 1:] /= torch.as_tensor(squeezed.ratio, dtype=torch.float64)[:, None, None]
    lazy = _frozen(wide, x, y, torch.ones_like(scales), new, labels, flow)
    after = _frozen(wide, x, y, scales, new, labels, flow)
    return {
        "feature": (F * labels <= 0).double().mean(1).numpy(),
        "lazy": np.array([e for e, _ in lazy]),
        "squeezed": np.array([e for e, _ in after]),
        "compression": squeezed.ratio,
        "compression_start": _compression(start, informative).ratio,
        "finished": fitted.finished.double().numpy(),
        "finished_lazy": np.array([float(done) for _, done in lazy]),
        "steps": fitted.steps.double().numpy(),
        "neurons": torch.stack([start["w"][0, :, :2], end["w"][0, :, :2]]).numpy(),
    }


def _compression(stacked: dict[str, Tensor], informative: Tensor) -> Compression:
    """Compression of the first-layer weights, every neuron weighted by the size of its readout: what the output sees."""
    return compression(stacked["c"].abs()[..., None] * stacked["w"], informative)


def _frozen(
    wide: dict[str, Tensor], x: Tensor, y: Tensor, scales: Tensor, new: Tensor, labels: Tensor, flow: GradientFlow
) -> list[tuple[float, bool]]:
    """Test error of the frozen kernel of a wide network on each training set, and whether it met all margins.

    Sets (K, P, d) are scaled, new points likewise. Labels go into the kernels, so that all sets have the target one.
    """
    sets = x * scales
    kernels = torch.stack([y[s, :, None] * ShallowStack.gram(wide, a, a)[0] * y[s] for s, a in enumerate(sets)])
    found = []
    for s, fit in enumerate(frozen_flows(kernels, torch.ones(x.shape[1], 1).double(), flow)):
        parts = (new * scales[s]).split(1000)
        F = torch.cat([ShallowStack.gram(wide, part, sets[s])[0] @ (y[s] * fit.coefficients[:, 0]) for part in parts])
        found.append((float((F * labels <= 0).double().mean()), fit.finished))
    return found


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Learning curves of the three trainings, compression against P beside √P, and one network's neurons."""
    import altair as alt

    names = {"feature": "feature", "lazy": "lazy", "squeezed": "lazy, inputs squeezed by Λ"}
    rows = [
        {"n": row.n_train, "error": float(np.mean(np.asarray(row[name], float))), "which": label}
        for _, row in table.iterrows()
        for name, label in names.items()
    ]
    x = alt.X("n:Q", title="patterns P", scale=alt.Scale(type="log", base=2, nice=False))
    y = alt.Y("error:Q", title="test error", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="~%"))
    colour = alt.Color("which:N", title=None, sort=list(names.values()))
    left = alt.Chart(pd.DataFrame(rows)).mark_line(point=True).encode(x, y, colour)
    ratios = [{"n": row.n_train, "ratio": float(r)} for _, row in table.iterrows() for r in np.asarray(row.compression)]
    frame = pd.DataFrame(ratios)
    sizes = np.sort(table.n_train.to_numpy(float))
    guide = np.exp(np.log(frame.ratio).mean() - 0.5 * np.log(frame.n).mean()) * sizes**0.5
    up = alt.Y("ratio:Q", title="compression Λ, weights along over across", scale=alt.Scale(type="log"))
    middle = alt.Chart(frame).mark_point(filled=True, size=25, opacity=0.6).encode(x, up)
    middle += alt.Chart(pd.DataFrame({"n": sizes, "ratio": guide})).mark_line(strokeDash=[4, 4]).encode(x, up)
    chosen = table.sort_values("n_train").iloc[len(table) // 2]
    clouds = []
    for when, cloud in zip(("start", "end of training"), np.asarray(chosen.neurons, float)):
        cloud = cloud / np.sqrt((cloud**2).mean())
        clouds += [{"along": a, "across": b, "when": when} for a, b in cloud]
    right = alt.Chart(pd.DataFrame(clouds)).mark_point(filled=True, size=16, opacity=0.7)
    right = right.encode(
        alt.X("along:Q", title="weight along the informative direction"),
        alt.Y("across:Q", title="weight across"),
        alt.Color("when:N", title=f"neurons, P = {int(chosen.n_train)}", sort=["start", "end of training"]),
    )
    panels = [left.properties(width=260), middle.properties(width=220), right.properties(width=220)]
    chart: alt.TopLevelMixin = alt.hconcat(*panels).resolve_scale(color="independent")
    return chart


PAPER = Paper(
    name="stripe",
    title="Feature learning compresses what does not matter",
    source=SOURCE,
    version=3,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
    members="data_seeds",
)

"""The stripe: labels that depend on one direction of many, learnt with features and with a frozen kernel."""

from __future__ import annotations

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
from priorscope.papers.training_regimes._stripe_training import readout_compression, train_features, train_frozen

if TYPE_CHECKING:
    import altair as alt

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
    "overnight": {
        "sizes": [512, 256, 128, 64, 32],
        "common": {"dim": 5, "width": 400, "kernel_width": 2000, "n_test": 4000, "data_seeds": 16, "rescaled": 1e-6},
        "steps": {"max_turn": 1e-3, "max_steps": 120_000},
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
    dim = point["dim"]
    trained = train_features(point)
    x, y, flow, start, end = trained.x, trained.y, trained.flow, trained.start, trained.end
    fresh = stripe(point["n_test"], dim, 999)
    new, labels = fresh.inputs, fresh.targets[:, 0]
    fitted, F = trained.fitted, trained.predict(new)
    informative = torch.eye(dim, 1).double()
    squeezed = readout_compression(end, informative)
    wide = ShallowStack(x[:1], y[:1], point["kernel_width"], [12345]).stacked
    scales = torch.ones(len(x), 1, dim).double()
    scales[:, :, 1:] /= torch.as_tensor(squeezed.ratio, dtype=torch.float64)[:, None, None]
    lazy = _errors(wide, x, y, torch.ones_like(scales), new, labels, flow)
    after = _errors(wide, x, y, scales, new, labels, flow)
    return {
        "feature": (F * labels <= 0).double().mean(1).numpy(),
        "lazy": np.array([e for e, _ in lazy]),
        "squeezed": np.array([e for e, _ in after]),
        "compression": squeezed.ratio,
        "compression_start": readout_compression(start, informative).ratio,
        "finished": fitted.finished.double().numpy(),
        "finished_lazy": np.array([float(done) for _, done in lazy]),
        "steps": fitted.steps.double().numpy(),
        "neurons": torch.stack([start["w"][0, :, :2], end["w"][0, :, :2]]).numpy(),
    }


def _errors(
    wide: dict[str, Tensor], x: Tensor, y: Tensor, scales: Tensor, new: Tensor, labels: Tensor, flow: GradientFlow
) -> list[tuple[float, bool]]:
    """Test error of the frozen kernel of a wide network on each training set, and whether it met all margins."""
    fits = train_frozen(wide, x, y, scales, flow)
    return [(float((fit.predict(new) * labels <= 0).double().mean()), fit.finished) for fit in fits]


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
    panels = [left.properties(width=260), middle.properties(width=220)]
    if "neurons" in table:  # committed tables have no long arrays
        panels.append(_cloud(table).properties(width=220))
    chart: alt.TopLevelMixin = alt.hconcat(*panels).resolve_scale(color="independent")
    return chart


def _cloud(table: pd.DataFrame) -> alt.Chart:
    """The neurons of one network, along and across, before and after training."""
    import altair as alt

    chosen = table.sort_values("n_train").iloc[len(table) // 2]
    clouds = []
    for when, cloud in zip(("start", "end of training"), np.asarray(chosen.neurons, float)):
        cloud = cloud / np.sqrt((cloud**2).mean())
        clouds += [{"along": a, "across": b, "when": when} for a, b in cloud]
    right = alt.Chart(pd.DataFrame(clouds)).mark_point(filled=True, size=16, opacity=0.7)
    found: alt.Chart = right.encode(
        alt.X("along:Q", title="weight along the informative direction"),
        alt.Y("across:Q", title="weight across"),
        alt.Color("when:N", title=f"neurons, P = {int(chosen.n_train)}", sort=["start", "end of training"]),
    )
    return found


PAPER = Paper(
    name="stripe",
    title="Feature learning compresses what does not matter",
    source=SOURCE,
    version=3,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
    overnight=True,
    members="data_seeds",
)

"""Fig. 2 and eqs. 8 and 11: the symmetry of VEC grows with width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import spearmanr

import priorscope.models as models
from priorscope.inference import GradientDescent, KernelRegression
from priorscope.lab import Claim, Paper, Verdict
from priorscope.papers._symmetry_systems import SOURCE, architecture, element, images, predictions, score
from priorscope.probes import empirical_ntk
from priorscope.statistics import fit_power_law

__all__ = ["PAPER"]

MEMBERS = 10  # initialisations in a mean, as in the paper
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"data": "local", "size": 4, "n": 16, "n_test": 16, "steps": 5},
    "small": {"data": "cifar10", "size": 8, "n": 256, "n_test": 500, "steps": 120},
    "paper": {"data": "cifar10", "size": 32, "n": 50000, "n_test": 10000, "steps": 40000},
}
WIDTHS = {"tiny": [2, 4, 6, 8], "small": [4, 8, 16, 32], "paper": [16, 32, 64, 128, 256, 512]}
TIMES = [0.0, 0.33, 0.67, 1.0]


def grid(scale: str) -> list[dict[str, Any]]:
    """Kernel errors by width; then trained VEC by width and by position on a path of rotations."""
    s, draws = SIZES[scale], {"tiny": 2, "small": 6, "paper": 10}[scale]
    widths = {"tiny": [8, 16, 32], "small": [16, 32, 64, 128, 256], "paper": [64, 128, 256, 512, 1024]}[scale]
    points: list[dict[str, Any]] = [
        {"part": part, "width": w, "time": 0.0, **s, "seed": seed}
        for part in ("kernel", "mean")
        for w in (widths if part == "kernel" else WIDTHS[scale])
        for seed in range(draws if part == "kernel" else max(draws // 3, 1))
    ]
    points += [
        {"part": "path", "width": w, "time": t, **s, "seed": seed}
        for seed in range({"tiny": 1, "small": 1, "paper": 3}[scale])
        for w in WIDTHS[scale]
        for t in TIMES
    ]
    return points


def run(point: dict[str, Any]) -> dict[str, Any]:
    """A kernel error, a distance of means, or accuracy and two distances along the path."""
    dataset = images(point["data"], point["size"], point["n"], point["n_test"], 0)
    shape, width, seed = tuple(dataset.input_shape), point["width"], point["seed"]
    if point["part"] == "kernel":
        x = dataset.inputs[:12].double()
        arch = models.vec(depth=2)
        limit = arch.kernel(x, kinds=("ntk",)).ntk
        network = arch.network(shape, width=width, outputs=1, seed=seed, dtype=torch.float64)
        return {"kernel_error": float((empirical_ntk(network, x) - limit).norm() / limit.norm())}
    if point["part"] == "mean":
        return {"mean_distance": _mean_distance(dataset, width, seed)}
    tau = element("O(c)^d", shape, seed, special=True).path(point["time"])
    moved = dataset.transformed(tau)
    options: dict[str, Any] = {"width": width, "steps": point["steps"], "seed": seed, "members": MEMBERS}
    ours = predictions("vec", "nn+", moved, **options)
    gap = predictions("gap", "nn+", dataset, **options)
    limit = KernelRegression(kind="ntk", ridge=1e-2).fit(architecture("vec"), moved).predict(moved.test.inputs)
    scale = float(limit.square().mean().sqrt())
    distance = lambda other: float((ours - other).square().mean().sqrt()) / scale  # noqa: E731
    return {"accuracy": score(ours, moved), "to_gap": distance(gap), "to_limit": distance(limit)}


def _mean_distance(dataset: Any, width: int, seed: int) -> float:
    """RMS of (mean over initialisations of centred VEC_n) − VEC_∞ after the same time of slow full-batch descent."""
    data = dataset.subset(min(24, len(dataset.train)), seed=0, n_test=min(24, len(dataset.test)))
    rate, steps = 0.1, 60
    arch = models.vec(depth=2)
    seeds = range(1000 * seed, 1000 * seed + MEMBERS)
    ensemble = arch.ensemble(tuple(data.input_shape), width=width, outputs=data.n_outputs, seeds=seeds)
    descent = GradientDescent(learning_rate=rate, steps=steps, centre=True, record=2)
    x = data.test.inputs
    mean = descent.fit(ensemble, data, seed=seed).predict(x).mean(0)
    start = torch.zeros_like(data.targets)
    kernel = arch.kernel(data.inputs, kinds=("ntk",)).ntk.double()
    cross = arch.kernel(x, data.inputs, kinds=("ntk",)).ntk.double()
    f, g = start.double(), torch.zeros(len(x), data.n_outputs, dtype=torch.float64)
    slope = _loss_slope(descent, data.targets)
    for _ in range(steps):  # the linear model that the limit is, stepped like the networks
        r = (f - data.targets.double()) * slope
        f, g = f - rate * kernel @ r, g - rate * cross @ r
    return float((mean - g).square().mean().sqrt() / g.square().mean().sqrt())


def _loss_slope(descent: GradientDescent, targets: torch.Tensor) -> float:
    """dL/df at f − y = 1: the constant of the squared loss, read from the loss itself."""
    from priorscope.inference import as_loss

    f = (targets + 1).clone().requires_grad_()
    (gradient,) = torch.autograd.grad(as_loss(descent.loss)(f[None], targets).sum(), f)
    return float(gradient.flatten()[0])


def _rank_correlation(x: pd.Series, y: pd.Series) -> float:
    """Spearman's; zero where one side does not vary."""
    return float(spearmanr(x, y).statistic) if x.nunique() > 1 and y.nunique() > 1 else 0.0


def _judge_path(table: pd.DataFrame) -> Verdict:
    path = table[table.part == "path"]
    mean = path.groupby(["width", "time"])[["accuracy", "to_gap", "to_limit"]].mean().reset_index()
    wanted = {"accuracy": -1, "to_gap": 1, "to_limit": -1}
    signs, parts = [], []
    for column, sign in wanted.items():
        for axis, other in (("width", "time"), ("time", "width")):
            rho = float(np.mean([_rank_correlation(p[axis], p[column]) for _, p in mean.groupby(other)]))
            signs.append(rho * sign)
            parts.append(f"{column} with {axis} {rho:+.2f}")
    note = "mean Spearman correlations: " + ", ".join(parts)
    right = sum(s > 0 for s in signs)
    verdict = "holds" if min(signs) >= 0.5 else "fails" if right < len(signs) and min(signs) <= -0.5 else "not shown"
    return Verdict(verdict, measured=f"{right} of {len(signs)} signs", note=note)


def _judge_rate(table: pd.DataFrame) -> Verdict:
    kernel = table[table.part == "kernel"].pivot_table(index="seed", columns="width", values="kernel_error")
    fit = fit_power_law(kernel.columns.to_numpy(float), kernel.to_numpy())
    means = table[table.part == "mean"].pivot_table(index="seed", columns="width", values="mean_distance")
    second = fit_power_law(means.columns.to_numpy(float), means.to_numpy())
    bounded = second.exponent <= -0.4
    note = (
        f"kernel error exponent {fit.exponent:.3f} [{fit.low:.3f}, {fit.high:.3f}]; mean prediction's distance to VEC_∞ "
        f"exponent {second.exponent:.3f} [{second.low:.3f}, {second.high:.3f}] (a bound: -0.5 or steeper)"
    )
    holds = abs(fit.exponent + 0.5) <= 0.1 and bounded
    return Verdict("holds" if holds else "fails", fit.exponent, fit.low, fit.high, note)


def chart(table: pd.DataFrame) -> Any:
    """Three panels of Fig. 2: accuracy, distance to GAP, distance to VEC at infinite width; one line a rotation."""
    import altair as alt

    path = table[table.part == "path"][["width", "time", "accuracy", "to_gap", "to_limit"]]
    names = {"accuracy": "test accuracy", "to_gap": "distance to E GAP_n", "to_limit": "distance to VEC_∞"}
    long = path.melt(["width", "time"], var_name="what", value_name="value").replace({"what": names})
    return (
        alt.Chart(long)
        .mark_line(point=True)
        .encode(
            x=alt.X("width:Q", scale=alt.Scale(type="log"), title="width n"),
            y=alt.Y("mean(value):Q", title="mean over initialisations", scale=alt.Scale(zero=False)),
            color=alt.Color("time:O", title="rotation t", scale=alt.Scale(scheme="viridis")),
        )
        .properties(width=180)
        .facet(column=alt.Column("what:N", title=None, sort=list(names.values())))
        .resolve_scale(y="independent")
    )


PAPER = Paper(
    name="symmetry-width",
    title="Wide convolutional networks forget that weights are shared",
    source=SOURCE,
    version=1,
    grid=grid,
    run=run,
    claims=(
        Claim(
            "S0.6",
            f"{SOURCE}, Fig. 2",
            "as the width or the rotation grows, VEC's accuracy falls and its mean moves from GAP's towards VEC_∞",
            "six monotone trends",
            "mean Spearman correlation at least 0.5 with the right sign",
            _judge_path,
        ),
        Claim(
            "S0.7",
            f"{SOURCE}, eqs. 8 and 11",
            "the tangent kernel and the mean prediction approach their limits like one over the root of the width",
            -0.5,
            0.1,
            _judge_rate,
        ),
    ),
    chart=chart,
)

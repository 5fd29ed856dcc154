"""The norm of the predictor diverges at the transition: many widths above it, uneven ones for small steps in N."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from priorscope.inference import train_hinge
from priorscope.lab import Claim, Measured, Metrics, NotMeasured, Paper, Point, claimed
from priorscope.models import plain_network
from priorscope.papers.jamming._images import counts, parity
from priorscope.papers.jamming._measures import FITTED
from priorscope.statistics import seed_interval

if TYPE_CHECKING:
    import altair as alt

SOURCE = "Scaling description of generalization with number of parameters in deep learning (2020)"
DIM, MARGIN = 10, 1.0
REACH = (
    12  # times the smallest N that all seeds fit: the largest N of the law, beyond which the norm is next to its limit
)
_PAIRS = [(7, 8), (8, 8), (8, 9), (9, 8), *((h, h + k) for h in (9, 10, 11, 12) for k in (0, 1)), (13, 13), (14, 14)]
SIZES: dict[str, Point] = {
    "tiny": {"data": "digits", "n_train": 80, "n_test": 400, "steps": 400, "shapes": [(3, 3), (4, 4)], "seeds": 2},
    "small": {
        "data": "mnist",
        "n_train": 1000,
        "n_test": 10_000,
        "steps": 40_000,
        "shapes": [*_PAIRS, (16, 16), (18, 18), (20, 20), (22, 22), (26, 26), (30, 30), (36, 36)],
        "seeds": 24,
    },
    "paper": {
        "data": "mnist",
        "n_train": 10_000,
        "n_test": 50_000,
        "steps": 2_000_000,
        "shapes": [(h,) * 5 for h in (20, 21, 22, 23, 24, 26, 28, 30, 33, 36, 40, 50, 70)],
        "seeds": 20,
    },
}


def grid(scale: str) -> list[Point]:
    """Networks with layers of equal width or not, at one number of patterns."""
    size = SIZES[scale]
    common = {name: size[name] for name in ("data", "n_train", "n_test", "steps")}
    return [
        {"widths": list(shape), "depth": len(shape), **common, "seed": seed}
        for shape in size["shapes"]
        for seed in range(size["seeds"])
    ]


def run(point: Point) -> Metrics:
    """Train one network by full-batch Adam until it fits or the steps are over; the norm of its output on the test set."""
    train, test = parity(point["data"], point["n_train"], point["n_test"], point["seed"], DIM)
    widths = point["widths"]
    net = plain_network(DIM, widths, len(widths), seed=point["seed"], gain=MARGIN)
    used = train_hinge(net, train.inputs, train.targets, point["steps"], stages=[(1e-3, 1.0)], margin=MARGIN)
    with torch.no_grad():
        norm = float(net(test.inputs).square().mean().sqrt())
    return counts(net, train, MARGIN) | {"used": used, "norm_test": norm}


def divergence(n: np.ndarray, norm: np.ndarray, stars: np.ndarray) -> tuple[float, float]:
    r"""Exponent b and N* of :math:`\|f\| = c + A\,|1 - N/N^*|^{-b}` with :math:`c \ge 0`, by least squares of relative residuals.

    N* is one of ``stars`` and b lies on a grid of 0.02: the source tunes N* by hand. The constant is what the norm tends to
    far from the transition. NaN with fewer than six sizes: four numbers are fitted.
    """
    if len(n) < 6:
        return float("nan"), float("nan")
    powers = np.arange(0.1, 2.5, 0.02)
    far = np.abs(1 - n / stars[:, None])[:, None, :] ** -powers[:, None] / norm  # (stars, powers, sizes)
    one = 1 / norm
    aa, ab, bb, a, b = one @ one, far @ one, (far**2).sum(-1), one.sum(), far.sum(-1)
    constant = np.maximum((a * bb - b * ab) / (aa * bb - ab**2), 0)
    scale = (b - constant * ab) / bb
    residual = ((constant[..., None] * one + scale[..., None] * far - 1) ** 2).sum(-1)
    star, power = np.unravel_index(residual.argmin(), residual.shape)
    return float(powers[power]), float(stars[star])


def law(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, float]:
    """Sizes that every seed fits, norms (seeds, sizes) there, and the largest size that not all fit."""
    wide = table.pivot(index="seed", columns="n_weights", values="norm_test")
    fits = table.assign(fits=table.overlap_ratio < FITTED).groupby("n_weights").fits.all()
    whole = [n for n in fits.index if fits[fits.index >= n].all()]
    below = [n for n in fits.index if n not in whole]
    whole = [n for n in whole if n <= REACH * whole[0]]
    if len(whole) < 8 or not below:
        raise NotMeasured(f"{len(whole)} sizes that every seed fits, {len(below)} below them: eight and one are wanted")
    return np.array(whole, float), wide[whole].to_numpy(float), float(max(below))


def exponent(table: pd.DataFrame) -> Measured:
    """Exponent of the mean output's norm over seeds in N − N*, N* tuned as the source tunes it."""
    n, norms, below = law(table)

    def fit(norm: np.ndarray) -> tuple[float, float]:
        return divergence(n, np.exp(np.log(norm).mean(0)), stars(n, below))

    told = f"N* {fit(norms)[1]:.0f}; {len(n)} sizes from {n[0]:.0f} to {n[-1]:.0f}"
    return Measured(seed_interval(norms, lambda norm: -fit(norm)[0]), told)


def stars(n: np.ndarray, below: float) -> np.ndarray:
    """The places of the transition that are tried: from well below the last size that some seed does not fit."""
    return np.linspace(0.6 * below, 0.995 * n[0], 80)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Norm of the output against N − N*, every seed, with the fitted law and the source's power of minus one."""
    import altair as alt

    try:
        n, norms, below = law(table)
    except NotMeasured:
        frame = table[["n_weights", "norm_test"]]
        alone: alt.TopLevelMixin = alt.Chart(frame).mark_point().encode(x="n_weights:Q", y="norm_test:Q")
        return alone
    mean = np.exp(np.log(norms).mean(0))
    _, star = divergence(n, mean, stars(n, below))
    rows = pd.DataFrame({"distance": np.tile(n - star, len(norms)), "norm": norms.ravel()})
    slope = pd.DataFrame({"distance": n - star, "norm": mean[0] * (n[0] - star) / (n - star)})
    x = alt.X("distance:Q", title="N − N*").scale(type="log", nice=False)
    y = alt.Y("norm:Q", title="norm of the output on test points").scale(type="log", nice=False)
    points = alt.Chart(rows).mark_point(filled=True, size=14, opacity=0.5).encode(x, y)
    both: alt.TopLevelMixin = points + alt.Chart(slope).mark_line(strokeDash=[4, 4]).encode(x, y)
    return both


CLAIMS = (
    Claim(
        "J.13",
        SOURCE,
        "the norm of the predictor diverges towards the transition like one over the distance of N from it",
        measure=exponent,
        expect=claimed(-1.0, within=0.3),
        reach=("n_train", "depth", "steps"),
    ),
)

PAPER = Paper("norm-divergence", "The norm diverges where networks just fit", SOURCE, 1, grid, run, CLAIMS, chart)

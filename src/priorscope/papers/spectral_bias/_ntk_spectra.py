"""Fig. 2: normalised spectra of tangent kernels at initialisation on image data, over draws of weights and images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

import priorscope.data as data
import priorscope.models as m
from priorscope.lab import Claim, Paper, Verdict
from priorscope.probes import empirical_ntk, spectrum
from priorscope.statistics import fit_power_law

__all__ = ["PAPER"]

SOURCE = "Bowman & Montúfar, Spectral bias outside the training set (2022)"
NETWORKS = ("fc", "conv", "residual")
SIZES = {"tiny": (40, 16, 2), "small": (200, 32, 10), "paper": (1000, 128, 10)}  # images, channels, draws
DATASETS = {"tiny": ("digits",), "small": ("mnist", "cifar10"), "paper": ("mnist", "cifar10")}
OUTLIERS = 20  # "a handful": eigenvalues above a twentieth of the first


def grid(scale: str) -> list[dict[str, Any]]:
    """Data sets, networks and draws; every draw has its own weights and its own images."""
    n, width, draws = SIZES[scale]
    return [
        {"dataset": name, "network": network, "n": n, "width": width, "seed": seed}
        for name in DATASETS[scale]
        for network in NETWORKS
        for seed in range(draws)
    ]


def network(name: str, shape: tuple[int, ...], width: int, seed: int) -> nn.Module:
    """ReLU networks with one output: fully connected (16 times as wide), convolutional, residual convolutional."""
    act, v = m.Activation("relu"), 2.0
    if name == "fc":
        return m.fcn(2, weight_variance=v).network(shape, width=16 * width, seed=seed)
    conv = m.Conv(3, padding="zeros", weight_variance=v)
    narrow = m.Conv(3, stride=2, padding="zeros", weight_variance=v)
    if name == "conv":
        layers: tuple[Any, ...] = (narrow, act, narrow, act, conv, act)
    else:
        block = m.Residual(m.Sequential((conv, act)))
        layers = (narrow, act, block, narrow, act, block)
    arch = m.Architecture(name, (*layers, m.Flatten(), m.Dense(weight_variance=v)))
    return arch.network(shape, width=width, seed=seed)


def run(point: dict[str, Any]) -> dict[str, Any]:
    """Eigenvalues of one network's kernel on one batch of images, relative to the first."""
    n, seed = point["n"], point["seed"]
    if point["dataset"] == "digits":
        images = data.digits().subset(n, seed=seed).inputs
    else:
        images = getattr(data, point["dataset"])(n_train=n, n_test=1, seed=seed).inputs
    images = images.float()
    images = (images - images.mean()) / images.std()
    model = network(point["network"], tuple(images.shape[1:]), point["width"], seed)
    with torch.no_grad():
        found = spectrum(empirical_ntk(model, images))
    relative = found.eigenvalues / found.eigenvalues[0]
    return {
        "relative": relative,
        "outliers": int((relative > 1 / OUTLIERS).sum()),
        "median": float(relative[n // 2]),
        "effective_rank": found.effective_rank.value,
    }


def tails(table: pd.DataFrame) -> pd.DataFrame:
    """Of each data set and network: exponent of the tail over draws, and how straight it is on log axes."""
    rows = []
    for (name, kind), group in table.groupby(["dataset", "network"]):
        curves = np.stack(group.relative.to_list())
        n = curves.shape[1]
        at = np.unique(np.geomspace(min(10, n // 5), n // 2, 30).round().astype(int))
        fit = fit_power_law(at, curves[:, at - 1])
        logs = np.log(curves[:, at - 1].mean(0))
        left = logs - np.log(fit(at))
        rows.append(
            {
                "dataset": name,
                "network": kind,
                "exponent": fit.exponent,
                "low": fit.low,
                "high": fit.high,
                "r2": 1 - float(left.var() / logs.var()),
                "outliers": float(group.outliers.mean()),
                "median": float(group["median"].mean()),
                "draws": len(group),
            }
        )
    return pd.DataFrame(rows)


def _judge(table: pd.DataFrame) -> Verdict:
    fits = tails(table)
    skewed = bool((fits.outliers <= 10).all() and (fits["median"] < 0.01).all())
    straight = bool((fits.r2 >= 0.97).all())
    worst = fits.iloc[int(fits["median"].to_numpy().argmax())]
    note = "; ".join(
        f"{r.dataset} {r.network}: {r.outliers:.1f} above 1/{OUTLIERS}, tail k^{r.exponent:.2f} "
        f"[{r.low:.2f}, {r.high:.2f}], R² {r.r2:.3f}"
        for r in fits.itertuples()
    )
    return Verdict("holds" if skewed and straight else "fails", measured=float(worst["median"]), note=note)


def chart(table: pd.DataFrame) -> Any:
    """Relative eigenvalue against rank: line the mean over draws, band from the smallest to the largest."""
    import altair as alt

    rows = []
    for (name, kind), group in table.groupby(["dataset", "network"]):
        curves = np.stack(group.relative.to_list())
        for k in np.unique(np.geomspace(1, curves.shape[1], 80).round().astype(int)):
            column = np.clip(curves[:, k - 1], 1e-12, None)
            rows.append(
                {
                    "dataset": name,
                    "network": kind,
                    "rank": int(k),
                    "mean": column.mean(),
                    "low": column.min(),
                    "high": column.max(),
                }
            )
    log = alt.Scale(type="log", nice=False)
    base = alt.Chart(pd.DataFrame(rows)).encode(alt.X("rank:Q", scale=log, title="rank k"), alt.Color("network:N"))
    band = base.mark_area(opacity=0.2).encode(alt.Y("low:Q", scale=log, title="eigenvalue λ_k / λ_1"), y2="high:Q")
    line = base.mark_line().encode(alt.Y("mean:Q", scale=log))
    return alt.layer(band, line).facet(column=alt.Column("dataset:N", title=None))


PAPER = Paper(
    name="ntk-spectra",
    title="Spectra of tangent kernels on images are heavily skewed",
    source=SOURCE,
    version=1,
    grid=grid,
    run=run,
    claims=(
        Claim(
            id="S2.7",
            source=f"{SOURCE}, Fig. 2",
            says="the spectrum on image data is heavily skewed: a handful of outliers, then a power-law tail",
            expected="median eigenvalue far below the first",
            tolerance="at most 10 above 1/20 of the first, median below 1/100, R² of the tail at least 0.97",
            judge=_judge,
        ),
    ),
    chart=chart,
)

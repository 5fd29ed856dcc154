"""Fig. 2: normalised spectra of tangent kernels at initialisation on image data, over draws of weights and images."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from torch import nn

import priorscope.data as data
import priorscope.models as m
from priorscope.lab import Check, Claim, Measured, Metrics, Paper, Point, at_least, at_most, below, rising
from priorscope.papers._over_draws import highest, lowest, over_draws
from priorscope.probes import empirical_ntk, spectrum
from priorscope.statistics import fit_power_law

if TYPE_CHECKING:
    import altair as alt

SOURCE = "Bowman & Montúfar, Spectral bias outside the training set (2022)"
NETWORKS = ("fc", "conv", "residual")
SIZES = {"tiny": (40, 16, 2), "small": (200, 32, 20), "paper": (1000, 128, 20)}  # images, channels, draws
DATASETS = {"tiny": ("digits",), "small": ("mnist", "cifar10"), "paper": ("mnist", "cifar10")}
OUTLIERS = 20  # "a handful": eigenvalues above a twentieth of the first


def grid(scale: str) -> list[Point]:
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
        layers: tuple[m.Layer, ...] = (narrow, act, narrow, act, conv, act)
    else:
        block = m.Residual(m.Sequential((conv, act)))
        layers = (narrow, act, block, narrow, act, block)
    arch = m.Architecture(name, (*layers, m.Flatten(), m.Dense(weight_variance=v)))
    return arch.network(shape, width=width, seed=seed)


def tail_ends(n: int) -> tuple[int, int]:
    """Ranks between which the tail is fitted: from 10 to half of the spectrum."""
    return min(10, n // 5), n // 2


def stored_ranks(n: int) -> np.ndarray:
    """At most 70 ranks of n, for chart and fit: thirty in the tail, evenly spaced on a log axis, and others around it."""
    first, last = tail_ends(n)
    tail = np.unique(np.geomspace(first, last, 30).round().astype(int))
    whole = np.unique(np.geomspace(1, n, 40).round().astype(int))
    return np.concatenate([whole[whole < first], tail, whole[whole > last]])


def run(point: Point) -> Metrics:
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
    ranks = stored_ranks(n)
    return {
        "rank": ranks,
        "relative": relative[ranks - 1].astype(np.float32),
        "outliers": int((relative > 1 / OUTLIERS).sum()),
        "median": float(relative[n // 2]),
        "effective_rank": found.effective_rank.value,
    }


def _cells(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The draws of every data set and network."""
    return {f"{name} {kind}": group for (name, kind), group in table.groupby(["dataset", "network"])}


def outliers(table: pd.DataFrame) -> Measured:
    """Mean number of eigenvalues above a twentieth of the first, over draws; where they are most."""
    return highest({name: over_draws(group.outliers) for name, group in _cells(table).items()})


def median(table: pd.DataFrame) -> Measured:
    """Mean of the median eigenvalue over the first, over draws; where it is largest."""
    return highest({name: over_draws(group["median"]) for name, group in _cells(table).items()})


def straightness(table: pd.DataFrame) -> Measured:
    """R² of a power law fitted to the tail of the mean spectrum, over draws; where it is least. The note has the exponents."""
    found, exponents = {}, []
    for name, group in _cells(table).items():
        ranks, curves = _tail(group)
        found[name] = over_draws(curves, partial(_r2, np.log(ranks)))
        fit = fit_power_law(ranks, curves)
        exponents.append(f"{name} k^{fit.exponent:.2f} [{fit.low:.2f}, {fit.high:.2f}]")
    return lowest(found, f"Tails: {', '.join(exponents)}")


def bent(table: pd.DataFrame) -> Measured:
    """R² of a power law minus that of an exponential of the same tail of the mean spectrum, over draws; where least."""
    found = {}
    for name, group in _cells(table).items():
        ranks, curves = _tail(group)
        found[name] = over_draws(curves, partial(_lead, ranks))
    return lowest(found)


def _lead(ranks: np.ndarray, curves: np.ndarray) -> float:
    return _r2(np.log(ranks), curves) - _r2(ranks, curves)


def _tail(group: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of the tail, and the relative eigenvalues (draws, ranks) there."""
    first, last = tail_ends(int(group.n.iloc[0]))
    ranks, curves = np.asarray(group["rank"].iloc[0], dtype=float), np.stack(group.relative.to_list())
    within = (ranks >= first) & (ranks <= last)
    return ranks[within], curves[:, within].astype(float)


def _r2(x: np.ndarray, curves: np.ndarray) -> float:
    """Share of the variance of log y that a line in ``x`` explains, of the mean of curves (draws, points)."""
    y = np.log(curves.mean(0))
    return 1 - float((y - np.polyval(np.polyfit(x, y, 1), x)).var() / y.var())


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Relative eigenvalue against rank: line the mean over draws, band from the smallest to the largest."""
    import altair as alt

    rows = []
    for (name, kind), group in table.groupby(["dataset", "network"]):
        curves = np.stack(group.relative.to_list())
        for i, k in enumerate(group["rank"].iloc[0]):
            column = np.clip(curves[:, i], 1e-12, None)
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
    version=2,
    grid=grid,
    run=run,
    claims=(
        Claim(
            id="S2.7",
            source=f"{SOURCE}, Fig. 2",
            says="the spectrum on image data is heavily skewed: a handful of outliers, then a power-law tail",
            checks=(
                Check(f"eigenvalues above 1/{OUTLIERS} of the first", outliers, at_most(10)),
                Check("median eigenvalue over the first", median, below(0.01)),
                Check("R² of the tail", straightness, at_least(0.97)),
                Check("R² of a power law minus that of an exponential", bent, rising()),
            ),
        ),
    ),
    chart=chart,
)

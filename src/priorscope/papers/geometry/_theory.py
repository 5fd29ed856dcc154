"""Geometry of the input space at initialisation: closed forms, first movement, isotropy and structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Metrics, Paper, Point
from priorscope.papers.geometry._sizes import SOURCE
from priorscope.papers.geometry._theory_claims import CLAIMS

if TYPE_CHECKING:
    import altair as alt
    from torch import Tensor, nn

    from priorscope.contracts import NetworkMaker, NetworkOptions
    from priorscope.probes import GeometryEvolution

FILTER = 7  # taps of the linear convolution: large, so that pooling leaves several directions


def grid(scale: str) -> list[Point]:
    """Five experiments, told apart by ``part``."""
    seeds = range({"tiny": 1, "small": 8, "paper": 10}[scale])
    models = {"tiny": 200, "small": 4000, "paper": 100_000}[scale]
    widths = {"tiny": [8, 32], "small": [8, 32, 128], "paper": [16, 64, 256, 1024]}[scale]
    points: list[Point] = []
    for seed in seeds:
        common = {"n_models": models, "seed": seed}
        points.append({"part": "movement", "model": "linear", "width": 1, "dim": 16, **common})
        for dim in [8] if scale == "tiny" else [8, 32]:
            points += [{"part": "movement", "model": "relu", "width": w, "dim": dim, **common} for w in widths]
        many = {"n_models": 8 * models, "seed": seed}
        points += [{"part": "movement", "model": "conv", "width": w, "dim": 12, **many} for w in (2, 4, 8, 16)]
        points += [{"part": "labels", "model": m, "width": 32, "dim": 12, **common} for m in ("relu", "conv")]
        steps = [1, 4, 16] if scale != "tiny" else [1, 4]
        for model in ("fcn", "vec", "gap"):
            sizes = [{"n_models": max(10, models // 160) * s, "seed": seed} for s in steps]
            points += [{"part": "isotropy", "model": model, "width": 16, "dim": 25, **size} for size in sizes]
        size = 8 if scale == "tiny" else 16
        structured = ("mlp",) if scale == "tiny" else ("mlp", "lenet", "resnet18", "vit")
        for model in structured:
            n = 20 if scale == "tiny" else {"mlp": 1000, "lenet": 1000}.get(model, 200)
            row = {"part": "structure", "model": model, "width": 0, "dim": size * size}
            points.append({**row, "n_models": n * (10 if scale == "paper" else 1), "seed": seed})
    return points


def run(point: Point) -> Metrics:
    """Measure one point; what is measured depends on its ``part``."""
    return {"movement": _movement, "labels": _labels, "isotropy": _isotropy, "structure": _structure}[point["part"]](
        point
    )


def _data(dim: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs (20, dim) of a power-law covariance in a random basis, and two labelings."""
    import torch

    from priorscope.data import gaussian

    generator = torch.Generator().manual_seed(1000 + seed)
    basis = torch.linalg.qr(torch.randn(dim, dim, generator=generator, dtype=torch.float64)).Q
    covariance = (basis * (1.0 + torch.arange(dim)) ** -1.0) @ basis.mT
    x = gaussian(20, (covariance + covariance.mT) / 2, seed=2000 + seed)
    return x, x[:, 0].sign(), 3 * torch.randn(20, generator=generator)


def _model(point: Point) -> tuple[NetworkMaker | nn.Module, NetworkOptions, tuple[int, ...]]:
    """Model, options of its networks, input shape."""
    from priorscope import models as m

    dim, name = point["dim"], point["model"]
    side = round(dim**0.5)
    if name == "linear":
        return m.Architecture("linear", (m.Dense(1.0),)), {}, (dim,)
    if name == "relu":
        return m.fcn(1, "relu"), {"width": point["width"]}, (dim,)
    if name == "conv":
        layers = (m.Conv(FILTER, 1, "valid", 1.0), m.GlobalAvgPool(), m.Dense(1.0))
        return m.Architecture("conv", layers), {"width": point["width"]}, (1, dim)
    if name in ("fcn", "vec", "gap"):
        return getattr(m, name)(2, activation="relu"), {"width": point["width"]}, (1, side, side)
    if name == "mlp":
        return m.fcn(2, "gelu"), {"width": 100}, (1, side, side)
    if name == "lenet":
        return m.lenet(activation="gelu"), {}, (1, side, side)
    if name == "resnet18":
        return m.resnet18(activation="gelu", normalisation=False), {"width": 8}, (1, side, side)
    return m.vit(normalisation=False), {"width": 32}, (1, side, side)


def _evolve(point: Point, targets: Tensor, seed: int) -> GeometryEvolution:
    from priorscope.probes import geometry_evolution

    model, options, shape = _model(point)
    x = _data(point["dim"], point["seed"])[0].reshape(-1, *shape)
    return geometry_evolution(model, x, targets, n_models=point["n_models"], n_probes=4, seed=seed, **options)


def _movement(point: Point) -> Metrics:
    """Corr(Δ, S) and Corr(Δ, GSG), with the Monte-Carlo noise taken out by two independent halves."""
    import torch

    from priorscope.probes import linear_conv_geometry

    y = _data(point["dim"], point["seed"])[1]
    one, two = (_evolve(point, y, 10 * point["seed"] + i) for i in (1, 2))
    D = point["dim"]
    if point["model"] == "conv":  # weights N(0, 1/filter) per entry, readout N(0, 1/width): G has the closed form
        G = linear_conv_geometry(D, FILTER, D - FILTER + 1, 1 / FILTER).double()
    elif point["model"] == "relu":
        G = torch.eye(D, dtype=torch.float64) * 2 / D  # ½ · (2/D) · 2
    else:
        G = torch.eye(D, dtype=torch.float64) / D
    S = one.second_moment
    out: Point = {}
    norm = float((one.delta * two.delta).sum())
    for name, target in (("corr_s", S), ("corr_gsg", G @ S @ G)):
        along = float(((one.delta + two.delta) / 2 * target).sum())
        out[name] = along / (norm**0.5 * float(target.norm())) if norm > 0 else float("nan")
    mean = (one.geometry + two.geometry) / 2
    out["geometry_error"] = float((mean - G).norm() / G.norm())
    out["noise"] = one.relative_error
    if point["model"] == "linear":
        exact = -2 / D**2 * S  # -2σ²S with σ² = 1/D; the NTK parametrisation scales time by another 1/D
        pull = (one.delta - exact) / one.standard_error
        out["linear_pull"] = float((pull**2).mean().sqrt())
    return out


def _labels(point: Point) -> Metrics:
    """Root mean square of the difference between two labelings in units of its standard error."""
    _, y1, y2 = _data(point["dim"], point["seed"])
    one, two = _evolve(point, y1, 20 * point["seed"] + 1), _evolve(point, y2, 20 * point["seed"] + 2)
    pull = (one.delta - two.delta) / (one.standard_error**2 + two.standard_error**2).sqrt()
    shift = float((one.delta - two.delta).norm() / one.delta.norm())
    return {"pull": float((pull**2).mean().sqrt()), "shift": shift, "noise": one.relative_error}


def _isotropy(point: Point) -> Metrics:
    """Root mean square of the off-diagonal over the mean of the diagonal of G."""
    from priorscope.probes import average_geometry

    model, options, shape = _model(point)
    G = average_geometry(model, shape, n_models=point["n_models"], n_probes=4, seed=point["seed"], **options).matrix
    D = len(G)
    off = G - G.diagonal().diag()
    rms = float((off**2).sum() / (D * (D - 1))) ** 0.5
    return {
        "off_diagonal": rms / float(G.diagonal().mean()),
        "diagonal_spread": float(G.diagonal().std() / G.diagonal().mean()),
    }


def _structure(point: Point) -> Metrics:
    """Orders of magnitude between the first eigenvalue and the one at nine tenths of the ranks, and the spectrum."""
    from priorscope.probes import average_geometry

    model, options, shape = _model(point)
    G = average_geometry(
        model, shape, n_models=point["n_models"], n_probes=8, probe_std=1e-3, seed=point["seed"], **options
    )
    lam = G.eigenvalues.clamp(min=1e-30)
    decades = float((lam[0] / lam[int(0.9 * len(lam))]).log10())
    return {"decades": decades, "effective_rank": G.effective_rank, "spectrum": lam.numpy()}


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Correlation of the movement with its predicted direction against width."""
    import altair as alt

    rows = table[(table["part"] == "movement") & table["model"].isin(["relu", "conv"])].copy()
    rows["correlation"] = np.where(rows["model"] == "relu", rows["corr_s"].abs(), rows["corr_gsg"].abs())
    names = {"relu": "ReLU, with S", "conv": "linear convolution, with GSG"}
    rows["curve"] = [f"{names[m]}, {d} inputs" for m, d in zip(rows["model"], rows["dim"])]
    chart: alt.TopLevelMixin = (
        alt.Chart(rows, title="First movement of the geometry")
        .mark_line(point=True)
        .encode(
            x=alt.X("width:Q", title="width n").scale(type="log", nice=False, padding=12),
            y=alt.Y("mean(correlation):Q", title="|Corr| of Δ").scale(zero=False),
            color=alt.Color("curve:N", title=None, legend=alt.Legend(labelLimit=260)),
        )
        .properties(width=380, height=280)
    )
    return chart


PAPER = Paper("geometry-theory", "Geometry of the input space at initialisation", SOURCE, 2, grid, run, CLAIMS, chart)

"""Completing a matrix by a product of two factors: gaps left alone in the kernel regime, least nuclear norm in the rich one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, above, at_most, falling
from priorscope.papers._over_draws import over_draws, where
from priorscope.papers.implicit_bias._source import SOURCE, as_split, per_draw
from priorscope.statistics import exact

if TYPE_CHECKING:
    import altair as alt

Array = NDArray[np.float64]
TOLERANCE = 0.01  # of the nuclear norm over the least: what counts as the least


def grid(scale: str) -> list[Point]:
    """Completions by rank and scale, reconstructions from measurements, and tangent kernels."""
    seeds = {"tiny": 1, "small": 8, "paper": 20}[scale]
    n = {"tiny": 3, "small": 12, "paper": 20}[scale]
    scales = {
        "tiny": (0.1, 3.0),
        "small": (0.001, 0.01, 0.1, 0.3, 1.0, 3.0),
        "paper": (0.001, 0.01, 0.1, 0.3, 1.0, 3.0),
    }[scale]
    points: list[Point] = []
    for s in range(seeds):
        points += [{"kind": "completion", "n": n, "rank": r, "scale": a, "seed": s} for r in (1, 2) for a in scales]
        points += [
            {"kind": "sensing", "n": 8 if n > 8 else n, "m": 45 if n > 8 else 10, "scale": a, "seed": s}
            for a in scales[:3]
        ]
        points.append({"kind": "kernel", "n": 5, "width": 7, "seed": s})
    return points


def run(point: Point) -> Metrics:
    """One of the three measurements."""
    kinds: dict[str, Callable[[Point], Metrics]] = {"completion": _completion, "sensing": _sensing, "kernel": _kernel}
    return kinds[point["kind"]](point)


def _low_rank(n: int, rank: int, rng: np.random.Generator) -> Array:
    """A matrix of this rank with normal factors and spectral norm 1."""
    found: Array = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n))
    return found / float(np.linalg.norm(found, 2))


def _completion(point: Point) -> Metrics:
    """Three fifths of the entries are shown; the others are compared with the truth, and the norm with the least."""
    from priorscope.probes import completion_scale

    rng = np.random.default_rng(1000 * point["rank"] + point["seed"])
    truth = _low_rank(point["n"], point["rank"], rng)
    shown = rng.random(truth.shape) < 0.6
    found = completion_scale(np.where(shown, truth, np.nan), scales=(point["scale"],))
    hidden = float(np.linalg.norm(truth[~shown]))
    return {
        "change": float(found.change[0]) / hidden,
        "error": float(np.linalg.norm((found.matrices[0] - truth)[~shown])) / hidden,
        "excess": float(found.nuclear_norm[0]) / found.least - 1,
        "truth_excess": float(np.linalg.norm(truth, "nuc")) / found.least - 1,
    }


def _sensing(point: Point) -> Metrics:
    """A matrix of rank one from normal measurements of all its entries."""
    from priorscope.inference import StiffFlow
    from priorscope.models import FactoredMatrix
    from priorscope.probes import minimum_nuclear_norm

    n = point["n"]
    rng = np.random.default_rng(point["seed"])
    truth = _low_rank(n, 1, rng)
    A = rng.normal(size=(point["m"], n, n)) / n
    y = np.einsum("mij,ij->m", A, truth)
    fitted = StiffFlow(stop=1e-16 * float((y**2).mean()), accuracy=1e-8).fit(
        FactoredMatrix(n, n, point["scale"]), as_split(A, y)
    )
    left, right = fitted.params[0].numpy().reshape(2, n, 2 * n)
    M = left @ right.T
    least = float(np.linalg.norm(minimum_nuclear_norm(A, y, tolerance=1e-6), "nuc"))
    return {
        "fitted": float(fitted.finished.all()),
        "error": float(np.linalg.norm(M - truth) / np.linalg.norm(truth)),
        "excess": float(np.linalg.norm(M, "nuc")) / least - 1,
    }


def _kernel(point: Point) -> Metrics:
    """Tangent kernels of drawn factors against the formula, and of orthogonal ones against a multiple of the identity."""
    import torch

    from priorscope.models import FactoredMatrix
    from priorscope.probes import empirical_ntk

    n = point["n"]
    entries = torch.eye(n * n, dtype=torch.float64).reshape(-1, n, n)
    drawn = FactoredMatrix(n, n, 1.0, width=point["width"], seed=point["seed"])
    U, V = drawn.left.detach().numpy(), drawn.right.detach().numpy()
    same = np.eye(n)
    formula = np.einsum("ik,jl->ijkl", same, V @ V.T) + np.einsum("jl,ik->ijkl", same, U @ U.T)
    off = np.abs(empirical_ntk(drawn, entries).detach().numpy() - formula.reshape(n * n, n * n)).max()
    apart = empirical_ntk(FactoredMatrix(n, n, 0.7), entries).detach().numpy()
    return {
        "formula": float(off / np.abs(formula).max()),
        "identity": float(np.abs(apart / apart[0, 0] - np.eye(n * n)).max()),
    }


def at_scale(table: pd.DataFrame, column: str, place: int, rank: int) -> Measured:
    """The mean of a column at the smallest (0) or largest (−1) scale."""
    rows = where(table, kind="completion", rank=rank)
    scale = float(np.sort(rows["scale"].unique())[place])
    return Measured(per_draw(where(rows, scale=scale), column), f"α = {scale:g}")


def change_slope(table: pd.DataFrame, rank: int) -> Measured:
    """The slope of the change in the log of the scale, one per draw."""
    wide = where(table, kind="completion", rank=rank).pivot_table(index="seed", columns="scale", values="change")
    slopes = [float(np.polyfit(np.log(wide.columns.to_numpy(float)), row, 1)[0]) for row in wide.to_numpy(float)]
    listed = ", ".join(f"α = {a:g}: {v:.3g}" for a, v in wide.mean().items())
    return Measured(over_draws(slopes), f"mean change {listed}")


def sensing_excess(table: pd.DataFrame) -> Measured:
    """The excess of the nuclear norm at the smallest scale, from measurements."""
    rows = where(table, kind="sensing")
    rows = rows[rows["scale"] == rows["scale"].min()]
    return Measured(per_draw(rows, "excess"), f"relative error of the matrix {rows['error'].mean():.2g} on average")


def apart(table: pd.DataFrame) -> pd.DataFrame:
    """Draws of which the low-rank truth has a nuclear norm more than 1 % above the least: excess by scale, and the truth's."""
    rows = where(table, kind="completion")
    rows = rows[rows["truth_excess"] > TOLERANCE]
    wide = rows.pivot_table(index=["rank", "seed"], columns="scale", values="excess")
    if len(wide) < 2 or wide.shape[1] < 2:
        raise NotMeasured(f"{len(wide)} draws whose truth is not of least nuclear norm; two are wanted")
    return wide.assign(truth=rows.groupby(["rank", "seed"])["truth_excess"].first())


def share_of_truth(table: pd.DataFrame) -> Measured:
    """The excess at the smallest scale over that of the low-rank truth: 0 at the least nuclear norm, 1 at the truth."""
    wide = apart(table)
    share, before = ((wide.iloc[:, k] / wide["truth"]).to_numpy(float) for k in (0, 1))
    told = ", ".join(f"{v:.2f}" for v in share)
    return Measured(
        over_draws(share), f"{len(share)} draws: {told}; mean at α = {wide.columns[1]:g} {before.mean():.2f}"
    )


def kernel_off(table: pd.DataFrame, column: str) -> Measured:
    """The largest deviation over draws."""
    return Measured(exact(float(where(table, kind="kernel")[column].max())))


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Left: change of entries that were not shown, by scale. Right: nuclear norm over the least, minus 1."""
    import altair as alt

    rows = where(table, kind="completion").assign(rank=lambda t: t["rank"].astype(int).astype(str))
    base = alt.Chart(rows[["rank", "scale", "seed", "change", "error", "excess"]]).encode(
        x=alt.X("scale:Q", title="initial scale α").scale(type="log").axis(format="~g"),
        color=alt.Color("rank:N", title="rank of the truth"),
    )

    def panel(column: str, title: str, words: str) -> alt.LayerChart:
        y = alt.Y(f"mean({column}):Q", title=words)
        drawn = base.mark_line().encode(y=y) + base.mark_circle(opacity=0.5).encode(y=f"{column}:Q")
        titled: alt.LayerChart = drawn.properties(width=250, height=220, title=title)
        return titled

    return alt.hconcat(
        panel("change", "Entries not shown", "change, over their size"),
        panel("error", "Entries not shown", "error, over their size"),
        panel("excess", "Nuclear norm", "excess over the least"),
    )


CLAIMS = (
    Claim(
        "R.20",
        f"{SOURCE}, kernel and deep regimes in matrix completion",
        "the tangent kernel of a product of factors is that of the formula, and after an orthogonal start it keeps entries apart",
        checks=(
            Check("relative difference from the formula", partial(kernel_off, column="formula"), at_most(1e-12)),
            Check("relative difference from the identity", partial(kernel_off, column="identity"), at_most(1e-12)),
        ),
    ),
    Claim(
        "R.21",
        f"{SOURCE}, kernel and deep regimes in matrix completion",
        "a large scale leaves entries that were not shown as they are; a small one completes them",
        checks=(
            Check(
                "change at the largest scale, rank 1",
                partial(at_scale, column="change", place=-1, rank=1),
                at_most(0.01),
            ),
            Check("slope of the change in log α, rank 1", partial(change_slope, rank=1), falling()),
            Check(
                "error at the smallest scale, rank 1", partial(at_scale, column="error", place=0, rank=1), at_most(0.05)
            ),
            Check(
                "error at the largest scale, rank 1", partial(at_scale, column="error", place=-1, rank=1), above(0.9)
            ),
        ),
    ),
    Claim(
        "R.22",
        f"{SOURCE}, effect of optimization geometry (Gunasekar et al. 2017)",
        "from a small scale, factored matrices end at the least nuclear norm (proven in special cases, conjectured in general)",
        checks=(
            Check(
                "share of the way to the low-rank matrix, where the least is elsewhere", share_of_truth, at_most(0.5)
            ),
            Check("excess, normal measurements", sensing_excess, at_most(TOLERANCE)),
        ),
        finding="where a matrix of low rank fits the entries shown and does not have the least nuclear norm, gradient flow from "
        "a small scale goes to it: rank wins over nuclear norm (R.23)",
    ),
    Claim(
        "R.23",
        "priorscope, with Arora et al. (2019) and Razin & Cohen (2020)",
        "as the scale falls, factored matrices go to the matrix of low rank, also where the least nuclear norm is another one's",
        measure=share_of_truth,
        expect=above(0.5),
    ),
)

PAPER = Paper(
    "matrix-completion",
    "Completing matrices, from the rich regime to the kernel's",
    SOURCE,
    2,
    grid,
    run,
    CLAIMS,
    chart,
)

"""The picture of the phase diagram: error as colour, black where networks do not fit, jamming line and crossover."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.papers.lazy_feature._measures import crossover
from priorscope.papers.training_regimes._phase_diagram_measures import jamming_width, success

if TYPE_CHECKING:
    import altair as alt


def _edges(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper edges of cells around ascending values on a logarithmic axis."""
    logs = np.log(values)
    middle = (logs[1:] + logs[:-1]) / 2
    first, last = 2 * logs[0] - middle[0], 2 * logs[-1] - middle[-1]
    edges = np.exp(np.concatenate([[first], middle, [last]]))
    return edges[:-1], edges[1:]


def cells(table: pd.DataFrame) -> pd.DataFrame:
    """One row per cell of the plane (width, output scale): its edges, the share of seeds that fit, and the errors in per cent."""
    widths, at, fitted = success(table)
    rows = table.sort_values("width")
    left, right = _edges(widths)
    low, high = _edges(at)
    found = []
    for i, (_, row) in enumerate(rows.iterrows()):
        for a in range(len(at)):
            found.append(
                {"width": widths[i], "left": left[i], "right": right[i], "scale": at[a], "low": low[a], "high": high[a]}
                | {"fit": fitted[i, a].mean(), "ensemble error": 100 * float(np.asarray(row.ensemble_error)[a])}
                | {"error": 100 * float(np.asarray(row.error)[a].mean())}
                | {"change of the kernel": float(np.exp(np.log(np.asarray(row.kernel_change)[a]).mean()))}
            )
    return pd.DataFrame(found)


def lines(table: pd.DataFrame) -> pd.DataFrame:
    """The jamming line h*(scale), and the crossover: the scale at each width at which the kernel changes by its own size."""
    widths, at, fitted = success(table)
    rows = table.sort_values("width")
    stars = [jamming_width(widths, fitted[:, a].mean(1)) for a in range(len(at))]
    found = [{"line": "jamming", "width": h, "scale": a, "order": i} for i, (h, a) in enumerate(zip(stars, at))]
    for i, (h, change) in enumerate(zip(widths, rows.kernel_change)):
        scale = crossover(at, np.asarray(change, dtype=float))
        if fitted[i].mean() >= 0.5:
            found.append({"line": "crossover, lazy above", "width": h, "scale": scale, "order": i})
    return pd.DataFrame(found).dropna()


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Left: the plane. Right: errors of one network and of the ensemble against the width, at three output scales."""
    import altair as alt

    frame, curves = cells(table), lines(table)
    x = alt.X("left:Q", title="width h", scale=alt.Scale(type="log", nice=False))
    y = alt.Y("low:Q", title="output scale √h α", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="~e"))
    tips = [
        alt.Tooltip(f"{n}:Q", format=".3~g")
        for n in ("width", "scale", "fit", "ensemble error", "change of the kernel")
    ]
    base = alt.Chart(frame)
    fits = base.transform_filter("datum.fit >= 0.5").mark_rect()
    colour = alt.Color("ensemble error:Q", title="ensemble error %", scale=alt.Scale(scheme="viridis", reverse=True))
    fits = fits.encode(x, alt.X2("right:Q"), y, alt.Y2("high:Q"), color=colour, tooltip=tips)
    jammed = base.transform_filter("datum.fit < 0.5").mark_rect(color="black")
    jammed = jammed.encode(x, alt.X2("right:Q"), y, alt.Y2("high:Q"), tooltip=tips)
    names, hues = ["jamming", "crossover, lazy above"], ["#ff7f0e", "#d62728"]
    hue = alt.Color("line:N", title=None, scale=alt.Scale(domain=names, range=hues), legend=alt.Legend(orient="bottom"))
    drawn = alt.Chart(curves).mark_line(strokeWidth=3, point={"size": 40})
    drawn = drawn.encode(alt.X("width:Q"), alt.Y("scale:Q"), hue, alt.Order("order:Q"))
    plane = (
        alt.layer(fits, jammed, drawn)
        .resolve_scale(color="independent")
        .properties(width=360, height=320, title="fits (colour) or jams (black)")
    )
    at = np.unique(frame["scale"])
    chosen = frame[frame["scale"].isin([at[0], at[len(at) // 2], at[-1]])]
    long = chosen.melt(["width", "scale"], ["error", "ensemble error"], var_name="of", value_name="value")
    long["scale"] = long["scale"].map(lambda a: f"√h α = {a:g}")
    cuts = (
        alt.Chart(long)
        .mark_line(point=True)
        .encode(
            alt.X("width:Q", title="width h", scale=alt.Scale(type="log", nice=False)),
            alt.Y("value:Q", title="test error %", scale=alt.Scale(zero=False)),
            alt.Color("scale:N", title=None),
            alt.StrokeDash(
                "of:N",
                title=None,
                sort=["ensemble error", "error"],
                legend=alt.Legend(symbolType="stroke", symbolStrokeColor="black"),
            ),
        )
    )
    chart: alt.TopLevelMixin = alt.hconcat(plane, cuts.properties(width=300, height=320)).resolve_scale(
        color="independent", strokeDash="independent"
    )
    return chart

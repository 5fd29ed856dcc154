"""The one chart of the first screen: error by training size of a few predictors in colour, of all others in grey."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.profiles._contenders import contenders, others

if TYPE_CHECKING:
    import altair as alt

    from priorscope.profiles._metric import Metric
    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row

__all__ = ["curves"]

_GREY = "#8b939c"
_CLICKED = "#b82989"
_BEYOND = 2.5  # times the size asked about, where the chart ends
_LEAST = 1e-4


def _rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Four digits, which keep the page small, and nothing below what a log axis can show."""
    for name in ("error", "low", "high"):
        if name in frame:
            frame[name] = [float(f"{max(v, _LEAST):.4g}") for v in frame[name]]
    frame["n"] = [round(float(v), 1) for v in frame["n"]]
    return frame


def _measured(row: Row, start: float) -> pd.DataFrame:
    c = row.curve
    kept = c.sizes >= start
    return _rounded(pd.DataFrame({"n": c.sizes[kept], "error": c.measured[kept]}).assign(model=row.name))


def _ahead(row: Row, start: float, end: float) -> pd.DataFrame:
    c = row.curve
    sizes = np.unique(np.geomspace(max(start, c.grid[0]), max(min(end, c.grid[-1]), start + 1), 40))
    found = [c.at(n) for n in sizes]
    values = {"error": [i.value for i in found], "low": [i.low for i in found], "high": [i.high for i in found]}
    return _rounded(pd.DataFrame({"n": sizes, **values}).assign(model=row.name))


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers within the limits, between three and eight of them where there are so many.

    Example:
        >>> _ticks(0.012, 0.31), _ticks(31.0, 78.0)
        ([0.02, 0.05, 0.1, 0.2], [40.0, 50.0, 60.0, 70.0])
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    inside: list[float] = []
    for steps in ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 6, 7, 8, 9)):
        found = [float(f"{m * 10.0**d:.3g}") for d in decades for m in steps]
        more = [t for t in found if low <= t <= high]
        if len(more) > 8:
            return inside or more[:: len(more) // 4]
        inside = more
        if len(inside) >= 4:
            break
    return inside


def _scales(metric: Metric, frames: list[pd.DataFrame], start: float, end: float) -> tuple[alt.X, alt.Y]:
    import altair as alt

    seen = np.concatenate([frame[name] for frame in frames for name in ("error", "low", "high") if name in frame])
    low, high = 0.85 * float(seen.min()), 1.12 * float(seen.max())
    x = alt.X("n:Q", title="training samples")
    x = x.scale(type="log", domain=[start, end], nice=False).axis(values=_ticks(start, end), format=",.0f", grid=False)
    form = ".0%" if metric.percent and low >= 0.01 else "~%" if metric.percent else "~g"
    y = alt.Y("error:Q", title=metric.axis)
    return x, y.scale(type="log", domain=[low, high], nice=False).axis(values=_ticks(low, high), format=form)


def curves(result: Profile) -> alt.TopLevelMixin:
    """Points are measured, lines forecast; band and bars are 90 % intervals, bars those at the size asked about.

    All other predictors are thin grey lines; a click on a name in the legend brings one out.
    """
    import altair as alt

    top = contenders(result)
    start = max(result.pilot / 12, min(float(c.row.curve.sizes[0]) for c in top))
    end = max(_BEYOND * result.to, 1.5 * result.pilot)
    names, colours = [c.row.name for c in top], [c.colour for c in top]
    points = pd.concat([_measured(c.row, start) for c in top])
    lines = [_ahead(c.row, start, end) for c in top]
    later = [frame[frame["n"] >= 0.9 * c.row.curve.last[0]] for c, frame in zip(top, lines, strict=True)]
    band = later[0]
    bars = _rounded(
        pd.DataFrame(
            [
                {"model": c.row.name, "n": result.to * 1.035**place, "error": c.row.estimate.value,
                 "low": c.row.estimate.low, "high": c.row.estimate.high, "told": result.metric.text(c.row.estimate.value)}
                for place, c in enumerate(top)
            ]
        )
    )  # fmt: skip
    x, y = _scales(result.metric, [points, *(f[["n", "error"]] for f in lines), band, bars], 0.95 * start, end)
    colour = alt.Color("model:N", scale=alt.Scale(domain=names, range=colours), legend=None)
    tip = [
        "model:N",
        alt.Tooltip("n:Q", title="samples", format=",.0f"),
        alt.Tooltip("error:Q", title=result.metric.axis),
    ]
    shade = (
        alt.Chart(band).mark_area(clip=True, opacity=0.16, color=colours[0]).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    )
    rule = alt.Chart(pd.DataFrame({"n": [result.to]})).mark_rule(strokeDash=[3, 4], opacity=0.55).encode(x=x)
    layers = [shade, rule]
    rest = [_ahead(row, start, end) for row in others(result)]
    if rest:
        layers.insert(0, _grey(pd.concat(rest), [row.name for row in others(result)], x, y, tip))
    layers += [
        alt.Chart(pd.concat(lines)).mark_line(clip=True, strokeWidth=2.5).encode(x=x, y=y, color=colour, tooltip=tip),
        alt.Chart(bars).mark_rule(clip=True, strokeWidth=2).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        alt.Chart(points).mark_point(filled=True, size=42).encode(x=x, y=y, color=colour, tooltip=tip),
        alt.Chart(bars).mark_point(filled=True, size=70, stroke="white", strokeWidth=1).encode(
            x=x, y=y, color=colour, tooltip=["model:N", alt.Tooltip("told:N", title=f"at {result.to:,} samples")]
        ),
    ]  # fmt: skip
    chart: alt.LayerChart = alt.layer(*layers).resolve_scale(color="independent")
    return chart.properties(width="container", height=280)


def _grey(frame: pd.DataFrame, names: list[str], x: alt.X, y: alt.Y, tip: Sequence[object]) -> alt.Chart:
    """All other predictors, thin and grey; names in the legend bring them out."""
    import altair as alt

    clicked = alt.selection_point(fields=["model"], bind="legend", toggle="true", empty=False, name="clicked")
    scale = alt.Scale(domain=names, range=[_GREY] * len(names))
    legend = alt.Legend(
        title="the others: click a name",
        orient="bottom",
        columns=4,
        symbolType="stroke",
        symbolSize=40,
        labelLimit=130,
        labelFontSize=10,
        titleFontSize=11,
        rowPadding=1,
    )
    chart: alt.Chart = (
        alt.Chart(frame)
        .mark_line(clip=True)
        .encode(
            x=x,
            y=y,
            color=alt.when(clicked)
            .then(alt.value(_CLICKED))
            .otherwise(alt.Color("model:N", scale=scale, legend=legend)),
            opacity=alt.when(clicked).then(alt.value(1.0)).otherwise(alt.value(0.45)),
            strokeWidth=alt.when(clicked).then(alt.value(2.5)).otherwise(alt.value(1.0)),
            tooltip=tip,
        )
        .add_params(clicked)
    )
    return chart

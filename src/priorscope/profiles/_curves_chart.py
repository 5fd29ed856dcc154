"""The race as a picture: errors measured at every rung with their intervals, and what is forecast beyond."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.profiles._contenders import Shown, others, shown

if TYPE_CHECKING:
    import altair as alt

    from priorscope.judge import Metric
    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row

__all__ = ["curves"]

_GREY = "#8b939c"
_CLICKED = "#b82989"
_BEYOND = 10.0  # times the size asked about, where the chart ends: what ten times the rows would give
_APART = 1.03  # by which the bars of several predictors at one size stand apart


def _rounded(frame: pd.DataFrame, least: float) -> pd.DataFrame:
    """Four digits, which keep the page small, and nothing below what a log axis can show."""
    for name in ("error", "low", "high"):
        if name in frame:
            frame[name] = [float(f"{max(v, least):.4g}") for v in frame[name]]
    frame["n"] = [round(float(v), 1) for v in frame["n"]]
    return frame


def _measured(row: Row, metric: Metric, least: float, place: int = 0) -> pd.DataFrame:
    """Points of a row with their intervals, moved a little to one side so that bars at one size do not cover each other."""
    c = row.curve
    told = [f"{metric.text(v)} at {n:,} rows" for v, n in zip(c.measured, c.sizes, strict=True)]
    frame = pd.DataFrame(
        {"n": c.sizes * _APART**place, "error": c.measured, "low": c.low, "high": c.high, "told": told}
    )
    return _rounded(frame, least).assign(model=row.name)


def _ahead(result: Profile, row: Row, least: float, end: float) -> pd.DataFrame:
    """The forecast of a row from the largest size at which it was measured, in the picture of its own measured error."""
    sizes = np.geomspace(row.curve.sizes[-1], end, 30)
    found = [result.at(n, row.name) for n in sizes]
    values = {"error": [i.value for i in found], "low": [i.low for i in found], "high": [i.high for i in found]}
    told = [f"forecast: {result.metric.text(i.value)} at {n:,.0f} rows" for i, n in zip(found, sizes, strict=True)]
    return _rounded(pd.DataFrame({"n": sizes, **values, "told": told}), least).assign(model=row.name)


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


def _scales(result: Profile, frames: list[pd.DataFrame], end: float) -> tuple[alt.X, alt.Y]:
    import altair as alt

    metric = result.metric
    seen = np.concatenate([frame[name] for frame in frames for name in ("error", "low", "high") if name in frame])
    start = 0.9 * min(float(frame["n"].min()) for frame in frames)
    low, high = 0.85 * float(seen.min()), 1.12 * float(seen.max())
    high = min(high, 1.0) if metric.percent and seen.max() <= 1 else high
    x = alt.X("n:Q", title="training rows")
    x = x.scale(type="log", domain=[start, end], nice=False).axis(values=_ticks(start, end), format=",.0f", grid=False)
    form = ".0%" if metric.percent and low >= 0.01 else "~%" if metric.percent else "~g"
    y = alt.Y("error:Q", title=metric.axis)
    return x, y.scale(type="log", domain=[low, high], nice=False).axis(values=_ticks(low, high), format=form)


def _least(result: Profile) -> float:
    """The lowest value that is drawn: a log axis has no zero, and half a mistake among all rows is as good as none."""
    if result.metric.percent:
        return 0.5 / result.n_train
    seen = [float(v) for row in result.rows for v in (*row.curve.measured, row.estimate.value) if v > 0]
    return 0.3 * min(seen) if seen else 1e-9


def curves(result: Profile, *, key: bool = False) -> alt.LayerChart:
    """Points are measured, with 90 % intervals; dashed lines, and the band of the first, are forecasts beyond.

    All other predictors are thin grey lines through what was measured; a click on a name brings one out. ``key`` names the
    coloured ones in the picture, for places that have no words beside it.
    """
    import altair as alt

    top, least = shown(result), _least(result)
    end = _BEYOND * max(result.to, result.n_train)
    metric = result.metric
    points = pd.concat([_measured(one.row, metric, least, i) for i, one in enumerate(top)])
    lines = pd.concat([_measured(one.row, metric, least) for one in top])
    ahead = [_ahead(result, one.row, least, end) for one in top]
    base = pd.DataFrame(
        {
            "error": [max(result.baseline.value, least)],
            "told": [f"{result.baseline.words}: {metric.text(result.baseline.value)}"],
        }
    )
    within = [f[["n", "error"]] for f in ahead[1:]]
    x, y = _scales(
        result, [points[["n", "error"]], points[["n", "low", "high"]].clip(lower=least), ahead[0], *within], end
    )
    colour, named = _colour(top, key=False), _colour(top, key)
    tip = [alt.Tooltip("model:N", title="predictor"), alt.Tooltip("told:N", title="error")]
    rule = alt.Chart(pd.DataFrame({"n": [result.to], "told": [f"{result.to:,} rows"]}))
    layers = [
        alt.Chart(ahead[0])
        .mark_area(clip=True, opacity=0.16, color=top[0].colour)
        .encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
        rule.mark_rule(strokeDash=[3, 4], opacity=0.55).encode(x=x),
        rule.mark_text(align="left", dx=5, dy=-4, baseline="bottom", fontSize=10).encode(
            x=x, y=alt.value("height"), text="told:N"
        ),
        alt.Chart(base)
        .mark_rule(clip=True, strokeDash=[1, 3], opacity=0.7)
        .encode(y=y, tooltip=alt.Tooltip("told:N", title="guessing")),
    ]
    rest = others(result)
    if rest:
        layers.insert(
            0,
            _grey(
                pd.concat([_measured(row, metric, least) for row in rest]),
                [row.name for row in rest],
                x,
                y,
                legend=not key,
            ),
        )
    shape = {"x": x, "y": y, "color": colour, "tooltip": tip}
    bars = alt.Chart(points).mark_rule(clip=True, strokeWidth=1.5, opacity=0.75)
    layers += [
        alt.Chart(pd.concat(ahead)).mark_line(clip=True, strokeWidth=2, strokeDash=[6, 4]).encode(**shape),
        alt.Chart(lines).mark_line(clip=True, strokeWidth=2).encode(x=x, y=y, color=named, tooltip=tip),
        bars.encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        alt.Chart(points).mark_point(filled=True, size=46, stroke="white", strokeWidth=0.7).encode(**shape),
    ]  # fmt: skip
    chart: alt.LayerChart = alt.layer(*layers).resolve_scale(color="independent")
    return chart.properties(width="container", height=300)


def _colour(top: list[Shown], key: bool) -> alt.Color:
    import altair as alt

    scale = alt.Scale(domain=[one.row.name for one in top], range=[one.colour for one in top])
    legend = alt.Legend(title=None, orient="bottom", columns=3, labelLimit=220) if key else None
    return alt.Color("model:N", scale=scale, legend=legend)


def _grey(frame: pd.DataFrame, names: list[str], x: alt.X, y: alt.Y, *, legend: bool) -> alt.Chart:
    """All other predictors, thin and grey; names in the legend bring them out."""
    import altair as alt

    tip = [alt.Tooltip("model:N", title="predictor"), alt.Tooltip("told:N", title="error")]
    lines = alt.Chart(frame).mark_line(clip=True, point=alt.OverlayMarkDef(size=9))
    scale = alt.Scale(domain=names, range=[_GREY] * len(names))
    if not legend:
        plain = alt.Color("model:N", scale=scale, legend=None)
        quiet: alt.Chart = lines.encode(
            x=x, y=y, color=plain, opacity=alt.value(0.45), strokeWidth=alt.value(1.0), tooltip=tip
        )
        return quiet
    clicked = alt.selection_point(fields=["model"], bind="legend", toggle="true", empty=False, name="clicked")
    said = alt.Legend(
        title="the others: click a name", orient="bottom", columns=4, symbolType="stroke", symbolSize=40, labelLimit=130,
        labelFontSize=10, titleFontSize=11, rowPadding=1,
    )  # fmt: skip
    chart: alt.Chart = lines.encode(
        x=x,
        y=y,
        color=alt.when(clicked).then(alt.value(_CLICKED)).otherwise(alt.Color("model:N", scale=scale, legend=said)),
        opacity=alt.when(clicked).then(alt.value(1.0)).otherwise(alt.value(0.45)),
        strokeWidth=alt.when(clicked).then(alt.value(2.5)).otherwise(alt.value(1.0)),
        tooltip=tip,
    ).add_params(clicked)
    return chart

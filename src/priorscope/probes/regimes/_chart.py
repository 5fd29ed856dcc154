"""Pictures of a regime: movement against output scale, and the phase diagram with the network's point on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import altair as alt

    from priorscope.probes.regimes._result import Regime

__all__ = ["movement_chart", "phase_chart"]

DECADES: dict[str, Any] = {"values": [10.0**k for k in range(-12, 13)], "format": "~e", "grid": False}
NAMES = {"kernel_change": "kernel", "weight_change": "weights", "activation_change": "activations"}


def movement_chart(regime: Regime) -> alt.LayerChart:
    """Relative change of kernel, weights and activations; dashed: the network's own scale, and the level of the crossover."""
    import altair as alt
    import pandas as pd

    table = regime.table()
    kept = [name for name in NAMES if name in table]
    long = table.melt(["rescaled_alpha"], kept, var_name="of", value_name="change").replace({"of": NAMES})
    long = long[long.change > 0]
    x = alt.X("rescaled_alpha:Q", title="output scale √h α", scale=alt.Scale(type="log"), axis=alt.Axis(**DECADES))
    y = alt.Y("change:Q", title="relative change in training", scale=alt.Scale(type="log"), axis=alt.Axis(**DECADES))
    colour = alt.Color("of:N", title="change of the", legend=alt.Legend(orient="top"))
    points = alt.Chart(long).mark_point(filled=True, size=50).encode(x, y, colour)
    curves = alt.Chart(long).mark_line().encode(x, alt.Y("mean(change):Q"), colour)
    own = alt.Chart(pd.DataFrame({"rescaled_alpha": [regime.rescaled[1]]})).mark_rule(strokeDash=[4, 4]).encode(x=x)
    level = alt.Chart(pd.DataFrame({"change": [1.0]})).mark_rule(strokeDash=[2, 2]).encode(y=y)
    chart: alt.LayerChart = (points + curves + own + level).properties(width=300, height=280)
    return chart


def phase_chart(regime: Regime) -> alt.LayerChart:
    r"""The plane (h, √h α): jammed on the left, features below the crossover, lazy above; the network is the large point.

    Drawn from this network's own crossover, which for wide networks does not depend on the width (L.5), and from the
    width at which it begins to fit.
    """
    import altair as alt
    import pandas as pd

    h, at = regime.rescaled
    star = regime.crossover * np.sqrt(regime.width)
    known = bool(np.isfinite(star))
    jam = regime.star_width or 0.0
    left, right = max(1.0, min(h, jam or h) / 4), h * 8
    scales = regime.alphas * np.sqrt(regime.width)
    low, high = min(scales[0], at) / 3, max(scales[-1], at) * 3
    star = float(star) if known else (low if regime.name == "lazy" else high)
    jam = min(max(jam, left), right)
    areas = [
        {"x": left, "x2": jam, "y": low, "y2": high, "phase": "does not fit (jammed)"},
        {"x": jam, "x2": right, "y": low, "y2": star, "phase": "learns features"},
        {"x": jam, "x2": right, "y": star, "y2": high, "phase": "lazy (kernel at rest)"},
    ]
    frame = pd.DataFrame([a for a in areas if a["x"] < a["x2"] and a["y"] < a["y2"]])
    phases = ["does not fit (jammed)", "learns features", "lazy (kernel at rest)"]
    colour = alt.Color(
        "phase:N",
        title=None,
        scale=alt.Scale(domain=phases, range=["#444444", "#7fc97f", "#beaed4"]),
        legend=alt.Legend(orient="top", columns=2, labelLimit=220),
    )
    ticks = alt.Axis(values=[2.0**k for k in range(20)], grid=False)
    x = alt.X("x:Q", title="width h", scale=alt.Scale(type="log", domain=[left, right], nice=False), axis=ticks)
    y = alt.Y(
        "y:Q",
        title="output scale √h α",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(**DECADES),
    )
    plane = alt.Chart(frame).mark_rect(opacity=0.8).encode(x, alt.X2("x2:Q"), y, alt.Y2("y2:Q"), color=colour)
    point = pd.DataFrame([{"x": h, "y": at, "label": "this network"}])
    mark = alt.Chart(point).mark_point(filled=True, size=160, color="#d62728", opacity=1).encode(x, y)
    text = alt.Chart(point).mark_text(dy=-14, fontWeight="bold").encode(x, y, text="label:N")
    chart: alt.LayerChart = (plane + mark + text).properties(width=300, height=280)
    return chart

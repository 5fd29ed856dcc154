"""The figure that most papers on input geometry share: lines over repeats, one panel per model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    import altair as alt


__all__: list[str] = []


def panels(
    long: pd.DataFrame,
    x: str,
    y: str,
    color: str,
    column: str,
    *,
    title: str,
    x_title: str,
    y_title: str,
    chance: float | None = None,
    shared: bool = True,
) -> alt.TopLevelMixin:
    """Mean over repeats as a line with points, standard error as bars; the dashed line is chance."""
    import altair as alt

    base = alt.Chart(long).encode(
        x=alt.X(f"{x}:Q", title=x_title).scale(nice=False, padding=12),
        color=alt.Color(f"{color}:N", title=None),
    )
    scale = alt.Scale(zero=False)
    line = base.mark_line(point=True).encode(y=alt.Y(f"mean({y}):Q", title=y_title, scale=scale))
    bars = base.mark_errorbar(extent="stderr").encode(y=alt.Y(f"{y}:Q", title=y_title, scale=scale))
    layers = bars + line
    if chance is not None:
        layers = alt.Chart(long).mark_rule(strokeDash=[4, 4], color="grey").encode(y=alt.datum(chance)) + layers
    chart = layers.properties(width=220, height=220).facet(column=alt.Column(f"{column}:N", title=None))
    heading = alt.Title(title, subtitle="mean and standard error over repeats")
    picture: alt.TopLevelMixin = (
        chart.properties(title=heading) if shared else chart.resolve_scale(y="independent").properties(title=heading)
    )
    return picture

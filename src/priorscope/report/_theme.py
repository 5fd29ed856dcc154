"""One look for every chart: a palette and an Altair configuration that read well on light and on dark pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import altair as alt

__all__ = ["PALETTE", "Spec", "styled", "theme"]

Spec: TypeAlias = dict[str, Any]  # Vega-Lite as JSON: what ``to_dict`` of a chart gives

PALETTE = (
    "#2769b7", "#fa5d36", "#4ba435", "#be6df2", "#935a11", "#b82989",
    "#7a8fa4", "#1e7729", "#894ed6", "#af8433", "#3480fc", "#c96598",
)  # fmt: skip
"""Twelve colours, chosen far apart in OKLab among those with a contrast of at least 3 to white and to near-black.

Example:
    >>> len(set(PALETTE))
    12
"""

_INK = {"light": "#24292f", "dark": "#e6edf3", "both": "#7b818a"}
_PAPER = {"light": "#ffffff", "dark": "#14161a", "both": "transparent"}
_GRID = {"light": "#e7e9ec", "dark": "#2b2f36", "both": "#80808040"}


def theme(mode: str = "both") -> Spec:
    """A Vega-Lite configuration. ``both``: transparent, with ink that reads on light and dark; or ``light``, ``dark``.

    Example:
        >>> theme("light")["background"]
        '#ffffff'
    """
    if mode not in _INK:
        raise ValueError(f"a theme is 'light', 'dark' or 'both'; got {mode!r}.")
    ink, grid = _INK[mode], _GRID[mode]
    labels = {
        "labelColor": ink,
        "titleColor": ink,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    return {
        "background": _PAPER[mode],
        "font": "system-ui, sans-serif",
        "title": {"color": ink, "subtitleColor": ink, "fontSize": 14, "anchor": "start", "fontWeight": 600},
        "axis": {**labels, "gridColor": grid, "domainColor": grid, "tickColor": grid, "labelSeparation": 5},
        "legend": labels,
        "header": labels,
        "view": {"stroke": None, "continuousWidth": 420, "continuousHeight": 260},
        "range": {"category": list(PALETTE), "ramp": {"scheme": "viridis"}, "heatmap": {"scheme": "viridis"}},
        "mark": {"color": PALETTE[0]},
        "line": {"strokeWidth": 2},
        "point": {"filled": True, "size": 45, "opacity": 1},
        "text": {"color": ink},
        "rule": {"color": ink},
    }


def styled(chart: alt.TopLevelMixin, mode: str = "both") -> Spec:
    """The Vega-Lite specification of a chart with our configuration beneath its own.

    Example:
        >>> import altair as alt, pandas as pd
        >>> chart = alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q")
        >>> styled(chart, "dark")["config"]["background"]
        '#14161a'
    """
    import altair as alt

    with alt.theme.enable("none"):
        spec: Spec = chart.to_dict()
    spec["config"] = _over(theme(mode), spec.get("config", {}))
    return spec


def _over(base: Spec, top: Spec) -> Spec:
    """``base`` with the values of ``top`` laid over it, level by level."""
    merged = dict(base)
    for name, value in top.items():
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = _over(merged[name], value) if both else value
    return merged

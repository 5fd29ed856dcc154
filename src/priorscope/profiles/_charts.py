"""Charts of a profile: learning curves, spectra, target power, symmetry and regime."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priorscope.profiles._curves_chart import curves
from priorscope.profiles._kernel_distance import AWAY, NEAR

if TYPE_CHECKING:
    import altair as alt

    from priorscope.profiles._architecture import ArchitectureProfile
    from priorscope.profiles._result import Profile

__all__ = ["all_charts"]


def _colour(names: list[str]) -> alt.Color:
    import altair as alt

    return alt.Color(
        "model:N", sort=names, scale=alt.Scale(domain=names), legend=alt.Legend(title="model", symbolOpacity=1)
    )


def _shared() -> tuple[alt.Parameter, alt.typing.Optional[object]]:
    import altair as alt

    pick = alt.selection_point(fields=["model"], bind="legend", toggle="true")
    return pick, alt.condition(pick, alt.value(1.0), alt.value(0.06))


def _by_rank(
    result: Profile,
    values: Callable[[ArchitectureProfile], NDArray[np.float64] | None],
    y: alt.Y,
    x: str,
    *,
    least: float = 0.0,
) -> alt.TopLevelMixin:
    """Draw what ``values`` gives, one line per model, against rank on a log axis; values up to ``least`` are left out."""
    import altair as alt

    name = str(y.shorthand).partition(":")[0]
    rows = []
    for c in result.candidates:
        found = values(c)
        if found is not None:
            spread = np.unique(np.geomspace(1, len(found), 60).round().astype(int)) - 1
            keep = spread[found[spread] > least]
            rows.append(pd.DataFrame({"rank": keep + 1, name: found[keep], "model": c.name}))
    pick, shown = _shared()
    whole = pd.concat(rows)
    chart: alt.Chart = (
        alt.Chart(whole)
        .mark_line(point=alt.OverlayMarkDef(size=14))
        .encode(
            x=alt.X("rank:Q", title=x).scale(type="log", nice=False),
            y=y,
            color=_colour(list(dict.fromkeys(whole["model"]))),
            opacity=shown,
            tooltip=["model", "rank", alt.Tooltip(f"{name}:Q", format=".3g")],
        )
        .add_params(pick)
        .properties(width="container", height=260)
    )
    return chart


def spectra(result: Profile) -> alt.TopLevelMixin:
    """Eigenvalues of each kernel on the pilot, each relative to its largest, on log axes."""
    import altair as alt

    y = alt.Y("eigenvalue:Q", title="eigenvalue λₖ / λ₁").scale(type="log").axis(format="~g")
    return _by_rank(result, lambda c: c.spectrum.eigenvalues / c.spectrum.eigenvalues[0], y, "rank k", least=1e-12)


def power(result: Profile) -> alt.TopLevelMixin:
    """Share of the target held by the k leading modes of each kernel."""
    import altair as alt

    y = alt.Y("share:Q", title="share of the target in the first k modes").axis(format="%").scale(domain=[0, 1])
    return _by_rank(result, lambda c: c.spectrum.cumulative_power, y, "rank k")


def geometry(result: Profile) -> alt.TopLevelMixin:
    """Eigenvalues of the average input geometry of each model, relative to their mean, against rank."""
    import altair as alt

    def seen(c: ArchitectureProfile) -> NDArray[np.float64] | None:
        if c.blind is None:
            return None
        lam: NDArray[np.float64] = c.blind.geometry.eigenvalues.double().numpy()
        found: NDArray[np.float64] = lam / lam.mean()
        return found

    y = alt.Y("visibility:Q", title="squared gradient / mean").scale(type="log").axis(format="~g")
    return _by_rank(result, seen, y, "direction, by rank", least=1e-6)


def regime(result: Profile) -> alt.TopLevelMixin:
    """Spread and change of each model's tangent kernel, with the two levels at which the reading changes."""
    import altair as alt

    rows = []
    for c in result.candidates:
        if c.regime is not None:
            found = {"change in training": c.regime.change, "spread at this width": c.regime.spread}
            rows += [
                {"model": c.name, "measure": k, "distance": max(float(v), 1e-4)}
                for k, v in found.items()
                if v is not None and np.isfinite(v)
            ]
    names = [c.name for c in result.candidates]
    x = alt.X("distance:Q", title="relative distance ‖ΔΘ‖ / ‖Θ‖").scale(type="log").axis(format="~g")
    dots = (
        alt.Chart(pd.DataFrame(rows))
        .mark_point(filled=True, size=70)
        .encode(
            x=x,
            y=alt.Y("model:N", sort=names, title=None),
            color=alt.Color("measure:N", title=None, legend=alt.Legend(orient="top")),
            shape=alt.Shape("measure:N", title=None),
            tooltip=["model", "measure", alt.Tooltip("distance:Q", format=".3g")],
        )
    )
    rules = alt.Chart(pd.DataFrame({"distance": [NEAR, AWAY]})).mark_rule(strokeDash=[4, 4], opacity=0.6).encode(x=x)
    both: alt.LayerChart = dots + rules
    return both.properties(width="container", height=40 + 20 * len(names))


def all_charts(result: Profile) -> dict[str, alt.TopLevelMixin]:
    """The charts of the page by name."""
    charts: dict[str, alt.TopLevelMixin] = {"curves": curves(result)}
    if result.candidates:
        charts |= {"spectra": spectra(result), "power": power(result)}
    if any(c.blind is not None for c in result.candidates):
        charts["geometry"] = geometry(result)
    if any(c.regime is not None for c in result.candidates):
        charts["regime"] = regime(result)
    for place in (c.regime.place for c in result.candidates if c.regime is not None):
        if place is not None:
            charts["phase"] = place.phase_chart()
    return charts

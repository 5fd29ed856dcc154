"""The section of a profile's page on deformations by one pixel: pictures, labels, architectures, and training on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from priorscope.profiles._page_folded import Folded, Table
from priorscope.profiles._page_sections import Figures, row_of
from priorscope.report import claims_behind
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt

    from priorscope.profiles._metric import Metric
    from priorscope.profiles.sections._deformation_result import DeformationProfile

__all__ = ["deformation_page", "stability_chart"]

COLUMNS = ("architecture", "R at the start", "R after its trial", "compared with noise")
CAPTION = (
    "R: change of the outputs under a deformation over that under noise of the same size, medians over images; with the interval "
    "over networks. Below 1 a network disregards deformations more than noise."
)
_INTRO = (
    "A deformation moves every pixel smoothly by about one pixel. Networks that do well on images come to disregard such moves "
    "more than noise of the same size."
)


def _text(found: DeformationProfile, metric: Metric) -> list[str]:
    """What a deformation is, and what was found."""
    return [_INTRO, *found.sentences(metric), *(f"{note[0].upper()}{note[1:]}." for note in found.notes)]


def _cell(R: Interval | None) -> str:
    if R is None:
        return "no trial"
    return f"{R.value:.2g}" if R.high == float("inf") else f"{R.value:.2g} ({R.low:.2g}–{R.high:.2g})"


def _rows(found: DeformationProfile) -> list[dict[str, object]]:
    """One row per architecture."""
    return [
        row_of([a.name, _cell(a.start.R), _cell(None if a.trained is None else a.trained.R), f"{a.answer} sensitive"])
        for a in found.architectures
    ]


def stability_chart(found: DeformationProfile) -> alt.TopLevelMixin:
    """R of every architecture on a log axis, hollow at the start and filled after its trial, with intervals."""
    import altair as alt

    rows = []
    for a in found.architectures:
        for when, one in (("at the start", a.start), ("after its trial", a.trained)):
            if one is not None:
                R = one.R
                wide = R.high == float("inf")  # one network has no interval
                ends = (R.value, R.value) if wide else (R.low, R.high)
                rows.append({"architecture": a.name, "when": when, "R": R.value, "low": ends[0], "high": ends[1]})
    frame = pd.DataFrame(rows)
    order = [a.name for a in found.architectures]
    scale = alt.Scale(type="log", nice=False, padding=12)
    y = alt.Y("architecture:N", sort=order, title=None, axis=alt.Axis(labelLimit=180))
    down = alt.YOffset("when:N", sort=["at the start", "after its trial"])
    colour = alt.Color("when:N", title=None, sort=["at the start", "after its trial"], legend=alt.Legend(orient="top"))
    base = alt.Chart(frame)
    ends = base.mark_rule().encode(alt.X("low:Q", scale=scale), y, down, colour, alt.X2("high:Q"))
    x = alt.X("R:Q", scale=scale, title="R, deformation over noise", axis=alt.Axis(format="~g"))
    tips = ["architecture", "when", alt.Tooltip("R", format=".2f"), alt.Tooltip("low", format=".2f"),
            alt.Tooltip("high", format=".2f")]  # fmt: skip
    marks = base.mark_point(filled=True, size=60).encode(x, y, down, colour, tooltip=tips)
    one = alt.Chart(pd.DataFrame({"R": [1.0]})).mark_rule(strokeDash=[4, 4]).encode(alt.X("R:Q", scale=scale))
    drawn: alt.TopLevelMixin = (one + ends + marks).properties(width=420, height=max(34 * len(order), 60))
    return drawn


def _figures(found: DeformationProfile, figure: Figures) -> list[dict[str, str]]:
    """Images x, τx and x + η at the same distance, and R of every architecture."""
    alt = "Three images as they are, deformed by one pixel, and with noise at the same distance."
    figures = [
        figure(
            "deformed", found.pictures(), alt,
            "Left the image x, in the middle its deformation τx, right x with noise η: both lie at the same distance from x "
            "(Petrini et al. 2021, Fig. 2).",
        )
    ]  # fmt: skip
    if found.architectures:
        alt = "Relative stability R of every architecture at the start and after its trial, on a log axis with a rule at 1."
        caption = "R at the start and after its trial, with 95 % intervals over networks; at the rule, as sensitive as to noise."
        figures.append(figure("stability", stability_chart(found), alt, caption))
    return figures


def deformation_page(found: DeformationProfile, metric: Metric, figure: Figures, claims: Sequence[str]) -> Folded:
    """The folded section: words, pictures, R of every architecture, and the claims behind it."""
    tables = [Table(CAPTION, COLUMNS, _rows(found))] if found.architectures else []
    text, figures = _text(found, metric), _figures(found, figure)
    return Folded("deformations", "Deformations by one pixel", text, figures, tables, claims=claims_behind(claims))

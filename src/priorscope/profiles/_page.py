"""The page of a profile: the answer on the first screen, then how much data, blind spots, reasons, and all the rest folded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from priorscope.profiles._contenders import contenders
from priorscope.profiles._glossary import GLOSSARY, Linker, anchor
from priorscope.profiles._headline import head
from priorscope.profiles._page_folded import everything
from priorscope.profiles._page_sections import blind_words, need_table, need_words
from priorscope.report import document, environment, specification

if TYPE_CHECKING:
    import altair as alt

    from priorscope.profiles._result import Profile
    from priorscope.report import Spec

__all__ = ["profile_page"]

TEMPLATES = Path(__file__).parent / "templates"
_BUILD = (
    "In the session that made this profile, build() keeps all predictors that may still be best, chooses again on the "
    "samples it is fitted to, and averages those it cannot tell apart:"
)


def _about(result: Profile) -> str:
    """The data in a few words: task, samples, and what was looked at."""
    shape = result.input_shape
    kinds = {
        1: f"{shape[0]} numbers each",
        2: f"signals of {shape[-1]} samples",
        3: "images of " + "×".join(map(str, shape[1:])),
    }
    looked = f"{result.pilot:,} of them looked at" if result.pilot < result.n_train else "all of them looked at"
    draws = f", {result.draws} draws" if result.draws > 1 else ""
    return f"{result.task}, {result.n_train:,} samples, {kinds[len(shape)]}; {looked}{draws}."


def _caption(result: Profile) -> str:
    return (
        f"Points are measured, lines are forecasts. The dashed rule is at {result.to:,} samples; bars there, and the band of the "
        "first, are 90 % intervals."
    )


def profile_page(result: Profile) -> str:
    """The page as one HTML file that needs no network."""
    charts = result.charts()
    specs: dict[str, Spec] = {"chart-answer": specification(charts["curves"])}

    def figure(name: str, chart: alt.TopLevelMixin, alt: str, caption: str) -> dict[str, str]:
        specs[f"chart-{name}"] = specification(chart)
        return {"label": f"chart-{name}", "alt": alt, "caption": caption}

    linker = Linker(row.name for row in result.rows)
    made = environment(TEMPLATES).overlay()
    made.filters = {**made.filters, "linked": linker, "named": linker.named, "anchor": anchor}
    top = contenders(result)
    told = head(result)
    blind, blind_figures = blind_words(result, figure)
    columns, rows = need_table(result, top)
    body = made.get_template("profile.html.j2").render(
        terms=linker,
        data=result.data,
        about=_about(result),
        headline=told[0],
        beside=" ".join(told[1:]),
        contenders=[
            {"name": c.row.name, "colour": c.colour, "role": c.role,
             "estimate": f"{result.metric.number(c.row.estimate.value)} ({result.metric.span(c.row.estimate)})"}
            for c in top
        ],
        chart_alt=f"Learning curves of {', '.join(c.row.name for c in top)} and the others. {told[0]}",
        chart_caption=_caption(result),
        code=result.code(),
        build_words=_BUILD,
        warnings=result.warnings,
        needs=need_words(result),
        need_columns=columns,
        need_rows=rows,
        blind=blind,
        blind_figures=blind_figures,
        why=[(c.row.name, [f"{r[0].upper()}{r[1:]}." for r in c.row.reasons]) for c in top if c.row.reasons],
        folded=everything(result, charts, figure),
        glossary=sorted(GLOSSARY.items(), key=lambda pair: pair[0].lower()),
        footer=f"priorscope, {result.seconds:.0f} s ({result.cpu_seconds:.0f} s of processor time). "
        "Every claim and its verdict: priorscope claims.",
    )  # fmt: skip
    return document(f"Profile of {result.data}", body, charts=specs, scripts=("page.js",), kind="page profile")

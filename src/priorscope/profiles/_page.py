"""The page of a profile: the answer on the first screen, then more data, everybody, mistakes, and all the rest folded."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

from priorscope.profiles._contenders import shown
from priorscope.profiles._export import as_csv
from priorscope.profiles._glossary import GLOSSARY, Linker, anchor
from priorscope.profiles._more_data import more_data
from priorscope.profiles._naming import called
from priorscope.profiles._page_folded import everything
from priorscope.profiles._page_mistakes import mistakes
from priorscope.profiles._page_sections import blind_words, more_table, race_table
from priorscope.profiles._words import ended, head, sentences
from priorscope.report import document, environment, specification

if TYPE_CHECKING:
    import altair as alt

    from priorscope.profiles._result import Profile
    from priorscope.report import Spec

__all__ = ["TEMPLATES", "profile_page"]

TEMPLATES = Path(__file__).parent / "templates"
_SHAPES = {1: "{0} numbers each", 2: "signals of {0} samples", 3: "images of {0}"}


def _about(result: Profile) -> str:
    """The data in a few words: task, rows, and what was measured."""
    shape, ladder = result.input_shape, result.race.ladder
    size = str(shape[-1]) if len(shape) < 3 else "×".join(map(str, shape[1:]))
    tested = f"{ladder.folds} folds" if ladder.folds > 1 else f"{len(ladder.divided[0][1]):,} rows kept aside to test"
    kinds = _SHAPES[len(shape)].format(size)
    return f"{result.task}, {result.n_train:,} rows, {kinds}; {tested}, errors on {result.about}."


def _caption(result: Profile) -> str:
    level = f"{100 * result.setting.level:.0f} %"
    return (
        "Points are measured on rows that took no part in the fit, bars are 90 % intervals. Dashed lines, and the band of the "
        f"first ({level}), are forecasts. The dashed rule is at {result.to:,} rows; a dotted line, where it is in sight, is "
        f"{result.baseline.words}."
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
    top, metric = shown(result), result.metric
    told = head(result)
    lead = sentences(result)
    later = {*more_data(result), *ended(result)}
    blind, blind_figures = blind_words(result, figure)
    body = made.get_template("profile.html.j2").render(
        terms=linker,
        data=result.data,
        about=_about(result),
        headline=told[0],
        beside=[*told[1:], *ended(result)],
        notes_on_answer=[line for line in lead[len(told) :] if line not in later],
        contenders=[
            {"name": c.row.name, "colour": c.colour, "role": c.role,
             "estimate": f"{metric.number(c.row.estimate.value)} ({metric.span(c.row.estimate)})"}
            for c in top
        ],
        chart_alt=f"Errors by training rows of {', '.join(c.row.name for c in top)} and the others. {told[0]}",
        chart_caption=_caption(result),
        code=result.code(),
        build_words=f"This is {called(result.best)}: what was measured. In the session that made this profile:",
        warnings=result.warnings,
        needs=more_data(result),
        more=more_table(result, top),
        race=race_table(result, top),
        csv=base64.b64encode(as_csv(result).encode()).decode(),
        mistakes=mistakes(result),
        blind=blind,
        blind_figures=blind_figures,
        why=[(c.row.name, [f"{r[0].upper()}{r[1:]}." for r in c.row.reasons]) for c in top if c.row.reasons],
        folded=everything(result, charts, figure),
        glossary=sorted(GLOSSARY.items(), key=lambda pair: pair[0].lower()),
        footer=f"priorscope, {result.seconds:.0f} s ({result.cpu_seconds:.0f} s of processor time).",
    )  # fmt: skip
    return document(
        f"Profile of {result.data}", body, charts=specs, scripts=("page.js", "table.js"), kind="page profile"
    )

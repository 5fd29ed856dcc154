"""The open sections of a profile's page: how much data, and what the pick is blind to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from priorscope.probes import Kept, Shared
from priorscope.profiles._contenders import Contender
from priorscope.profiles._headline import called
from priorscope.profiles._phrases import samples

if TYPE_CHECKING:
    import altair as alt

    from priorscope.profiles._result import CandidateProfile, Profile

__all__ = ["Charts", "Figures", "blind_words", "need_table", "need_words", "row_of", "seconds"]

Figures: TypeAlias = "Callable[[str, alt.TopLevelMixin, str, str], dict[str, str]]"
Charts: TypeAlias = "Mapping[str, alt.TopLevelMixin]"


def row_of(cells: Sequence[object], colour: str = "") -> dict[str, object]:
    return {"cells": [str(cell) for cell in cells], "colour": colour}


def seconds(cost: float | None) -> str:
    if cost is None:
        return "–"
    if cost < 0.95:
        return "under 1 s"
    return f"{cost:.0f} s" if cost < 100 else f"{cost / 60:.0f} min"


def need_words(result: Profile) -> list[str]:
    """What the pick takes to reach the target, and what twice the data would bring."""
    best, metric = result.best, result.metric
    if not best.learns:
        return ["More data of this kind is not forecast to help: what is missing is a signal, not samples."]
    lines = []
    goal = metric.text(result.target_error)
    if metric.number(result.target_error) == metric.number(0.0):
        lines.append(f"On the pilot hardly anything is left to gain for {called(best)}.")
    elif best.needed.reached:
        lines.append(
            f"{metric.aim(result.target_error)}, {called(best)} should take about {samples(best.needed)} samples."
        )
    else:
        lines.append(f"{goal[0].upper()}{goal[1:]} is out of reach of this forecast for {called(best)}.")
    twice = best.curve.at(2 * result.to)
    lines.append(
        f"Twice the data, {2 * result.to:,} samples, would bring it from {metric.number(best.estimate.value)} to "
        f"{metric.number(twice.value)} ({metric.span(twice)})."
    )
    return lines


def need_table(result: Profile, top: Sequence[Contender]) -> tuple[list[str], list[dict[str, object]]]:
    """The predictors of the first screen: measured, at the size asked about, samples to the target, time to train."""
    metric = result.metric
    columns = [
        "predictor",
        "measured",
        f"at {result.to:,}",
        f"samples to {metric.number(result.target_error)}",
        "training",
    ]
    rows = []
    for c in top:
        n, now = c.row.now
        rows.append(
            row_of(
                [
                    c.row.name,
                    f"{metric.number(now.value)} at {n:,}",
                    f"{metric.number(c.row.estimate.value)} ({metric.span(c.row.estimate)})",
                    samples(c.row.needed) if c.row.learns else "–",
                    seconds(c.row.cost),
                ],
                c.colour,
            )
        )
    return columns, rows


def _seeing(result: Profile) -> CandidateProfile | None:
    """The architecture whose blind spots stand on the first pages: the pick's, else the first in the table that has any."""
    own = result.architecture(result.best)
    if own is not None and own.blind is not None:
        return own
    found = (result.architecture(row) for row in result.rows)
    return next((c for c in found if c is not None and c.blind is not None), None)


def blind_words(result: Profile, figure: Figures) -> tuple[list[str], list[dict[str, str]]]:
    """What the pick hardly sees, in words and, for images, in pictures; and the moves it cannot tell apart."""
    c = _seeing(result)
    lines, figures = [], []
    if c is None or c.blind is None:
        lines.append("Directions that it hardly sees were not looked for (deep=False, or too many inputs).")
    else:
        if result.architecture(result.best) is not c:
            lines.append(f"{called(result.best)} has no gradients to look at; this is {c.name}.")
            lines[0] = lines[0][0].upper() + lines[0][1:]
        if c.blind.n_blind:
            lines.append(c.blind.sentence)
        else:
            lines.append(f"{c.name} sees every direction of the input: none has a visibility below 0.1 of the typical.")
        if len(c.blind.geometry.input_shape) == 3:
            alt = f"The six directions that {c.name} sees least, drawn as images."
            caption = (
                f"{alt} 'variance': a direction along which the data vary, 'label': one that predicts a target; the number is "
                "its visibility, 1 where it is typical."
            )
            figures.append(figure("blind", c.blind.pictures(6), alt, caption))
    known = c if c is not None else result.architecture(result.best)
    if known is not None:
        held = {s.move: s.shared for s in result.data_symmetries}
        lost = [m for m, kind in known.symmetries.items() if kind is Kept.INVARIANT and held.get(m) is Shared.NO]
        good = [m for m, kind in known.symmetries.items() if kind is Kept.INVARIANT and held.get(m) is Shared.YES]
        if lost:
            lines.append(
                f"It is invariant under {', '.join(lost)}, and the labels are not: what they tell is lost to it."
            )
        if good:
            lines.append(f"It is invariant under {', '.join(good)}, as the labels are: nothing is lost there.")
    return [*lines, *result.advice], figures

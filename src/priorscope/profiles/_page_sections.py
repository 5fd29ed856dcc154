"""The open sections of a profile's page: more data, everybody who took part, and what the pick is blind to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from priorscope.probes import Kept, Shared
from priorscope.profiles._contenders import Shown
from priorscope.profiles._kind import Kind
from priorscope.profiles._more_data import floor_of
from priorscope.profiles._naming import called
from priorscope.profiles._phrases import count, duration
from priorscope.profiles._text import KINDS

if TYPE_CHECKING:
    import altair as alt

    from priorscope.profiles._architecture import ArchitectureProfile
    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row

__all__ = ["Charts", "Figures", "blind_words", "more_table", "race_table", "row_of"]

Figures: TypeAlias = "Callable[[str, alt.TopLevelMixin, str, str], dict[str, str]]"
Charts: TypeAlias = "Mapping[str, alt.TopLevelMixin]"


def row_of(cells: Sequence[object], colour: str = "") -> dict[str, object]:
    """A row of a table: its cells as text, and a colour or none."""
    return {"cells": [str(cell) for cell in cells], "colour": colour}


def more_table(result: Profile, top: Sequence[Shown]) -> tuple[list[str], list[dict[str, object]]]:
    """The coloured predictors at the size asked about, at twice and ten times of it, and what they fall to."""
    metric, to = result.metric, result.to
    end = "ceiling" if metric.higher_is_better else "floor"
    columns = ["predictor", f"at {to:,}", f"at {count(2 * to)}", f"at {count(10 * to)}", end]
    rows = []
    for one in top:
        row = one.row
        found = [row.estimate, result.at(2 * to, row.name), result.at(10 * to, row.name), floor_of(row)]
        rows.append(row_of([row.name, *(f"{metric.number(i.value)} ({metric.span(i)})" for i in found)], one.colour))
    return columns, rows


def _cell(text: str, value: float | str | None = None) -> dict[str, str]:
    """A cell and what it is sorted by."""
    return {"text": text, "value": text if value is None else f"{value:.6g}" if isinstance(value, float) else value}


def race_table(result: Profile, top: Sequence[Shown]) -> dict[str, object]:
    """Everybody who took part: measured and estimated errors, what can be said, and what each cost; values to sort by."""
    metric = result.metric
    colours = {one.row.name: one.colour for one in top}
    columns = ["#", "predictor", "kind", "measured", "fitted to", f"at {result.to:,} rows", "times the first", "standing",
               "a fit takes", "measuring took"]  # fmt: skip
    rows = []
    for place, row in enumerate(result.rows, 1):
        n, now = row.now
        ratio = 1.0 if row.ratio is None else row.ratio.value
        told = "" if row.ratio is None else f" ({row.ratio.low:.2f}–{row.ratio.high:.2f})"
        cells = [
            _cell(str(place), float(place)),
            _cell(row.name),
            _cell("yours" if row.offered else KINDS[row.kind]),
            _cell(f"{metric.number(now.value)} ({metric.span(now)})", now.value),
            _cell(f"{n:,}", float(n)),
            _cell(f"{metric.number(row.estimate.value)} ({metric.span(row.estimate)})", row.estimate.value),
            _cell(f"{ratio:.2f}{told}", ratio),
            _cell(row.said),
            _cell(duration(row.cost), row.cost),
            _cell(duration(row.seconds), row.seconds),
        ]
        rows.append(
            {"cells": cells, "colour": colours.get(row.name, ""), "kind": cells[2]["text"], "why": _row_words(row)}
        )
    kinds = list(dict.fromkeys(str(row["kind"]) for row in rows))
    caption = (
        f"By {metric.words}, in the order of the errors to be expected at {result.to:,} rows, with 90 % intervals. Times the "
        "first: the ratio of two errors, with the luck of shared test rows taken out. A fit takes so long on all rows; "
        "measuring: all fits and tests of this profile, in processor seconds."
    )
    return {"columns": columns, "rows": rows, "kinds": kinds, "caption": caption}


def _row_words(row: Row) -> str:
    """What the row is, and why it was not measured further."""
    plain = called(row).removesuffix(f" ({row.name})")
    said = [] if plain.endswith(row.name) or row.kind is Kind.AVERAGE else [plain]
    if row.ended:
        said.append("behind: not measured on more rows" if row.ended == "behind" else row.ended)
    return "; ".join(said)


def _architecture(result: Profile, row: Row) -> ArchitectureProfile | None:
    """What was measured of the architecture behind a row."""
    return next((c for c in result.candidates if c.name == row.architecture), None)


def _seeing(result: Profile) -> ArchitectureProfile | None:
    """The architecture whose blind spots stand on the first pages: the pick's, else the first in the table that has any."""
    found = (_architecture(result, row) for row in result.rows)
    return next((c for c in found if c is not None and c.blind is not None), None)


def blind_words(result: Profile, figure: Figures) -> tuple[list[str], list[dict[str, str]]]:
    """What the pick hardly sees, in words and, for images, in pictures; and the moves it cannot tell apart."""
    c = _seeing(result)
    lines: list[str] = []
    figures = []
    if c is not None and c.blind is not None:
        if _architecture(result, result.best) is not c:
            own = called(result.best)
            lines.append(f"{own[0].upper()}{own[1:]} was not looked at; this is {c.name}.")
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
    known = c if c is not None else _architecture(result, result.best)
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
    return lines, figures

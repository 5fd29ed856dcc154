"""The folded sections of a profile's page: kernels, symmetries, blind spots, regimes, and how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from priorscope.profiles._page_sections import Charts, Figures, row_of
from priorscope.profiles.sections import MovedOutputs

if TYPE_CHECKING:
    from priorscope.profiles._architecture import ArchitectureProfile
    from priorscope.profiles._result import Profile

__all__ = ["Folded", "Table", "everything"]


@dataclass(frozen=True)
class Table:
    """Columns by name, rows of cells in words, each with a colour or none.

    Example:
        >>> Table("Two", ["a", "b"], [{"cells": ["1", "2"], "colour": ""}]).rows[0]["cells"]
        ['1', '2']
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[dict[str, object]]


@dataclass(frozen=True)
class Folded:
    """A part of the page that opens on a click: text, charts, tables, and named groups of sentences.

    Example:
        >>> Folded("doubles", "Samples that are there twice", ["None is."]).title
        'Samples that are there twice'
    """

    id: str
    title: str
    text: Sequence[str] = ()
    figures: Sequence[dict[str, str]] = ()
    tables: Sequence[Table] = ()
    groups: Sequence[tuple[str, Sequence[str]]] = ()


def everything(result: Profile, charts: Charts, figure: Figures) -> list[Folded]:
    """The folded sections, those that were measured."""
    made = [
        _kernels(result, charts, figure),
        _symmetries(result),
        _geometry(result, charts, figure),
        _regime(result, charts, figure),
        *(found.page(figure) for found in result.findings.values()),
        Folded(
            "method",
            "How this was made",
            [*(f"{note[0].upper()}{note[1:]}." for note in result.notes), _method(result)],
        ),
    ]
    return [section for section in made if section is not None]


def _half(c: ArchitectureProfile) -> str:
    """How many leading modes it takes to hold half of the target."""
    held = c.spectrum.cumulative_power
    if held is None:
        return "–"
    return str(int((held < 0.5).sum()) + 1) if held[-1] >= 0.5 else f"more than {len(held)}"


def _kernels(result: Profile, charts: Charts, figure: Figures) -> Folded | None:
    """Spectra of the kernels and how fast the target fills their leading modes; None where there are no kernels."""
    if not result.candidates:
        return None
    names = ", ".join(c.name for c in result.candidates)
    rows = [
        row_of([c.name, _half(c), f"{c.spectrum.effective_rank.value:.1f}",
              "–" if c.spectrum.alignment is None else f"{c.spectrum.alignment:.2f}"])
        for c in result.candidates
    ]  # fmt: skip
    columns = ["architecture", "modes for half the target", "effective rank", "alignment"]
    return Folded(
        "kernels",
        "What each kernel prefers",
        ["A kernel learns its leading modes first: the faster the target fills up in the second chart, the fewer samples it "
         "takes."],
        [
            figure("spectra", charts["spectra"], f"Eigenvalues of the kernels of {names}, falling with rank.",
                   "Eigenvalues of each kernel on the pilot, relative to the largest."),
            figure("power", charts["power"], f"Share of the target in the leading modes of {names}.",
                   "Share of the target in the first k modes."),
        ],
        [Table("The same in numbers", columns, rows)],
    )  # fmt: skip


_GROUPS = {  # at infinite width, for inputs of c channels at d positions: claim S0.1
    "fcn": "FCN: O(cd), every rotation of the input space",
    "vec": "VEC (and LCN): O(c)ᵈ, rotations of the channels, another at each position",
    "gap": "GAP: O(c)⊗I, one rotation of the channels everywhere, and shifts",
}


def _symmetries(result: Profile) -> Folded | None:
    """Moves: whether the labels share them, and what each group of architectures does under them."""
    if not result.data_symmetries:
        return None
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for c in result.candidates:
        alike.setdefault(tuple(c.symmetries.items()), []).append(c.name)
    one = result.data_symmetries[0]
    rows = [
        row_of([s.move, s.verdict, f"{s.agreement:.2f}", f"{s.gain:.2f}",
              "; ".join(f"{dict(kinds)[s.move]}: {', '.join(names)}" for kinds, names in alike.items() if s.move in dict(kinds))])
        for s in result.data_symmetries
    ]  # fmt: skip
    caption = (
        f"Agreement: how often a moved sample has the label of its nearest neighbour (unmoved {one.baseline:.2f}, by chance "
        f"{one.chance:.2f}). Gain: alignment when the kernel is averaged over the move, over that before."
    )
    families = dict.fromkeys(c.candidate.family for c in result.candidates)
    known = [_GROUPS[f] for f in sorted(families) if f in _GROUPS]
    text = [
        "A model that is invariant under a move the labels do not share throws information away; one that lacks a symmetry the "
        "labels have must learn it from data. Equivariant: nothing changes when all samples are moved alike.",
    ]
    text += (
        [f"Rotations under which nothing changes, with c channels at d positions. {'; '.join(known)}."] if known else []
    )
    columns = ["move", "labels share it", "agreement", "gain", "architectures"]
    tables = [Table(caption, columns, rows)]
    moved = result.findings.get("equivariance")
    if isinstance(moved, MovedOutputs):
        tables.append(moved.table())
        text += moved.own
    return Folded("symmetry", "Symmetries", text, (), tables)


def _geometry(result: Profile, charts: Charts, figure: Figures) -> Folded | None:
    """How evenly each architecture sees its inputs; None where that was not measured."""
    seen = [(c, c.blind) for c in result.candidates if c.blind is not None]
    if not seen:
        return None
    rows = [
        row_of(
            [
                c.name,
                f"{b.n_blind} of {b.directions.shape[1]}",
                f"{100 * b.hidden_variance:.1f} %",
                f"{100 * b.hidden_signal:.1f} %",
            ]
        )
        for c, b in seen
    ]
    made = figure("geometry", charts["geometry"], "Visibility of directions of the input by rank, for each architecture.",
                  "How unevenly each architecture sees its inputs: a flat line sees every direction alike.")  # fmt: skip
    told = [b.sentence for _, b in seen if b.n_blind]
    columns = ["architecture", "blind directions", "variance hidden", "signal hidden"]
    text = [
        "Directions of the input in which random networks of each kind hardly react, and what the data hold there.",
        *told,
    ]
    table = Table("What each hardly sees", columns, rows)
    return Folded("geometry", "Blind spots of every architecture", text, [made], [table])


def _regime(result: Profile, charts: Charts, figure: Figures) -> Folded | None:
    """How far networks are from their kernels; None where that was not measured."""
    found = [(c, c.regime) for c in result.candidates if c.regime is not None]
    if not found:
        return None
    rows = [
        row_of(
            [
                c.name,
                r.width or "own",
                "–" if r.spread is None else f"{r.spread:.2g}",
                f"{r.change:.2g}",
                f"{100 * r.loss_ratio:.0f} %",
            ]
        )
        for c, r in found
    ]
    text = [
        "A network is lazy as far as its tangent kernel stays where it starts. Spread: how far the kernel of a finite network "
        "lies from its limit. Change: how far a short training run moves it. Below 0.15 it trains lazily, above 0.5 features are "
        "learnt.",
    ]
    figures = [figure("regime", charts["regime"], "Spread and change of the tangent kernel of each architecture.",
                      "Distance from the kernel, log axis; rules at 0.15 and 0.5.")]  # fmt: skip
    placed = [(c.name, r.place) for c, r in found if r.place is not None]
    if placed:
        name, place = placed[0]
        text.append(f"{name}, by a quick gradient flow: {place.words}")
        caption = f"Phase diagram of training with the place of {name}; the crossover is its own."
        figures.append(figure("phase", charts["phase"], text[-1], caption))
    alike: dict[str, list[str]] = {}
    for c, r in found:
        alike.setdefault(r.reading, []).append(c.name)
    groups = [(", ".join(names), [reading]) for reading, names in alike.items()]
    columns = ["architecture", "width", "spread", "change", "loss left"]
    caption = "Spread and change as relative Frobenius norms, after a short run of training"
    return Folded("regime", "Lazy or feature learning", text, figures, [Table(caption, columns, rows)], groups)


def _method(result: Profile) -> str:
    ladder = result.race.ladder
    sizes = ", ".join(f"{size:,}" for size in ladder.sizes)
    tested = (
        f"the last rung in {ladder.folds} folds, so that every row is tested on once"
        if ladder.folds > 1
        else f"tested on {len(ladder.divided[0][1]):,} rows kept aside"
    )
    return (
        f"Everybody was fitted to {sizes} rows as far as it was worth it, on rows that all share, each set holding those before; "
        f"{tested}. No row was tested on by a predictor that had seen it. Errors are in {result.metric.words}; beyond what was "
        f"measured each curve was carried on. The race took {result.race.spent:.0f} s of processor time; it ended because it was "
        f"{_END[result.race.ended]}."
    )


_END = {
    "settled": "settled",
    "measured": "all measured: nobody who may be best was left",
    "budget": "at the end of its budget",
    "stopped": "stopped by hand",
}

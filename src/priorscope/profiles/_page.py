"""The page of a profile."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, TypeAlias

from priorscope.profiles._phrases import samples, value
from priorscope.profiles._standing import Standing
from priorscope.report._claims import claims_behind
from priorscope.report._page import Figure, Section, page, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import altair as alt

    from priorscope.profiles._result import CandidateProfile, Profile

__all__ = ["profile_page"]

Row: TypeAlias = dict[str, str | float]  # of a table, by its columns

_CLAIMS = {  # what each section rests on, by the ids of the record
    "verdicts": ("V.1", "V.2", "V.3", "V.4"),
    "forecast": ("F.1", "F.2", "F.3"),
    "spectra": ("S0.9", "S2.2", "S2.7", "S2.8"),
    "symmetry": ("S0.1", "S0.2", "S0.3", "S0.4", "S0.6"),
    "geometry": ("S4.4", "S4.5", "S4.8", "S4.9"),
    "regime": ("L.4", "L.5", "L.10", "S0.7", "S2.5"),
}


def _verdicts(result: Profile) -> str:
    """Write the table of predictors with their errors, samples needed and cost."""
    rows, metric = [], result.metric
    for r in result.rows:
        n, now = r.now
        rows.append(
            {
                "predictor": r.name,
                "kind": r.kind.value,
                "standing": r.standing.value,
                f"at n = {result.to:,}": f"{metric.number(r.estimate.value)} ({metric.span(r.estimate)})",
                "measured": f"{metric.number(now.value)} at n = {n:,}",
                f"samples to {metric.number(result.target_error)}": samples(r.needed) if r.learns else "–",
                "to train": "" if r.cost is None else f"{value(r.cost)} s",
            }
        )
    caption = (
        f"Predictors, the first one first, by {metric.words}; {metric.text(result.baseline.value)} is that of "
        f"{result.baseline.words}. In brackets 90 % intervals. Standing: compared with the first on the same samples."
    )
    return table(rows, caption=caption)


def _why(result: Profile) -> str:
    """Reasons and warnings in words, one line per predictor."""
    lines = ""
    for r in result.rows:
        c = result.architecture(r)
        told = () if c is None or r.name != c.name else c.forecast.warnings
        careful = "".join(f'<div class="careful">Take care: {escape(note)}.</div>' for note in told)
        lines += f"<dt>{escape(r.name)}</dt><dd>{escape('; '.join((r.of, *r.reasons)))}{careful}</dd>"
    return f'<dl class="why">{lines}</dl>'


def _list(pairs: list[tuple[str, str]]) -> str:
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in pairs)
    return f'<dl class="why">{lines}</dl>'


def _grouped(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Put together the names of which the same is said."""
    alike: dict[str, list[str]] = {}
    for name, text in pairs:
        alike.setdefault(text, []).append(name)
    return [(", ".join(names), text) for text, names in alike.items()]


def _estimators(result: Profile) -> str:
    rows = []
    for c in result.candidates:
        row: Row = {"model": c.name, **c.forecast.estimators_at(result.horizon)}
        row["combined"] = c.forecast.at(result.horizon).value
        rows.append(row)
    return table(rows, caption=f"Error by each estimator and combined, at n = {result.horizon:,}")


def _symmetries(result: Profile) -> str:
    """Write the table of moves: whether the labels share them, and what each group of candidates does under them."""
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}  # candidates that do the same under every move, together
    for c in result.candidates:
        alike.setdefault(tuple(c.symmetries.items()), []).append(c.name)
    groups = {", ".join(names): dict(kinds) for kinds, names in alike.items()}
    rows = []
    for s in result.data_symmetries:
        row: Row = {
            "move": s.move,
            "labels share it": s.verdict,
            "agreement": f"{s.agreement:.2f}",
            "alignment gain": f"{s.gain:.2f}",
        }
        for names, kinds in groups.items():
            row[names] = kinds.get(s.move, "")
        rows.append(row)
    caption = "Moves of the input: what the labels do, and what each kernel does. "
    if result.data_symmetries:
        one = result.data_symmetries[0]
        caption += (
            f"Agreement: how often a moved sample has the label of its nearest neighbour (unmoved {one.baseline:.2f}, by chance "
            f"{one.chance:.2f}). Gain: kernel-target alignment when the kernel is averaged over the move, over that before."
        )
    return table(rows, caption=caption)


_GROUPS = {  # at infinite width, for inputs of c channels at d positions: claim S0.1
    "fcn": "FCN: O(cd), every rotation of the input space",
    "vec": "VEC (and LCN): O(c)ᵈ, rotations of the channels, another at each position",
    "gap": "GAP: O(c)⊗I, one rotation of the channels everywhere, and shifts",
}


def _groups(result: Profile) -> list[str]:
    """The group of each family of candidates, in words."""
    families = dict.fromkeys(c.candidate.family for c in result.candidates)
    known = [_GROUPS[f] for f in sorted(families) if f in _GROUPS]
    return (
        [f"Rotations under which nothing changes, with c channels at d positions. {'; '.join(known)}."] if known else []
    )


def _costs(result: Profile) -> str:
    rows = [
        {
            "model": c.name,
            "effective rank": f"{c.spectrum.effective_rank.value:.1f}",
            "target alignment": "" if c.spectrum.alignment is None else f"{c.spectrum.alignment:.3f}",
            "modes that hold half the target": _half(c),
        }
        for c in result.candidates
    ]
    return table(rows, caption="Spectrum in numbers")


def _half(c: CandidateProfile) -> str:
    """How many leading modes it takes to hold half of the target."""
    held = c.spectrum.cumulative_power
    if held is None:
        return ""
    return str(int((held < 0.5).sum()) + 1) if held[-1] >= 0.5 else f"more than {len(held)}"


def _regimes(result: Profile, charts: Mapping[str, alt.TopLevelMixin]) -> Section | None:
    """Write the section on how far networks are from their kernels; None where that was not measured."""
    rows = [
        {
            "model": c.name,
            "width": c.regime.width if c.regime.width else "own",
            "spread of the finite kernel": "" if c.regime.spread is None else f"{c.regime.spread:.2g}",
            "change of the kernel in training": f"{c.regime.change:.2g}",
            "steps": c.regime.steps,
            "loss left": f"{100 * c.regime.loss_ratio:.0f} %",
        }
        for c in result.candidates
        if c.regime is not None
    ]
    if not rows:
        return None
    placed = [
        (c.name, c.regime.place) for c in result.candidates if c.regime is not None and c.regime.place is not None
    ]
    texts = tuple(f"{name}, by a quick gradient flow: {place.words}" for name, place in placed)
    text = (
        "A forecast by a kernel speaks for a network as far as the network stays near it. Spread: how far the kernel of a "
        "finite network lies from its limit (or from that of other draws of your network). Change: how far a short training "
        "run moves it. Below 0.15 the forecast should carry over; above 0.5 features are learnt and it is a reference only."
    )
    readings = _grouped([(c.name, c.regime.reading) for c in result.candidates if c.regime is not None])
    alt = "Spread and change of the tangent kernel of each model; " + "; ".join(f"{a}: {b}" for a, b in readings)
    figures = [Figure("regime", charts["regime"], alt, "Distance from the kernel, log axis; rules at 0.15 and 0.5.")]
    if placed:
        caption = f"Phase diagram of training with the place of {placed[0][0]}; the crossover is its own."
        figures.append(Figure("phase", charts["phase"], texts[0], caption))
    tables = (
        _list(readings),
        table(rows, caption="Spread and change as relative Frobenius norms, after a short run of training"),
    )
    return Section("regime", "Kernel or features", (text, *texts), tables, tuple(figures))


def _blind(result: Profile, charts: Mapping[str, alt.TopLevelMixin]) -> Section | None:
    """Write the section on the directions that candidates hardly see; None where that was not measured."""
    seen = [c for c in result.candidates if c.blind is not None]
    if not seen:
        return None
    rows = [
        {
            "model": c.name,
            "blind directions": f"{c.blind.n_blind} of {c.blind.directions.shape[1]}",
            "variance hidden": f"{100 * c.blind.hidden_variance:.1f} %",
            "label signal hidden": f"{100 * c.blind.hidden_signal:.1f} %",
        }
        for c in seen
        if c.blind is not None
    ]
    text = "Directions of input space in which random networks of each kind hardly react, and what the data hold there."
    figures = [
        Figure(
            "geometry",
            charts["geometry"],
            "Eigenvalues of the average input geometry of each model against rank, relative to their mean.",
            "How unevenly each model sees the input space: a flat line sees every direction alike.",
        )
    ]
    most = max(seen, key=lambda c: c.blind.hidden_variance if c.blind is not None else 0.0)
    for c in dict.fromkeys([seen[0].name, most.name]):
        one = next(s for s in seen if s.name == c)
        if one.blind is not None and len(one.blind.geometry.input_shape) == 3:
            alt = f"The six directions that {one.name} sees least, drawn as images."
            name = "pictures" if one is seen[0] else "pictures-most"
            what = "'variance': a direction along which the data vary; 'label': one that predicts a target; then its visibility"
            figures.append(Figure(name, one.blind.pictures(6), alt, f"{alt} {what} (1 is typical)."))
    told = [c.blind.sentence for c in seen if c.blind is not None and c.blind.n_blind]
    rest = [c.name for c in seen if c.blind is not None and not c.blind.n_blind]
    if rest:
        told.append(f"{', '.join(rest)}: every direction is seen (visibility above 0.1 of the typical).")
    return Section(
        "geometry", "Blind spots", (text, *told), (table(rows, caption="What each model hardly sees"),), figures
    )


def profile_page(result: Profile) -> str:
    """The page: verdict, forecast, spectra, symmetries, blind spots, regime, then how it was made."""
    charts = result.charts()
    names = ", ".join(c.name for c in result.candidates)
    best = result.candidates[0]
    sections: list[Section | None] = [
        Section("verdicts", "Verdict", (), (_verdicts(result), _why(result))),
        Section(
            "forecast",
            "How the error falls",
            ("Points are measured inside the pilot, lines are forecasts, bands their 90 % intervals. The dashed rule marks "
             "the size at which they are ranked. Click a name in the legend to see it alone; drag and scroll to zoom.",),
            (_estimators(result),),
            (
                Figure(
                    "curves",
                    charts["curves"],
                    f"Learning curves of {names}. {' '.join(result.verdict()[:2])}",
                    "Test error against training samples, log axes.",
                ),
            ),
        ),
        Section(
            "spectra",
            "What each kernel prefers",
            ("A kernel learns its leading modes first. The faster the target fills up in the second chart, the fewer samples "
             "it takes.",),
            (_costs(result),),
            (
                Figure("spectra", charts["spectra"], f"Eigenvalues of the kernels of {names}, falling with rank.",
                       "Eigenvalues of each kernel on the pilot, relative to the largest."),
                Figure("power", charts["power"], f"Share of the target in the leading modes; {best.name} ranks first.",
                       "Cumulative share of the target's power."),
            ),
        ),
        Section(
            "symmetry",
            "Symmetries",
            ("A model that is invariant under a move the labels do not share throws information away; one that lacks a "
             "symmetry the labels have must learn it from data. Equivariant: nothing changes when all samples are moved alike.",
             *_groups(result)),
            (_symmetries(result),),
        ),
        _blind(result, charts),
        _regimes(result, charts),
        Section("method", "How this was made", (*(f"{n[0].upper()}{n[1:]}." for n in result.notes), _method(result))),
    ]  # fmt: skip
    subtitle = (
        f"{result.task.capitalize()}, {result.n_train:,} samples, of which a pilot of {result.pilot} was looked at. "
        + "Networks were trained on parts of it only."
    )
    return page(
        f"Profile of {result.data}",
        subtitle=subtitle,
        verdict=result.verdict(),
        sure=result.best.standing is Standing.BEST,
        warnings=result.warnings,
        sections=[_with_claims(s) for s in sections if s is not None],
        footer=f"priorscope, {result.seconds:.0f} s ({result.cpu_seconds:.0f} s of processor time). "
        "Every claim and its verdict: priorscope claims.",
    )


def _with_claims(section: Section) -> Section:
    ids = _CLAIMS.get(section.id)
    return section if ids is None else replace(section, html=(*section.html, claims_behind(ids)))


def _method(result: Profile) -> str:
    """How the numbers were made, in a few sentences."""
    draws = f"{result.draws} draws of {result.pilot} samples" if result.draws > 1 else f"{result.pilot} samples"
    return (
        f"All predictors were trained on the same nested parts of {draws} and tested on the rest: kernel machines in closed "
        "form with the ridge tuned at each size, networks until their error stopped falling, classical models with settings "
        "tuned. The squared error of kernel machines is extrapolated "
        f"({', '.join(result.candidates[0].forecast.estimators) if result.candidates else 'power law'}); other curves follow it "
        f"by the ratio learnt on the pilot. Rows are ranked at {result.to:,} samples."
    )

"""The page of a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from priorscope.report._page import Figure, Section, page, table

if TYPE_CHECKING:
    from ._result import Profile

__all__ = ["profile_page"]


def _interval(value: Any) -> str:
    return f"{value.value:.3g} [{value.low:.3g}, {value.high:.3g}]"


def _verdicts(result: Profile) -> str:
    rows = []
    for place, c in enumerate(result.candidates, 1):
        row: dict[str, Any] = {
            "": place,
            "model": c.name,
            "verdict": c.verdict,
            f"forecast error at {result.horizon}": _interval(c.forecast.at(result.horizon)),
        }
        if result.task == "classification":
            share = c.forecast.misclassification(result.horizon)
            row["misclassified"] = f"{share.value:.1%} [{share.low:.1%}, {share.high:.1%}]"
        row[f"samples to {result.target_error:.3g}"] = f"{c.needed.value:.0f}" if c.needed.reached else "out of reach"
        row["why"] = "; ".join(c.reasons)
        rows.append(row)
    return table(rows, caption="Candidates, best first; 90 % intervals")


def _estimators(result: Profile) -> str:
    import numpy as np

    rows = []
    for c in result.candidates:
        row: dict[str, Any] = {"model": c.name}
        for name, values in c.forecast.estimators.items():
            row[name] = float(np.exp(np.interp(np.log(result.horizon), np.log(c.forecast.grid), np.log(values))))
        row["combined"] = c.forecast.at(result.horizon).value
        row["warning"] = "; ".join(c.forecast.warnings) or "none"
        rows.append(row)
    return table(rows, caption=f"The three estimators at n = {result.horizon}")


def _symmetries(result: Profile) -> str:
    rows = []
    for s in result.data_symmetries:
        row: dict[str, Any] = {
            "move": s.move,
            "labels share it": s.verdict,
            "agreement of moved neighbours": f"{s.agreement:.2f} (unmoved {s.baseline:.2f}, chance {s.chance:.2f})",
            "alignment gain": f"{s.gain:.2f}",
        }
        for c in result.candidates:
            row[c.name] = c.symmetries.get(s.move, "")
        rows.append(row)
    return table(rows, caption="Moves of the input: what the labels do, and what each kernel does")


def _costs(result: Profile) -> str:
    rows = [
        {
            "model": c.name,
            "effective rank": f"{c.spectrum.effective_rank.value:.1f}",
            "target alignment": "" if c.spectrum.alignment is None else f"{c.spectrum.alignment:.3f}",
            "seconds": f"{c.seconds:.2f}",
            "peak memory": f"{c.megabytes:.0f} MB",
        }
        for c in result.candidates
    ]
    return table(rows, caption="Spectrum in numbers, and what the measurement cost")


def _regimes(result: Profile) -> Section | None:
    rows = [
        {
            "model": c.name,
            "width": c.regime.width if c.regime.width else "own",
            "spread of the finite kernel": "" if c.regime.spread is None else f"{c.regime.spread:.2f}",
            "change of the kernel in training": f"{c.regime.change:.2f}",
            "reading": c.regime.words,
        }
        for c in result.candidates
        if c.regime is not None
    ]
    if not rows:
        return None
    text = "How far a finite network lies from its kernel at the start, and how far a short training run moves it."
    return Section("regime", "Kernel or features", (text,), (table(rows, caption="Relative Frobenius norms"),))


def _blind(result: Profile) -> Section | None:
    seen = [c for c in result.candidates if c.blind is not None]
    if not seen:
        return None
    rows = [
        {
            "model": c.name,
            "blind directions": f"{c.blind.n_blind} of {c.blind.directions.shape[1]}",
            "variance hidden": f"{c.blind.hidden_variance:.1%}",
            "label signal hidden": f"{c.blind.hidden_signal:.1%}",
            "reading": c.blind.sentence,
        }
        for c in seen
        if c.blind is not None
    ]
    text = "Directions of input space in which random networks of each kind hardly react, and what the data hold there."
    most = max(seen, key=lambda c: c.blind.hidden_variance if c.blind is not None else 0.0)
    figures = []
    if most.blind is not None and len(most.blind.geometry.input_shape) == 3:
        alt = f"The six directions that {most.name} sees least, drawn as images."
        figures.append(Figure("pictures", most.blind.pictures(6), alt, f"{alt} Number: visibility, 1 is typical."))
    return Section("geometry", "Blind spots", (text,), (table(rows, caption="What each model hardly sees"),), figures)


def profile_page(result: Profile) -> str:
    """The page: verdict, forecast, spectra, symmetries, blind spots, regime, then how it was made."""
    charts = result.charts()
    names = ", ".join(c.name for c in result.candidates)
    best = result.best
    sections: list[Section | None] = [
        Section("verdicts", "Verdict", (), (_verdicts(result),)),
        Section(
            "forecast",
            "How the error falls",
            ("Points are measured inside the pilot, lines are forecasts, bands their 90 % intervals. The dashed rule marks "
             "the size at which candidates are ranked. Click a name in the legend to see it alone; drag and scroll to zoom.",),
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
             "symmetry the labels have must learn it from data.",),
            (_symmetries(result),),
        ),
        _blind(result),
        _regimes(result),
        Section("method", "How this was made", (*result.notes, _method(result))),
    ]  # fmt: skip
    subtitle = (
        f"{result.task}, {result.n_train} training samples, pilot of {result.pilot}; no network was trained to the end."
    )
    return page(
        f"Profile of {result.data}",
        subtitle=subtitle,
        verdict=result.verdict(),
        warnings=result.warnings,
        sections=[s for s in sections if s is not None],
        footer=f"priorscope, {result.seconds:.0f} s ({result.cpu_seconds:.0f} s of processor time). "
        "Claims behind these numbers: run priorscope claims.",
    )


def _method(result: Profile) -> str:
    return (
        f"Each candidate's kernel was computed on {result.pilot} samples; kernel regression was measured on parts of them and "
        f"extrapolated by a power law, spectral theory and kernel PCA. Candidates are ranked at {result.horizon} samples."
    )

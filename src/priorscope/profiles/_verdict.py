"""Ranking of candidates, and the reasons in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._result import CandidateProfile, Profile
    from ._symmetry import DataSymmetry

__all__ = ["rank", "words"]

_TIE = 1.1  # within 10 % of the best counts as equally good


def _reasons(c: CandidateProfile, best: CandidateProfile, horizon: int, found: Any) -> tuple[str, list[str]]:
    mine, top = c.forecast.at(horizon), best.forecast.at(horizon)
    ratio = mine.value / top.value
    if c is best:
        verdict = "best fit"
    elif ratio <= _TIE:
        verdict = "as good"
    elif mine.low > top.high:
        verdict = "clearly worse"
    else:
        verdict = "perhaps worse"
    reasons = [c.candidate.words]
    if c is not best:
        reasons.append(f"{ratio:.2g} times the pick's error at n = {horizon}")
    held = {s.move: s.verdict for s in found}
    wrong = [m for m, kind in c.symmetries.items() if kind == "invariant" and held.get(m) == "no"]
    right = [m for m, kind in c.symmetries.items() if kind == "invariant" and held.get(m) == "yes"]
    missed = [m for m, kind in c.symmetries.items() if kind != "invariant" and held.get(m) == "yes"]
    if right:
        reasons.append(f"has a symmetry the labels share ({', '.join(right)})")
    if wrong:
        reasons.append(f"cannot tell apart what the labels do ({', '.join(wrong)})")
    if missed and not right:
        reasons.append(f"must learn from data that labels do not change under {', '.join(missed)}")
    if c.spectrum.cumulative_power is not None:
        ahead = float(c.spectrum.cumulative_power[min(9, len(c.spectrum.cumulative_power) - 1)])
        reasons.append(f"its 10 leading modes hold {ahead:.0%} of the target")
    return verdict, reasons


def _leader(order: list[CandidateProfile], horizon: int) -> CandidateProfile:
    r"""The shallowest of those whose forecast is within 10 % of the lowest.

    A network of width w and depth L differs from its kernel by fluctuations of order L/w (Hanin & Nica 2020), so where
    kernels tie the shallower network is the safer one: on development problems trained networks of three hidden layers
    had 1.4 to 1.5 times the error of their kernel, those of one hidden layer 0.6 to 1.5 times. Models of unknown depth
    take no part in this.
    """
    first = order[0]
    if "depth" not in first.candidate.options:
        return first
    limit = _TIE * first.forecast.at(horizon).value
    ties = [c for c in order if c.forecast.at(horizon).value <= limit and "depth" in c.candidate.options]
    return min(ties, key=lambda c: c.candidate.options["depth"])  # of one depth, the first has the lower forecast


def rank(candidates: list[CandidateProfile], horizon: int, found: list[DataSymmetry]) -> tuple[CandidateProfile, ...]:
    """Order by forecast error at the horizon, ties going to the shallowest, and put each verdict in words."""
    order = sorted(candidates, key=lambda c: c.forecast.at(horizon).value)
    leader = _leader(order, horizon)
    order = [leader, *(c for c in order if c is not leader)]
    ranked = []
    for c in order:
        verdict, reasons = _reasons(c, leader, horizon, found)
        ranked.append(replace(c, verdict=verdict, reasons=tuple(reasons)))
    return tuple(ranked)


def words(result: Profile) -> list[str]:
    """Sentences for the head of the page and the terminal."""
    best = result.best
    ahead = best.forecast.at(result.horizon)
    unit = "mean squared error"
    lines = [f"{best.name} fits this data best: {best.reasons[0]}."]
    text = f"Forecast at {result.horizon} samples: {unit} {ahead.value:.3g} [{ahead.low:.3g}, {ahead.high:.3g}]"
    if result.task == "classification":
        share = best.forecast.misclassification(result.horizon)
        text += f", {share.value:.1%} misclassified [{share.low:.1%}, {share.high:.1%}]"
    lines.append(text + ".")
    ties = [c.name for c in result.candidates[1:] if c.verdict == "as good"]
    if ties:
        lines.append(f"As good within 10 %: {', '.join(ties)}.")
    unsettled = [c.name for c in result.candidates[1:] if c.verdict == "perhaps worse"]
    if unsettled:
        lines.append(
            f"Not settled: the intervals of {', '.join(unsettled)} overlap with its own, so the order may change."
        )
    if best.needed.reached:
        lines.append(f"An error of {result.target_error:.3g} should take about {best.needed.value:.0f} samples.")
    lines += [f"{reason[0].upper()}{reason[1:]}." for reason in best.reasons[1:]]
    return lines

"""Ranking of candidates, and the reasons in words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from priorscope.profiles._compare import merit, over
from priorscope.profiles._phrases import ratio, samples, share, span, value
from priorscope.profiles._standing import Standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from priorscope.profiles._baseline import Baseline
    from priorscope.profiles._result import CandidateProfile, Profile
    from priorscope.profiles._symmetry import DataSymmetry
    from priorscope.statistics import Interval

__all__ = ["rank", "words"]

_NEAR = 1.1  # a ratio of errors up to this is a little worse only


def _standing(c: CandidateProfile, times: Interval, horizon: int, baseline: Baseline) -> Standing:
    """The verdict on a candidate whose error is so many ``times`` the pick's."""
    if not baseline.beaten(c.forecast, horizon):
        return Standing.LEARNS_NOTHING
    if times.low <= 1:
        return Standing.TIED
    return Standing.LITTLE_WORSE if times.value <= _NEAR else Standing.WORSE


def _reasons(c: CandidateProfile, horizon: int, found: Sequence[DataSymmetry]) -> list[str]:
    """Say why a candidate stands where it does: its prior, its errors, the symmetries of the labels, and its spectrum."""
    reasons = [c.candidate.words]
    if c.ratio is not None:
        reasons.append(f"{ratio(c.ratio)} times the pick's error at n = {horizon}")
    if c.trial is not None:
        told = f"networks trained on {c.trial.n} samples of the pilot err by {value(c.trial.error)} on the rest"
        reasons.append(f"{told}, its kernel by {value(c.trial.kernel_error)}")
    held = {s.move: s.verdict for s in found}
    wrong = [m for m, kind in c.symmetries.items() if kind == "invariant" and held.get(m) == "no"]
    right = [m for m, kind in c.symmetries.items() if kind == "invariant" and held.get(m) == "yes"]
    missed = [m for m, kind in c.symmetries.items() if kind != "invariant" and held.get(m) == "yes"]
    if right:
        reasons.append(f"has a symmetry the labels share ({', '.join(right)})")
    if wrong:
        reasons.append(f"is blind to moves after which nearest neighbours have other labels ({', '.join(wrong)})")
    if missed and not right:
        reasons.append(f"must learn from data that labels do not change under {', '.join(missed)}")
    if c.spectrum.cumulative_power is not None:
        ahead = float(c.spectrum.cumulative_power[min(9, len(c.spectrum.cumulative_power) - 1)])
        reasons.append(f"its 10 leading modes hold {100 * ahead:.0f} % of the target")
    return reasons


def _kin(c: CandidateProfile) -> str:
    """Candidates that share an architecture; a user's model is a kind of its own."""
    return c.candidate.family if c.candidate.family != "user" else f"user {c.name}"


def _first_standing(pick: CandidateProfile, others: dict[str, Standing], order: list[CandidateProfile]) -> Standing:
    """The verdict on a pick that learns, ``others`` the verdicts on the rest."""
    if not others:
        return Standing.ONLY
    rivals = [c for c in order if _kin(c) != _kin(pick)] or [c for c in order if c is not pick]
    if all(others[c.name].clearly_behind for c in rivals):
        return Standing.BEST
    return Standing.LOWEST if pick.trial is None else Standing.TRIED


def rank(
    candidates: list[CandidateProfile], horizon: int, found: list[DataSymmetry], baseline: Baseline
) -> tuple[CandidateProfile, ...]:
    """Order by error at the horizon, the pick first; each verdict in words.

    Candidates with close forecasts whose networks were trained on the pilot come first: they had the lowest forecasts.
    """
    order = sorted(candidates, key=lambda c: (c.trial is None, merit(c, horizon)))
    pick, *others = order
    ratios = {c.name: over(c, pick, horizon) for c in others}
    verdicts = {c.name: _standing(c, ratios[c.name], horizon, baseline) for c in others}
    if baseline.beaten(pick.forecast, horizon, surely=True):
        verdicts[pick.name] = _first_standing(pick, verdicts, order)
    else:
        beaten = baseline.beaten(pick.forecast, horizon)
        verdicts[pick.name] = Standing.OPEN if beaten else Standing.LEARNS_NOTHING
        nothing = Standing.LEARNS_NOTHING
        verdicts = {name: v if v is nothing else Standing.MAY_LEARN_NOTHING for name, v in verdicts.items()}
    placed = [replace(c, verdict=verdicts[c.name], ratio=ratios.get(c.name)) for c in order]
    return tuple(replace(c, reasons=tuple(_reasons(c, horizon, found))) for c in placed)


def _headline(result: Profile) -> list[str]:
    """Who is first and how sure that is, in one or two sentences."""
    best, rest = result.candidates[0], result.candidates[1:]
    ties = [c.name for c in rest if c.verdict is Standing.TIED]
    mean = f"{value(result.baseline.squared, 3)}, that of predicting the mean"
    ahead = best.forecast.at(result.horizon)
    if best.verdict is Standing.LEARNS_NOTHING:
        return [
            f"No candidate is forecast to learn anything from {result.horizon:,} samples: the lowest error forecast, "
            f"{value(ahead.value, 3)} by {best.name}, is not below {mean}."
        ]
    if best.verdict is Standing.MAY_LEARN_NOTHING:
        return [
            f"No candidate is sure to learn anything from {result.horizon:,} samples: the lowest error forecast, "
            f"{value(ahead.value, 3)} by {best.name}, may be as high as {value(ahead.high, 3)}, not below {mean}."
        ]
    if best.verdict is Standing.ONLY:
        return [f"{best.name} is the only candidate: {best.reasons[0]}."]
    if best.verdict is Standing.BEST:
        lines = [f"{best.name} fits this data best: {best.reasons[0]}."]
        return [*lines, f"Not told apart from it: {', '.join(ties)}, of the same family."] if ties else lines
    near = [f"{c.name} ({c.verdict})" for c in rest if c.verdict is Standing.LITTLE_WORSE]
    first = f"{best.name} has the lowest forecast"
    if best.verdict is Standing.TRIED:
        tried = ", ".join(c.name for c in rest if c.trial is not None)
        first = f"{best.name} does best when trained on the pilot, of candidates with close forecasts (also {tried})"
    if len(ties) == len(rest):
        first += ", but is not told apart from any other"
    elif ties or near:
        first += f", but is not told apart from {', '.join(ties)}" if ties else f"; close to it: {', '.join(near)}"
    lines = [f"{first}."]
    if ties and result.n_train > result.pilot:
        lines.append(f"A pilot larger than {result.pilot} samples (--pilot, or pilot=) may tell them apart.")
    return [*lines, f"{best.name}: {best.reasons[0]}."]


def words(result: Profile) -> list[str]:
    """Sentences for the head of the page and the terminal."""
    best = result.candidates[0]
    ahead = best.forecast.at(result.horizon)
    lines = _headline(result)
    text = f"Forecast for {best.name} at {result.horizon:,} samples: mean squared error {value(ahead.value)} ({span(ahead)}), "
    text += f"against {value(result.baseline.squared)} of predicting the mean"
    if result.unit is not None:
        low, mid, high, mean = (
            value(result.unit * math.sqrt(e)) for e in (ahead.low, ahead.value, ahead.high, result.baseline.squared)
        )
        text += f"; as a root mean square in the target's own unit: {mid} ({low}–{high}), against {mean}"
    if result.task == "classification":
        wrong = share(best.forecast.misclassification(result.horizon))
        text += f"; misclassified {wrong}"
        if result.baseline.wrong is not None:
            text += f", against {100 * result.baseline.wrong:.0f} % of always guessing the commonest class"
    lines.append(text + ".")
    if not best.learns:
        return lines
    if best.needed.reached:
        lines.append(f"An error of {value(result.target_error)} should take about {samples(best.needed)} samples.")
    return lines + [f"{reason[0].upper()}{reason[1:]}." for reason in best.reasons[1:]]

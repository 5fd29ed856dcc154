"""A profile as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from priorscope.profiles._result import CandidateProfile, Profile

__all__ = ["as_dict"]


def _candidate(c: CandidateProfile, horizon: int) -> dict[str, object]:
    """Put all that was measured of one candidate into plain values."""
    curve = c.forecast.curve
    sizes = np.unique(np.geomspace(curve.sizes[0], 10 * horizon, 40).round())
    ahead = [c.forecast.at(n) for n in sizes]
    top = slice(0, 200)
    return {
        "name": c.name,
        "family": c.candidate.family,
        "verdict": c.verdict.value,
        "reasons": list(c.reasons),
        "over_the_pick": None
        if c.ratio is None
        else {"value": c.ratio.value, "low": c.ratio.low, "high": c.ratio.high},
        "trained_on_the_pilot": None
        if c.trial is None
        else {
            "n": c.trial.n,
            "error": c.trial.error,
            "kernel_error": c.trial.kernel_error,
            "learning_rate": c.trial.rate,
            "width": c.trial.width,
            "seconds": c.trial.seconds,
        },
        "measured": curve.table().to_dict("list"),
        "forecast": {
            "n": sizes,
            "error": [a.value for a in ahead],
            "low": [a.low for a in ahead],
            "high": [a.high for a in ahead],
            "level": c.forecast.level,
        },
        "estimators_at_horizon": c.forecast.estimators_at(horizon),
        "exponents": c.forecast.exponents,
        "samples_needed": {
            "error": c.needed.error,
            "value": c.needed.value,
            "low": c.needed.low,
            "high": c.needed.high,
        },
        "spectrum": {
            "eigenvalues": c.spectrum.eigenvalues[top],
            "cumulative_power": None if c.spectrum.cumulative_power is None else c.spectrum.cumulative_power[top],
            "effective_rank": c.spectrum.effective_rank.value,
            "alignment": c.spectrum.alignment,
        },
        "symmetries": c.symmetries,
        "blind_spots": None
        if c.blind is None
        else {
            "blind_directions": c.blind.n_blind,
            "hidden_variance": c.blind.hidden_variance,
            "hidden_signal": c.blind.hidden_signal,
            "sentence": c.blind.sentence,
        },
        "regime": None
        if c.regime is None
        else {
            "width": c.regime.width,
            "spread": c.regime.spread,
            "change": c.regime.change,
            "words": c.regime.words,
        },
        "warnings": list(c.forecast.warnings),
        "seconds": c.seconds,
        "megabytes": c.megabytes,
    }


def as_dict(result: Profile) -> dict[str, object]:
    """All numbers of a profile in plain lists and dictionaries."""
    return {
        "data": result.data,
        "task": result.task,
        "n_train": result.n_train,
        "pilot": result.pilot,
        "horizon": result.horizon,
        "target_error": result.target_error,
        "predicting_the_mean": {"error": result.baseline.squared, "misclassified": result.baseline.wrong},
        "target_unit": result.unit,
        "verdict": result.verdict(),
        "warnings": list(result.warnings),
        "notes": list(result.notes),
        "data_symmetries": [
            {
                "move": s.move,
                "labels_share_it": s.verdict,
                "agreement": s.agreement,
                "baseline": s.baseline,
                "chance": s.chance,
                "alignment_gain": s.gain,
            }
            for s in result.data_symmetries
        ],
        "candidates": [_candidate(c, result.horizon) for c in result.candidates],
        "seconds": result.seconds,
        "cpu_seconds": result.cpu_seconds,
    }

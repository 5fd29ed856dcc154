"""A profile as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from priorscope.profiles._result import CandidateProfile, Profile
    from priorscope.profiles._row import Row

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


def _row(row: Row, result: Profile) -> dict[str, object]:
    """Put one row of the table into plain values; errors are values to be low, sizes stand beside them."""
    c = row.curve
    keep = c.grid <= 10 * result.to
    interval = {"value": row.estimate.value, "low": row.estimate.low, "high": row.estimate.high}
    return {
        "name": row.name,
        "kind": row.kind.value,
        "architecture": row.architecture,
        "words": row.words,
        "forecast_of": row.of,
        "n": result.to,
        "estimate": interval,
        "over_the_first": None if row.ratio is None else vars(row.ratio),
        "standing": row.standing.value,
        "measured": {"n": c.sizes, "error": c.measured, "low": c.measured_low, "high": c.measured_high},
        "forecast": {
            "n": c.grid[keep],
            "error": c.ahead[keep],
            "low": c.ahead_low[keep],
            "high": c.ahead_high[keep],
        },
        "samples_needed": vars(row.needed),
        "seconds_to_train": row.cost,
        "beside": {metric.value: vars(found) for metric, found in row.beside.items()},
        "reasons": list(row.reasons),
        "notes": list(row.notes),
        "seconds": row.seconds,
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
        "to": result.to,
        "draws": result.draws,
        "metric": result.metric.value,
        "without_looking": {
            "value": result.baseline.value,
            "words": result.baseline.words,
            "squared": result.baseline.squared,
            "misclassified": result.baseline.wrong,
        },
        "rows": [_row(row, result) for row in result.rows],
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
        "sections": {name: found.plain() for name, found in result.findings.items()},
        "seconds": result.seconds,
        "cpu_seconds": result.cpu_seconds,
    }

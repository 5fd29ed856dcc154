"""A profile as plain values: everything that was measured, by rung and fold, and what was said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from priorscope.profiles._architecture import ArchitectureProfile
    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row
    from priorscope.statistics import Interval

__all__ = ["as_csv", "as_dict"]

_TOP = 200  # eigenvalues
_ENDS = {"error": "value", "low": "low", "high": "high"}


def _interval(found: Interval | None) -> dict[str, float] | None:
    return None if found is None else {"value": found.value, "low": found.low, "high": found.high}


def _folds(result: Profile, row: Row) -> list[dict[str, object]]:
    """Every trial of a row: rows fitted to, fold, error, test rows, processor seconds."""
    record, ladder = result.race.records[row.name], result.race.ladder
    return [
        {
            "n": trial.rows,
            "rung": ladder.sizes[rung],
            "fold": fold,
            "error": trial.measured.value,
            "test_rows": len(trial.measured.influence),
            "fit_seconds": trial.fit_seconds,
            "seconds": trial.seconds,
            "notes": list(trial.notes),
        }
        for rung in record.rungs
        for fold, trial in sorted(record.trials[rung].items())
    ]


def _row(row: Row, result: Profile) -> dict[str, object]:
    """Put one row of the table into plain values; errors are values to be low, sizes stand beside them."""
    c = row.curve
    sizes = np.unique(np.geomspace(c.sizes[0], 10 * max(result.to, result.n_train), 40).round())
    ahead = [result.at(int(n), row.name) for n in sizes]
    floor = c.ahead.floor
    return {
        "name": row.name,
        "kind": row.kind.value,
        "offered": row.offered,
        "architecture": row.architecture,
        "words": row.words,
        "estimator": str(row.estimator),
        "n": result.to,
        "estimate": _interval(row.estimate),
        "over_the_first": _interval(row.ratio),
        "standing": row.said,
        "learns": row.learns,
        "near_the_best": row.near,
        "measured": {"n": c.sizes, "error": c.measured, "low": c.low, "high": c.high},
        "trials": _folds(result, row),
        "forecast": {
            "n": sizes,
            "error": [a.value for a in ahead],
            "low": [a.low for a in ahead],
            "high": [a.high for a in ahead],
        },
        "floor": _interval(floor),
        "seconds_to_fit": row.cost,
        "seconds": row.seconds,
        "ended": row.ended,
        "reasons": list(row.reasons),
    }


def _candidate(c: ArchitectureProfile) -> dict[str, object]:
    """Put all that was measured of one architecture into plain values."""
    blind, regime, found = c.blind, c.regime, c.spectrum
    return {
        "name": c.name,
        "family": c.candidate.family,
        "spectrum": {
            "eigenvalues": found.eigenvalues[:_TOP],
            "cumulative_power": None if found.cumulative_power is None else found.cumulative_power[:_TOP],
            "effective_rank": found.effective_rank.value,
            "alignment": found.alignment,
        },
        "symmetries": c.symmetries,
        "blind_spots": None
        if blind is None
        else {
            "blind_directions": blind.n_blind,
            "hidden_variance": blind.hidden_variance,
            "hidden_signal": blind.hidden_signal,
            "sentence": blind.sentence,
        },
        "regime": None
        if regime is None
        else {"width": regime.width, "spread": regime.spread, "change": regime.change, "words": regime.words},
        "seconds": c.seconds,
    }


def as_dict(result: Profile) -> dict[str, object]:
    """All numbers of a profile in plain lists and dictionaries."""
    race, setting, learning = result.race, result.setting, result.answer.learning
    return {
        "data": result.data,
        "task": result.task,
        "about": result.about,
        "n_train": result.n_train,
        "to": result.to,
        "metric": result.metric.value,
        "metric_chosen": setting.why,
        "target_error": setting.target_error,
        "level": setting.level,
        "seed": setting.seed,
        "without_looking": {"value": result.baseline.value, "words": result.baseline.words},
        "learns": result.learns,
        "gain_that_would_have_shown": {"value": learning.gain, "test_rows": learning.rows},
        "ladder": {"sizes": list(race.ladder.sizes), "folds": race.ladder.folds},
        "ended": race.ended,
        "not_started": {name: {"seconds": seconds} for name, seconds in race.refused.items()},
        "raised_for_having_been_chosen": result.answer.luck,
        "rows": [_row(row, result) for row in result.rows],
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
        "candidates": [_candidate(c) for c in result.candidates],
        "sections": {name: found.plain() for name, found in result.findings.items()},
        "seconds": result.seconds,
        "cpu_seconds": result.cpu_seconds,
    }


def _safe(text: str) -> str:
    """A name that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def as_csv(result: Profile) -> str:
    """Every trial of everybody, one line each: who, rows fitted to, fold, error (to be low), test rows, seconds."""
    lines = [
        {"predictor": _safe(row.name), "kind": row.kind.value, **{k: v for k, v in trial.items() if k != "notes"}}
        for row in result.rows
        for trial in _folds(result, row)
    ]
    written: str = pd.DataFrame(lines).to_csv(index=False, float_format="%.6g")
    return written

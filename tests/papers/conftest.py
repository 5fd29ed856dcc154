"""What tiny runs of papers gave when they were last looked at, so that a change in how a paper measures is seen.

``tiny_runs.json`` has one number per metric and point, as far as it does not hang on the processor: training follows rounding,
so numbers that came out otherwise with other instructions (``ATEN_CPU_CAPABILITY=default MKL_ENABLE_INSTRUCTIONS=SSE4_2
OPENBLAS_CORETYPE=Nehalem``) by more than 2e-4 are left out of it, and are not compared. After a change that is meant (a new
version of a paper, say), write it anew with ``PRIORSCOPE_RECORD=1 pytest tests/papers -n 0``, both ways, and read the
difference: only what was meant may have moved.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from priorscope.lab import Paper, Point, judge_claim

FILE = Path(__file__).parent / "tiny_runs.json"
GOLDEN = (5**0.5 - 1) / 2
Rows = pd.DataFrame | Iterable[Mapping[str, object]]


def summed(value: object) -> float | str:
    """One number for a metric: a mean with uneven weights, so that another order gives another number; words as they are."""
    array = np.asarray(value)
    if array.dtype.kind not in "buif":
        return str(value) if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True)
    flat = array.astype(float).ravel()
    weights = 1 + (np.arange(len(flat)) * GOLDEN) % 1
    whole = np.isfinite(flat)
    found = float(weights[whole] @ flat[whole] / weights.sum()) if len(flat) else 0.0
    return float(f"{found + 7 * float((~whole).mean() if len(flat) else 0):.5g}")


def numbers(paper: Paper, rows: Rows) -> dict[str, dict[str, float | str]]:
    """The number of every metric, by point."""
    listed: list[Mapping[str, object]] = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else list(rows)
    points = paper.points("tiny")

    def point_of(row: Mapping[str, object]) -> Point:
        return next(p for p in points if all(k in row and row[k] == v for k, v in p.items()))

    found = {}
    for row in listed:
        point = point_of(row)
        kept = {k: v for k, v in sorted(row.items()) if k not in point and "second" not in k}
        words = " ".join(f"{k}={v}" for k, v in sorted(point.items()))
        found[words] = {k: summed(v) for k, v in kept.items() if v is not None}
    return found


def measured(paper: Paper, rows: Rows) -> dict[str, float | str]:
    """Value and ends of every check of every claim on these rows; most say nothing of so few runs, but always the same."""
    found: dict[str, float | str] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for claim in paper.claims:
            try:
                checks = judge_claim(claim, pd.DataFrame(rows)).checks
            except Exception as error:  # a measure may want more than tiny runs have
                found[claim.id] = type(error).__name__
                continue
            for check in checks:
                values = {name: getattr(check, name) for name in ("measured", "low", "high")}
                found |= {f"{claim.id} {check.name} {k}": summed(v) for k, v in values.items() if v is not None}
    return found


def differences(new: Mapping[str, float | str], old: Mapping[str, float | str]) -> list[str]:
    """The recorded metrics of a point that came out otherwise; rounding of other processors is let through."""
    return [
        f"{name}: {new.get(name)} (was {old.get(name)})"
        for name in sorted(old)
        if new.get(name) != (pytest.approx(was, rel=1e-3, abs=1e-6) if isinstance(was := old.get(name), float) else was)
    ]


@pytest.fixture(scope="session")
def as_recorded() -> Callable[..., None]:
    """Compares rows of tiny runs with the recorded ones, metric by metric; of a made-up table what the claims measure."""
    recorded = json.loads(FILE.read_text()) if FILE.exists() else {}

    def compare(paper: Paper, rows: Rows, *, made_up: bool = False) -> None:
        rows = rows if isinstance(rows, pd.DataFrame) else list(rows)
        new = {} if made_up else numbers(paper, rows)
        new["claims of a made-up table" if made_up else "claims"] = measured(paper, rows)
        assert made_up or len(new) > 1
        if os.environ.get("PRIORSCOPE_RECORD"):
            recorded[paper.name] = {**recorded.get(paper.name, {}), **new}
            FILE.write_text(json.dumps(recorded, indent=0, sort_keys=True) + "\n")
            return
        for point, metrics in new.items():
            moved = differences(metrics, recorded[paper.name].get(point, {}))
            assert not moved, f"{paper.name} at {point}: {moved}"

    return compare

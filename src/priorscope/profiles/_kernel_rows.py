"""Kernel machines as rows of the profile's table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priorscope.profiles._kind import Kind
from priorscope.profiles._row import ErrorCurve, KernelRecipe, Row
from priorscope.profiles._standing import Standing
from priorscope.statistics import Interval

if TYPE_CHECKING:
    from priorscope.profiles._result import CandidateProfile

__all__ = ["kernel_rows"]

Array = NDArray[np.float64]


def _curve(c: CandidateProfile, classes: bool, unit: float | None) -> ErrorCurve:
    """The curve of a candidate's kernel in the metric of the task."""
    ahead, curve = c.forecast, c.forecast.curve
    scale = unit or 1.0
    change: Callable[[Array], Array] = (lambda v: v) if classes else (lambda v: scale * np.sqrt(v))
    if classes:
        assert curve.wrong is not None and curve.wrong_low is not None and curve.wrong_high is not None  # noqa: PT018
        assert ahead.wrong is not None and ahead.wrong_low is not None and ahead.wrong_high is not None  # noqa: PT018
        now, later = (curve.wrong, curve.wrong_low, curve.wrong_high), (ahead.wrong, ahead.wrong_low, ahead.wrong_high)
    else:
        now = (curve.error, curve.low, curve.high)
        later = (ahead.combined, ahead.combined_low, ahead.combined_high)
    middle, low, high = (change(v) for v in now)
    return ErrorCurve(curve.sizes, middle, low, high, ahead.grid, *(change(v) for v in later))


def kernel_rows(
    ranked: Sequence[CandidateProfile], to: int, goal: float, task: str, unit: float | None
) -> tuple[Row, ...]:
    """One row per candidate, by its kernel machine, the lowest estimate first."""
    classes, found = task == "classification", []
    for c in ranked:
        curve = _curve(c, classes, unit)
        found.append(
            Row(
                c.name,
                Kind.KERNEL,
                c.candidate.words,
                "kernel regression with its infinite-width kernel, ridge tuned",
                curve,
                curve.at(to),
                curve.needed(float(curve.measured[-1]) / 2),
                None,
                KernelRecipe(c.candidate, "ntk", float(c.forecast.curve.ridge[-1])),
                architecture=c.name,
                reasons=c.reasons,
                seconds=c.seconds,
            )
        )
    found.sort(key=lambda row: row.estimate.value)
    first = found[0].estimate
    rows = []
    for place, row in enumerate(found):
        e = row.estimate
        ratio = Interval(e.value / first.value, e.low / first.high, e.high / first.low) if place else None
        standing = Standing.FIRST if ratio is None else Standing.LEVEL if ratio.low <= 1 else Standing.WORSE
        rows.append(Row(**{**vars(row), "ratio": ratio, "standing": standing}))
    return tuple(rows)

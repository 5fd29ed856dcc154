"""Better, level, worse, or cannot tell: one rule for draws of two errors and a margin."""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from priorscope.checks import FRACTION, NOT_NEGATIVE, checked

__all__ = ["Judgement", "judge_draws", "margin_of"]

Array = NDArray[np.float64]
SHARE, POINTS = 0.1, 0.0025  # a tenth of the best error; a quarter of a point where errors are shares


class Judgement(Enum):
    """What can be said of an error beside another one.

    Example:
        >>> Judgement.UNSURE.value
        'cannot tell'
    """

    BETTER = "better"
    LEVEL = "level"
    WORSE = "worse"
    UNSURE = "cannot tell"


@checked(best=NOT_NEGATIVE)
def margin_of(best: float, percent: bool) -> float:
    """The difference that counts beside the best error: a tenth of it, or a quarter of a point of a share, whichever is larger.

    Example:
        >>> margin_of(0.2, True), margin_of(0.001, True), margin_of(0.001, False)
        (0.020000000000000004, 0.0025, 0.0001)
    """
    return max(SHARE * best, POINTS if percent else 0.0)


@checked(level=FRACTION, margin=NOT_NEGATIVE)
def judge_draws(difference: Array, margin: float, level: float = 0.9) -> Judgement:
    """Judge draws of an error minus another one: level within the margin, worse or better beyond it, each with ``level``.

    Example:
        >>> draws = np.linspace(0.5, 1.5, 101)
        >>> judge_draws(draws, 0.2).value, judge_draws(draws, 2.0).value, judge_draws(draws, 1.0).value
        ('worse', 'level', 'cannot tell')
    """
    inside = float((np.abs(difference) <= margin).mean())
    if inside >= level:
        return Judgement.LEVEL
    if float((difference > margin).mean()) >= level:
        return Judgement.WORSE
    if float((difference < -margin).mean()) >= level:
        return Judgement.BETTER
    return Judgement.UNSURE

"""Where a candidate stands among the others, as a state; the words of the page are made from it."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Standing"]


class Standing(StrEnum):
    """The verdict on a candidate; its value is the word in tables.

    Example:
        >>> Standing.WORSE.value, Standing.LEARNS_NOTHING.learns
        ('worse', False)
    """

    OPEN = ""  # not judged yet
    ONLY = "only candidate"
    BEST = "best fit"
    LOWEST = "lowest forecast"
    TRIED = "best in trial"  # of candidates whose forecasts are close, by networks trained on the pilot
    TIED = "not told apart"
    FIRST = "first"  # of rows: the lowest estimate, others level with it
    LEVEL = "level"  # of rows: not told apart from the first
    LITTLE_WORSE = "a little worse"
    WORSE = "worse"
    MAY_LEARN_NOTHING = "may learn nothing"
    LEARNS_NOTHING = "learns nothing"

    @property
    def learns(self) -> bool:
        """Whether the forecast lies below the error of a predictor that does not look at its input."""
        return self not in (Standing.MAY_LEARN_NOTHING, Standing.LEARNS_NOTHING)

    @property
    def clearly_behind(self) -> bool:
        """Whether the pick is told apart from it by more than a little."""
        return self in (Standing.WORSE, Standing.LEARNS_NOTHING)

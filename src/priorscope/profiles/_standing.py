"""Where a predictor stands among the others, as a state; the words of the page are made from it."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Standing"]


class Standing(StrEnum):
    """The verdict on a predictor; its value is the word in tables.

    Example:
        >>> Standing.WORSE.value, Standing.LEARNS_NOTHING.learns
        ('worse', False)
    """

    OPEN = ""  # not judged yet
    ONLY = "only one"
    BEST = "best"  # clear of every other
    FIRST = "first"  # the lowest estimate, others level with it or not told
    LEVEL = "level"  # close to the first and not told apart from it
    UNSURE = "cannot tell"  # its estimate is clearly higher, its interval too wide to say so
    LITTLE_WORSE = "a little worse"
    WORSE = "worse"
    MAY_LEARN_NOTHING = "may learn nothing"
    LEARNS_NOTHING = "learns nothing"

    @property
    def learns(self) -> bool:
        """Whether the estimate lies below the error of a predictor that does not look at its input."""
        return self not in (Standing.MAY_LEARN_NOTHING, Standing.LEARNS_NOTHING)

    @property
    def clearly_behind(self) -> bool:
        """Whether the first is told apart from it by more than a little."""
        return self in (Standing.WORSE, Standing.LEARNS_NOTHING)

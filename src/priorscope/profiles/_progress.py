"""How far a profile has come, and how long it will still take."""

from __future__ import annotations

import time as clock
from collections.abc import Callable

__all__ = ["Progress", "Step"]


class Step(str):
    """A line of progress: its text, and as numbers the share of the work done and the seconds left (None at the start).

    Example:
        >>> step = Step.of("kernel of fcn-1", 0.25, 30.0)
        >>> str(step), step.done
        ('kernel of fcn-1 (25 %, about 30 s left)', 0.25)
    """

    done: float
    left: float | None

    @classmethod
    def of(cls, words: str, done: float, left: float | None) -> Step:
        """A step from its words and numbers."""
        more = "" if left is None else f", about {max(left, 1):.0f} s left"
        step = cls(f"{words} ({100 * done:.0f} %{more})")
        step.done, step.left = done, left
        return step


class Progress:
    """Counts work in operations that are known beforehand, so that the time left can be told.

    Example:
        >>> lines = []
        >>> progress = Progress(lines.append)
        >>> progress.expect(3.0); progress.say("one", 1.0); progress.say("two", 2.0)
        >>> [line.split(" (")[0] for line in lines], round(lines[1].done, 2)
        (['one', 'two'], 0.33)
    """

    def __init__(self, callback: Callable[[Step], None] | None) -> None:
        self.callback = callback
        self.total, self.done, self.running = 0.0, 0.0, 0.0
        self.began = clock.perf_counter()

    def expect(self, work: float) -> None:
        """More work will come."""
        self.total += work

    def say(self, words: str, work: float) -> None:
        """A piece of work begins; the one before is done."""
        self.done += self.running
        self.running = work
        share = min(self.done / self.total, 1.0) if self.total else 0.0
        spent = clock.perf_counter() - self.began
        left = spent * (1 - share) / share if share > 0.02 else None
        if self.callback is not None:
            self.callback(Step.of(words, share, left))

    def finish(self) -> None:
        """All is done."""
        if self.callback is not None:
            self.callback(Step.of("done", 1.0, None))

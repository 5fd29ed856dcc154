"""What is going on while a profile is made: what is being measured, how much is done, how long it may take."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

__all__ = ["Progress", "Step"]


class Step(str):
    """What is being done, in words, with the share ``done`` (0 to 1) and the processor seconds ``left`` of the budget.

    Example:
        >>> step = Step("fcn-1 on 64 rows", 0.25, 30.0)
        >>> print(step, step.done)
        fcn-1 on 64 rows 0.25
    """

    done: float
    left: float

    def __new__(cls, words: str, done: float, left: float) -> Step:
        made = super().__new__(cls, words)
        made.done, made.left = done, left
        return made


class Progress:
    """Tells a function of the user's, draws a bar on a terminal, or does nothing; its faults never end a profile.

    Example:
        >>> said = []
        >>> Progress(said.append).tell("one", 0.5, 10.0)
        >>> said
        ['one']
    """

    def __init__(self, show: Callable[[Step], None] | bool | None) -> None:
        self._bar = _Bar() if show is True else None
        self._show = self._bar if self._bar is not None else show if callable(show) else None

    def tell(self, words: str, done: float, left: float) -> None:
        """Say what is being done."""
        if self._show is not None:
            with contextlib.suppress(Exception):
                self._show(Step(words, done, left))

    def finish(self) -> None:
        """Take the bar away."""
        self.tell("done", 1.0, 0.0)
        if self._bar is not None:
            self._bar.stop()


class _Bar:
    """A bar on the terminal; in a notebook one line that is written over."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True, force_jupyter=False)
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("profiling", total=1.0)
        self._bar.start()

    def __call__(self, step: Step) -> None:
        self._bar.update(self._task, completed=step.done, description=f"{step} ({step.left:.0f} s left at most)")

    def stop(self) -> None:
        self._bar.stop()

"""The progress of a sweep: done, failed, rate and time left; silent when nobody watches."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Protocol


class Watcher(Protocol):
    """What a sweep tells of itself: called after each point with the counts so far.

    Example:
        >>> def watcher(done: int, failed: int) -> None:
        ...     print(done, failed)
        >>> watcher(3, 0)
        3 0
    """

    def __call__(self, done: int, failed: int) -> None: ...


def _silent(done: int, failed: int) -> None:
    pass


@contextlib.contextmanager
def watch(title: str, total: int, show: bool | None = None) -> Iterator[Watcher]:
    """A bar on the terminal while the block runs; nothing when standard error is not a terminal (unless ``show``).

    Example:
        >>> with watch("squares", 10, show=False) as tell:
        ...     tell(1, 0)
    """
    if not (sys.stderr.isatty() if show is None else show) or total == 0:
        yield _silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("[red]{task.fields[failures]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total, rate="", failures="")

        def tell(done: int, failed: int) -> None:
            speed = progress.tasks[0].speed
            progress.update(
                task,
                completed=done + failed,
                rate=f"{speed:.3g}/s" if speed else "",
                failures=f"{failed} failed" if failed else "",
            )

        yield tell

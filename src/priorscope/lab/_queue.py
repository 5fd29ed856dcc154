"""A queue over the papers whose runs are not complete: the most claims per CPU second first, point after point."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from priorscope.checks import NOT_NEGATIVE, checked, optional
from priorscope.lab._evidence import read_evidence
from priorscope.lab._paper import Paper
from priorscope.lab._store import Store
from priorscope.lab._sweep import sweep

_SLICE = 60.0  # CPU seconds between two looks at the order: the estimates of a paper sharpen as it runs


@dataclass(frozen=True)
class Waiting:
    """A paper in the queue: its claims that are not run, its points that are missing, and what they will take.

    ``seconds`` is None until a first point was timed, by the store or by the recorded runs of another version.

    Example:
        >>> line = Waiting("circles", "small", claims=2, missing=30, of=40, seconds=120.0)
        >>> line.claims_per_minute
        1.0
    """

    paper: str
    scale: str
    claims: int
    missing: int
    of: int
    seconds: float | None

    @property
    def claims_per_minute(self) -> float:
        """Claims decided per CPU minute; infinite where the cost is not known, so that a first point is timed soon."""
        return float("inf") if self.seconds is None else 60 * self.claims / max(self.seconds, 1e-9)


def waiting(
    papers: Sequence[Paper], store: Store, folder: str | os.PathLike[str], scale: str = "small"
) -> list[Waiting]:
    """The papers whose runs at a scale are complete neither in the store nor in ``folder``, best first.

    The best are those that decide most claims per CPU second of the points that are missing.

    Example:
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda scale: [{"x": 3, "seed": 0}], lambda point: {})
        >>> [(line.paper, line.missing) for line in waiting([paper], Store(":memory:"), "no-such-folder")]
        [('squares', 1)]
    """
    lines = []
    for paper in papers:
        if scale not in paper.scales:
            continue
        points = paper.points(scale)
        keys = [paper.key(point) for point in points]
        kept = read_evidence(paper.name, folder)
        if kept is not None and (kept.version == paper.version) and kept.keys == keys:
            continue
        there = store.keys(paper.name, paper.version)
        missing = sum(key not in there for key in keys)
        if not missing:
            continue
        each = _seconds_each(paper, store)
        if each is None and kept is not None and kept.keys:
            each = kept.seconds / len(kept.keys)
        seconds = None if each is None else each * missing
        lines.append(Waiting(paper.name, scale, len(paper.claims), missing, len(points), seconds))
    return sorted(lines, key=lambda line: -line.claims_per_minute)


@checked(seconds=optional(NOT_NEGATIVE))
def work_off(
    papers: Sequence[Paper],
    store: Store,
    folder: str | os.PathLike[str],
    *,
    scale: str = "small",
    seconds: float | None = None,
    told: Callable[[Waiting], None] | None = None,
) -> list[Waiting]:
    """Run what is waiting, best first, in this process, until nothing waits or ``seconds`` are over; gives what is left.

    One queue per store: a second one is refused. After a kill the same call goes on where it stopped, since every point is
    stored as it ends. A paper with a point that fails is left aside (``store.failures()`` says why). ``told`` is called with
    each paper's line before a slice of its points.

    Example:
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda s: [{"x": x, "seed": 0} for x in (1, 2)], lambda p: {"y": 1})
        >>> store = Store(":memory:")
        >>> work_off([paper], store, "no-such-folder"), len(store.keys("squares", 1))
        ([], 2)
    """
    by_name: Mapping[str, Paper] = {paper.name: paper for paper in papers}
    broken: set[str] = set()
    end = None if seconds is None else time.monotonic() + seconds
    with _alone(store):
        while True:
            line = next((each for each in waiting(papers, store, folder, scale) if each.paper not in broken), None)
            if line is None or (end is not None and time.monotonic() >= end):
                return waiting(papers, store, folder, scale)
            if told is not None:
                told(line)
            if not _slice(by_name[line.paper], scale, store, end):
                broken.add(line.paper)


def _slice(paper: Paper, scale: str, store: Store, end: float | None) -> bool:
    """Run missing points of a paper one by one for a minute, at least one; whether none failed."""
    there, stop = store.keys(paper.name, paper.version), time.monotonic() + _SLICE
    stop = stop if end is None else min(stop, end)
    points = [point for point in paper.points(scale) if paper.key(point) not in there]
    np.random.default_rng(0).shuffle(
        points
    )  # grids go from small to large; the mean of a random part is that of the whole
    for point in points:
        if not sweep(paper, [point], store, scale=scale, jobs=1, progress=False).complete:
            return False
        if time.monotonic() >= stop:
            break
    return True


def _seconds_each(paper: Paper, store: Store) -> float | None:
    """The mean seconds of the paper's stored points, None without any."""
    spent = store.seconds(paper.name, paper.version)
    return float(np.mean(spent)) if spent else None


@contextmanager
def _alone(store: Store) -> Iterator[None]:
    """Hold the queue of a store; a store in memory has none to share."""
    if str(store.path) == ":memory:":
        yield
        return
    with Path(f"{store.path}.queue").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(
                f"a queue is already working on {store.path}. Stop it first, or name another --store."
            ) from None
        yield

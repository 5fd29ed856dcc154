"""How far the sweep of each paper is, from the store alone."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from priorscope.lab import Paper, Store

__all__ = ["known_paper", "progress"]

_FRESH = 900.0  # seconds since its last result for which an unfinished sweep counts as running


class Progress(TypedDict):
    """The state of one paper's sweep, as the page is told it; the last four only while one runs."""

    paper: str
    runs: int
    running: bool
    failed: int
    text: str
    scale: NotRequired[str]
    done: NotRequired[int]
    wanted: NotRequired[int]
    ago: NotRequired[str]


def known_paper(name: str) -> Paper | None:
    """The paper of that name, or None."""
    from priorscope.papers import REGISTRY, load

    return load(name) if name in REGISTRY else None


@lru_cache(maxsize=256)
def _wanted(name: str, scale: str) -> frozenset[str]:
    from priorscope.papers import load

    paper = load(name)
    return frozenset(paper.key(point) for point in paper.points(scale))


def _ago(seconds: float) -> str:
    """A time since, in words.

    Example:
        >>> _ago(12.3), _ago(200), _ago(7300)
        ('12 s ago', '3 min ago', '2 h ago')
    """
    if seconds < 100:
        return f"{max(seconds, 0):.0f} s ago"
    return f"{seconds / 60:.0f} min ago" if seconds < 6000 else f"{seconds / 3600:.0f} h ago"


def progress(runs: Store) -> list[Progress]:
    """For each paper: stored runs, failures, the share of each scale that is there, and whether its sweep is running."""
    from priorscope.papers import REGISTRY, load

    stored = runs.papers()
    rows: list[Progress] = []
    for name in sorted({*stored, *REGISTRY}):
        count = len(runs.keys(name, stored[name])) if name in stored else 0
        parts: list[str] = []
        row: Progress = {"paper": name, "runs": count, "running": False, "failed": 0, "text": ""}
        if count and name in REGISTRY:
            version = load(name).version
            there = runs.keys(name, version)
            if not there:
                parts.append(f"of version {stored[name]}; now {version}")
            swept = runs.swept(name, version)
            for scale in load(name).scales:
                wanted = _wanted(name, scale)
                done = len(wanted & there)
                if done:
                    parts.append(f"{scale} {done}/{len(wanted)}")
                # Points that another scale ran do not mean that the sweep of this one was ever started.
                since = time.time() - swept[scale] if scale in swept else float("inf")
                if 0 < done < len(wanted) and since < _FRESH and not row["running"]:
                    row |= {"running": True, "scale": scale, "done": done, "wanted": len(wanted), "ago": _ago(since)}
        failed = len(runs.failures(name)) if count else 0
        text = f"{count} runs" + (f" ({', '.join(parts)})" if parts else "") + (f", {failed} failed" if failed else "")
        rows.append({**row, "failed": failed, "text": text})
    return rows

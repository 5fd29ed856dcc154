"""What a kernel machine chose, how close its rivals came, and what was done to the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

__all__ = ["MachineReport", "Rival"]


@dataclass(frozen=True)
class Rival:
    """One kernel with its best ridge: ``score`` is its left-out loss by ``metric``, on ``rows`` training samples.

    ``behind`` is how far it is behind the chosen one on the same samples, ``error`` the standard error of that difference.

    Example:
        >>> Rival("fcn-1", "ntk", 0.1, "error", 0.05, 300).behind
        0.0
    """

    name: str
    kind: str
    ridge: float
    metric: str
    score: float
    rows: int
    behind: float = 0.0
    error: float = 0.0

    @property
    def level(self) -> bool:
        """Whether the difference to the chosen one is within two standard errors."""
        return self.behind <= 2 * self.error


@dataclass(frozen=True)
class MachineReport:
    """The choice of a kernel machine: ``chosen``, its ``rivals`` (best first, itself among them) and ``notes``.

    Example:
        >>> first = Rival("fcn-1", "ntk", 0.1, "error", 0.05, 300)
        >>> second = Rival("fcn-3", "ntk", 0.2, "error", 0.06, 300, 0.01, 0.02)
        >>> print(MachineReport("classification", first, (first, second)))
        fcn-1 (ntk, ridge 0.1): 5.0 % wrong when left out, 300 samples. 1 of 1 other kernels level with it.
    """

    task: str
    chosen: Rival
    rivals: tuple[Rival, ...]
    notes: tuple[str, ...] = field(default=())

    def table(self) -> pd.DataFrame:
        """One row per kernel compared, best first.

        Example:
            >>> one = Rival("fcn-1", "ntk", 0.1, "error", 0.05, 300)
            >>> list(MachineReport("classification", one, (one,)).table().columns)[:4]
            ['name', 'kind', 'ridge', 'score']
        """
        rows = [
            {"name": r.name, "kind": r.kind, "ridge": r.ridge, "score": r.score, "behind": r.behind, "error": r.error,
             "level": r.level, "metric": r.metric, "rows": r.rows, "chosen": r == self.chosen}
            for r in self.rivals
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def __str__(self) -> str:
        best = self.chosen
        shown = in_words(best.score, best.metric)
        others = [r for r in self.rivals if r != best]
        level = sum(r.level for r in others)
        text = f"{best.name} ({best.kind}, ridge {best.ridge:.3g}): {shown} when left out, {best.rows} samples."
        if others:
            text += f" {level} of {len(others)} other kernels level with it."
        return "\n".join([text, *(f"- {note}" for note in self.notes)])


def in_words(score: float, metric: str) -> str:
    """A loss as one reads it."""
    if metric == "error":
        return f"{100 * score:.1f} % wrong"
    if metric == "balanced":
        return f"{100 * score:.1f} % wrong, classes counted alike"
    return f"{metric} {score:.4g}"


def ranked(rivals: Sequence[Rival]) -> tuple[Rival, ...]:
    """Best first."""
    return tuple(sorted(rivals, key=lambda r: (r.behind, r.score)))

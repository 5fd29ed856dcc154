"""What a kernel machine chose, how close its rivals came, and what was done to the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import pandas as pd

__all__ = ["MachineReport", "Rival"]


@dataclass(frozen=True)
class Rival:
    """One kernel with its best ridge: ``score`` is its left-out loss by ``metric``, on ``rows`` training samples.

    ``behind`` is how far it is behind the chosen one on the same samples, ``error`` the standard error of that difference.
    ``wrong`` is the share of left-out samples that it misclassifies, None for numbers.

    Example:
        >>> Rival("fcn-1", "ntk", 0.1, "squared", 0.05, 300, wrong=0.04).level
        True
    """

    name: str
    kind: str
    ridge: float
    metric: str
    score: float
    rows: int
    inputs: str = "standard"
    behind: float = 0.0
    error: float = 0.0
    squared: float = 0.0
    wrong: float | None = None

    @property
    def level(self) -> bool:
        """Whether the difference to the chosen one is within two standard errors."""
        return self.behind <= 2 * self.error

    @property
    def key(self) -> tuple[str, str, str]:
        """Which kernel on which inputs it is."""
        return self.name, self.kind, self.inputs

    def __str__(self) -> str:
        inputs = "" if self.inputs == "standard" else f" on {self.inputs}"
        return f"{self.name} ({self.kind}, ridge {self.ridge:.3g}){inputs}"


@dataclass(frozen=True)
class MachineReport:
    """The choice of a kernel machine: ``chosen``, its ``rivals`` (best first, itself among them) and ``notes``.

    Example:
        >>> first = Rival("fcn-1", "ntk", 0.1, "squared", 0.04, 300, wrong=0.05)
        >>> second = Rival("fcn-3", "ntk", 0.2, "squared", 0.05, 300, "standard", 0.01, 0.02)
        >>> print(MachineReport("classification", first, (first, second)))
        fcn-1 (ntk, ridge 0.1): 5.0 % wrong when left out, 300 samples.
        1 of 1 other kernels is level with it by squared error; next fcn-3 (ntk, ridge 0.2).
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
            ['name', 'kind', 'ridge', 'metric']
        """
        return pd.DataFrame([{**asdict(r), "level": r.level, "chosen": r.key == self.chosen.key} for r in self.rivals])

    def __str__(self) -> str:
        best = self.chosen
        lines = [f"{best}: {in_words(best)} when left out, {best.rows} samples."]
        others = [r for r in self.rivals if r.key != best.key]
        if others:
            level = sum(r.level for r in others)
            verb = "is" if level == 1 else "are"
            lines.append(
                f"{level} of {len(others)} other kernels {verb} level with it by {_MEASURES[best.metric]}; next {others[0]}."
            )
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])


_MEASURES = {
    "squared": "squared error",
    "error": "misclassification",
    "balanced": "balanced error",
    "log-loss": "log-loss",
}


def in_words(best: Rival) -> str:
    """The left-out loss as one reads it: misclassification for classes, R² for numbers."""
    if best.wrong is None:
        return f"R² {1 - best.squared:.3f}"
    shown = f"{100 * best.wrong:.1f} % wrong"
    return shown if best.metric in ("squared", "error") else f"{shown}, {_MEASURES[best.metric]} {best.score:.3g}"


def ranked(rivals: Sequence[Rival]) -> tuple[Rival, ...]:
    """Best first."""
    return tuple(sorted(rivals, key=lambda r: (r.behind, r.score)))

"""What a symmetry built into the model is forecast to save: averaged architectures beside the plain ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from priorscope.judge import Metric
from priorscope.models import Invariant
from priorscope.profiles._phrases import count
from priorscope.profiles._row import Row
from priorscope.profiles._scene import Scene
from priorscope.profiles.sections._section import Finding, Section
from priorscope.statistics import Interval

if TYPE_CHECKING:
    from priorscope.profiles._page_folded import Folded
    from priorscope.profiles._page_sections import Figures

__all__ = ["BUILT_IN", "BuiltIn", "Saving"]

WORTH = 1.1  # times the samples: less is not told as a saving


@dataclass(frozen=True)
class Saving:
    """One averaged architecture beside the plain one, at the size ``to``.

    ``times`` is ``to`` over the number of samples at which the averaged one is forecast to reach the plain one's error at
    ``to``, with the range that its 90 % band gives; below one, the symmetry costs samples.

    Example:
        >>> errors = Interval(0.2, 0.2, 0.2), Interval(0.1, 0.1, 0.1)
        >>> one = Saving("gap-1", "gap-1/p4", "quarter turns", 400, Interval(2.0, 1.5, 3.0), *errors)
        >>> one.sentence(Metric.MISCLASSIFICATION)[:78]
        'Building quarter turns into gap-1 is forecast to save 2 times the samples (1.5'
    """

    plain: str
    averaged: str
    moves: str
    to: int
    times: Interval
    before: Interval
    after: Interval
    least: bool = False  # the crossing lies below the smallest size measured, so it may save more

    def sentence(self, metric: Metric) -> str:
        """What it says, in one sentence."""
        errors = (
            f"{metric.text(self.after.value)} instead of {metric.number(self.before.value)} at {count(self.to)} samples"
        )
        if self.times.value < WORTH or self.times.high <= 1:
            return f"Building {self.moves} into {self.plain} is not forecast to save samples: {errors}."
        if self.times.low <= 1:
            saved = f"{self.times.value:.2g} times the samples, though its 90 % band admits none"
            return f"Building {self.moves} into {self.plain} may save {saved}: {errors}."
        saved = f"{self.times.value:.2g} times the samples ({self._range})"
        return f"Building {self.moves} into {self.plain} is forecast to save {saved}: {errors}."

    @property
    def _range(self) -> str:
        """The ends of the band; where a curve begins below the error asked for, only the lower one is known."""
        return f"at least {self.times.low:.2g}" if self.least else f"{self.times.low:.2g} to {self.times.high:.2g}"


@dataclass(frozen=True)
class BuiltIn(Finding):
    """The savings of all averaged architectures, largest first."""

    metric: Metric
    savings: tuple[Saving, ...]

    def sentences(self) -> list[str]:
        """One sentence per averaged architecture."""
        return [saving.sentence(self.metric) for saving in self.savings]

    def spoken(self) -> list[str]:
        """The largest saving, where there is one whose band lies above one."""
        told = [s for s in self.savings if s.times.low > 1 and s.times.value >= WORTH]
        return [told[0].sentence(self.metric)] if told else []

    def plain(self) -> dict[str, object]:
        """Names, times with their range, errors and sentences."""
        rows = [
            {
                "plain": s.plain,
                "averaged": s.averaged,
                "moves": s.moves,
                "to": s.to,
                "times": s.times.value,
                "low": s.times.low,
                "high": s.times.high,
                "error_plain": s.before.value,
                "error_averaged": s.after.value,
            }
            for s in self.savings
        ]
        return {"savings": rows, "sentences": self.sentences()}

    def page(self, figure: Figures) -> Folded:
        """A table of the savings."""
        from priorscope.profiles._page_folded import Folded, Table
        from priorscope.profiles._page_sections import row_of

        rows = [
            row_of(
                [
                    s.averaged,
                    s.moves,
                    self.metric.number(s.before.value),
                    self.metric.number(s.after.value),
                    f"{s.times.value:.2g} ({s._range})",
                ]
            )
            for s in self.savings
        ]
        caption = (
            f"Error forecast at {count(self.savings[0].to)} samples without and with the symmetry, and how many times fewer "
            "samples the averaged architecture needs for the error without; in brackets the range of its 90 % band"
        )
        table = Table(caption, ["averaged", "over", "without", "with", "times fewer samples"], rows)
        return Folded("built-in", "Symmetries built in", self.sentences(), (), [table])


def _saving(plain: Row, averaged: Row, moves: str, to: int) -> Saving:
    """Where the averaged curve and its band cross the plain one's error at ``to``."""
    before, after = plain.curve.at(to), averaged.curve.at(to)
    needed = averaged.curve.ahead.needed(max(before.value, 1e-12))
    times = Interval(to / needed.value, to / needed.high, to / needed.low)  # more samples needed, less saved
    return Saving(plain.name, averaged.name, moves, to, times, before, after, needed.value <= averaged.curve.sizes[0])


def _measure(scene: Scene) -> BuiltIn | None:
    """Every kernel machine of an averaged architecture beside the one without; None where there is none."""
    rows = {row.name: row for row in scene.rows}
    savings = []
    for row in scene.rows:
        candidate = scene.records[row.name].contender.candidate
        base = row.name.rpartition("/")[0]
        if candidate is not None and isinstance(candidate.model, Invariant) and base in rows:
            savings.append(_saving(rows[base], row, candidate.model.words, scene.to))
    if not savings:
        return None
    return BuiltIn(scene.metric, tuple(sorted(savings, key=lambda s: -s.times.value)))


BUILT_IN = Section("built_in", _measure, work=0.1, fits=lambda scene: any("/" in row.name for row in scene.rows))

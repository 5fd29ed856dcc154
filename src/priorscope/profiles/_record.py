"""What has been measured of one contender so far: by rung and fold, pooled where errors are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from priorscope.judge import Outputs
from priorscope.profiles._contender import Contender
from priorscope.profiles._ladder import Ladder
from priorscope.profiles._trial import Trial

__all__ = ["Record", "grown"]

Array = NDArray[np.float64]
_KEPT = 2_000_000  # numbers of test outputs that are kept for averages, of one contender


@dataclass
class Record:
    """The trials of a contender; ``out`` says why it takes no further part, where it does not."""

    contender: Contender
    trials: dict[int, dict[int, Trial]] = field(default_factory=dict)
    out: str = ""
    failed: str = ""

    def add(self, rung: int, fold: int, trial: Trial) -> None:
        """Keep a trial; outputs of lower rungs are dropped where they are large."""
        self.trials.setdefault(rung, {})[fold] = trial
        kept = sum(_size(t.outputs) for by_fold in self.trials.values() for t in by_fold.values())
        for lower in sorted(self.trials):
            if kept <= _KEPT or lower == max(self.trials):
                break
            for k, t in self.trials[lower].items():
                kept -= _size(t.outputs)
                self.trials[lower][k] = replace(t, outputs=None)

    @property
    def fit_notes(self) -> tuple[str, ...]:
        """What the estimator said of its last fit."""
        return next(iter(self.trials[self.last].values())).notes

    @property
    def rungs(self) -> list[int]:
        """The rungs it was measured on, smallest first."""
        return sorted(self.trials)

    @property
    def last(self) -> int:
        """The largest rung it was measured on."""
        return max(self.trials)

    @property
    def seconds(self) -> float:
        """Processor seconds of all its trials."""
        return sum(t.seconds for by_fold in self.trials.values() for t in by_fold.values())

    def folds(self, rung: int) -> list[int]:
        """The folds measured on a rung."""
        return sorted(self.trials.get(rung, {}))

    def error(self, rung: int) -> float:
        """The error on a rung: the mean over its folds, by their test rows."""
        found = [self.trials[rung][k].measured for k in self.folds(rung)]
        return float(np.average([m.value for m in found], weights=[len(m.influence) for m in found]))

    def by_block(self, rung: int, ladder: Ladder) -> Array:
        """The luck that each block of rows brought to the error on a rung, (blocks,)."""
        blocks = ladder.structure.blocks
        luck = np.zeros(ladder.structure.n_blocks)
        found = [(ladder.part(rung, k).test, self.trials[rung][k].measured.influence) for k in self.folds(rung)]
        total = sum(len(rows) for rows, _ in found)
        for rows, influence in found:
            luck += np.bincount(blocks[rows], influence, len(luck)) / total
        return luck

    def standard_error(self, rung: int, ladder: Ladder) -> float:
        """How far the error on a rung lies from that of endlessly many test rows."""
        return float(np.sqrt((self.by_block(rung, ladder) ** 2).sum()))

    def cost(self, rung: int, ladder: Ladder) -> float:
        """Processor seconds that a trial on a rung will take: from its own rungs below, and its believed growth.

        Half of the growth of fits is its own, half what is believed of its kind; predictions of kernels grow with the rows.
        """
        known = [r for r in self.rungs if r <= rung]
        if not known:
            return self.contender.first
        fit, asked = self._seconds(known[-1])
        growth = self.contender.exponent
        if len(known) > 1:
            own = np.log(max(fit, 1e-3) / max(self._seconds(known[-2])[0], 1e-3))
            own /= np.log(ladder.sizes[known[-1]] / ladder.sizes[known[-2]])
            growth = 0.5 * growth + 0.5 * float(np.clip(own, 0.0, 3.0))
        last, size = ladder.sizes[known[-1]], ladder.sizes[rung]
        times = size / last
        tests = len(ladder.part(rung, 0).test) / len(ladder.part(known[-1], 0).test)
        asked *= tests * (times if self.contender.curve == "kernel" else 1.0)
        return float(fit * grown(last, size, growth, self.contender.flattens) + asked)

    def _seconds(self, rung: int) -> tuple[float, float]:
        """Seconds of fits and of predictions on a rung, in the mean over folds."""
        found = [(t.fit_seconds, t.seconds - t.fit_seconds) for t in self.trials[rung].values()]
        fit, asked = (float(np.mean(column)) for column in zip(*found, strict=True))
        return fit, asked


def grown(last: float, size: float, exponent: float, flattens: int | None) -> float:
    """By which factor time grows from ``last`` rows to ``size``: as a power, from ``flattens`` rows on no faster than the rows.

    Example:
        >>> grown(100, 200, 2.0, None), grown(100, 400, 2.0, 200)
        (4.0, 8.0)
    """
    if flattens is None or exponent <= 1:
        return float((size / last) ** exponent)
    bend = float(np.clip(flattens, last, max(size, last)))
    return float((bend / last) ** exponent * (size / bend))


def _size(outputs: Outputs | None) -> int:
    if outputs is None:
        return 0
    return outputs.values.size + (0 if outputs.probabilities is None else outputs.probabilities.size)

"""Where everybody stands at the size asked about: joint draws of all errors there, their luck on shared test rows shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from priorscope.curves import Extrapolation, extrapolate
from priorscope.judge import Judgement, Metric, judge_draws, margin_of
from priorscope.profiles._ladder import Ladder
from priorscope.profiles._record import Record
from priorscope.statistics import Interval

__all__ = ["Standings", "standings_of"]

Array = NDArray[np.float64]
_DRAWS = 4000
_GRID = np.r_[0.0005, np.linspace(0.005, 0.995, 199), 0.9995]
_TINY = 1e-9  # of the largest error measured: what no error falls below
NEARLY = 2.0  # times fewer rows than others were measured on: whoever has fewer leads by being better already
REACH = 16.0  # times the largest size measured, as far as errors are carried


@dataclass(frozen=True)
class Standings:
    r"""Extrapolations by name and draws (draws, contenders) of the errors at ``to``.

    What was measured is carried to at most 16 times its size: beyond, an error is taken to be no better than there, so
    that nobody leads by a forecast from a handful of rows. Each column has the distribution of its own extrapolation;
    columns are joined by a Gaussian copula whose correlation is that of the errors' luck on shared test rows, as far as
    luck of test rows makes up an interval.
    """

    names: tuple[str, ...]
    to: float
    level: float
    percent: bool
    each: Mapping[str, Extrapolation] = field(repr=False)
    draws: Array = field(repr=False)
    sizes: Array = field(repr=False)  # the largest each was measured on
    errors: Array = field(repr=False)  # there
    lucks: Array = field(repr=False)  # (draws, contenders), logarithms: what luck of test rows may have done to each

    def of(self, name: str) -> Array:
        """Draws of one error."""
        return self.draws[:, self.names.index(name)]

    def estimate(self, name: str) -> Interval:
        """The error of a contender at the size asked about."""
        half = (1 - self.level) / 2
        low, middle, high = np.quantile(self.of(name), [half, 0.5, 1 - half])
        return Interval(float(middle), float(low), float(high))

    @property
    def order(self) -> list[str]:
        """Names by their mean error, lowest first: the mean counts what an unsure one may cost.

        Those measured on less than half of the rows that others were measured on come behind, unless they were better there
        already: what leads is measured.
        """
        means = self.draws.mean(0)
        enough = self.sizes >= self.sizes.max() / NEARLY
        enough |= self.errors <= self.errors[enough].min()
        return [self.names[i] for i in np.lexsort((means, ~enough))]

    @property
    def margin(self) -> float:
        """The difference that counts."""
        return margin_of(float(np.median(self.of(self.order[0]))), self.percent)

    def near(self) -> dict[str, float]:
        """Probability of each that its error lies within the margin of the best one."""
        best = self.draws.min(1, keepdims=True)
        margin = np.maximum(0.1 * best, margin_of(0.0, self.percent))
        return dict(zip(self.names, (self.draws <= best + margin).mean(0).tolist(), strict=True))

    def judged(self, name: str, beside: str) -> Judgement:
        """What can be said of one beside another."""
        return judge_draws(self.of(name) - self.of(beside), self.margin, self.level)

    def luck(self) -> float:
        """By which factor the first one's error is too low for having been chosen among all, in the mean (at least 1).

        The estimates are taken for the truth, and luck of the test rows is drawn anew: where the first one looks best again it
        is better than its estimate by chance (the bias of the lowest of several estimates; Tibshirani & Tibshirani 2009, Ann.
        Appl. Stat. 3, 822).
        """
        truth = np.median(np.log(np.maximum(self.draws, 1e-300)), 0)
        first = self.names.index(self.order[0])
        chosen = (truth + self.lucks).argmin(1) == first
        return float(np.exp(max(-self.lucks[chosen, first].mean(), 0.0))) if chosen.any() else 1.0


def extrapolated(record: Record, ladder: Ladder, metric: Metric, to: float, level: float) -> Extrapolation:
    """The curve of one contender, its measured errors counted with their own noise.

    A share with standard error s counts like :math:`e (1 - e) / s^2` test rows: rows of one group, or of rare classes, count
    for less than their number.
    """
    rungs = record.rungs
    sizes = [len(record_rows(record, rung)) and ladder.sizes[rung] for rung in rungs]
    errors = np.array([record.error(rung) for rung in rungs])
    noise = np.array([record.standard_error(rung, ladder) for rung in rungs])
    rows = np.array([len(record_rows(record, rung)) for rung in rungs], dtype=float)
    if metric.percent and (errors <= 1).all():
        tests = np.clip(np.divide(errors * (1 - errors), noise**2, out=rows.copy(), where=noise > 0), 2.0, rows)
        return extrapolate(sizes, errors, to=to, tests=tests, kind=record.contender.curve, level=level)
    floor = np.maximum(noise, 0.5 * errors / np.sqrt(rows))
    return extrapolate(sizes, errors, to=to, errors_se=floor, kind=record.contender.curve, level=level)


def measured_ends(error: float, noise: float, rows: int, percent: bool, level: float) -> tuple[float, float]:
    """The ends of the interval of a measured error with standard error ``noise`` on so many test rows.

    Of a share by Wilson (1927), with as many rows as its noise is worth: no mistake at all leaves room upwards.

    Example:
        >>> [round(end, 3) for end in measured_ends(0.0, 0.0, 100, True, 0.9)]
        [0.0, 0.026]
        >>> [round(end, 3) for end in measured_ends(2.0, 0.1, 100, False, 0.9)]
        [1.836, 2.164]
    """
    z = float(ndtri(0.5 + level / 2))
    if not percent:
        return max(error - z * noise, 0.0), error + z * noise
    count = float(np.clip(error * (1 - error) / noise**2, 1.0, rows)) if noise > 0 and 0 < error < 1 else float(rows)
    centre = (error + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z * (max(error * (1 - error), 0.0) / count + z**2 / (4 * count**2)) ** 0.5 / (1 + z**2 / count)
    return min(max(centre - half, 0.0), error), max(min(centre + half, 1.0), error)


def record_rows(record: Record, rung: int) -> Array:
    """Influences of all test rows of a rung, one after another."""
    return np.concatenate([record.trials[rung][k].measured.influence for k in record.folds(rung)])


def standings_of(
    records: Sequence[Record], ladder: Ladder, metric: Metric, to: float, level: float, seed: int = 0
) -> Standings:
    """Extrapolate everybody who was measured, and draw all errors at ``to`` together."""
    names = tuple(r.contender.name for r in records)
    each = {r.contender.name: extrapolated(r, ladder, metric, to, level) for r in records}
    tiny = max(_TINY * max(r.error(rung) for r in records for rung in r.rungs), 1e-300)
    luck = np.stack([r.by_block(r.last, ladder) / max(r.error(r.last), tiny) for r in records])
    size = np.sqrt((luck**2).sum(1))
    shared = luck / np.where(size > 0, size, 1.0)[:, None]
    rng = np.random.default_rng([seed, 29])
    values, vectors = np.linalg.eigh(shared @ shared.T)
    half = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    common = rng.standard_normal((_DRAWS, len(names))) @ half
    trained = (
        rng.standard_normal((_DRAWS, len(names))) @ half
    )  # all were trained on the same rows: half of what else is unsure
    draws = np.empty((_DRAWS, len(names)))
    sizes = np.array([float(ladder.sizes[r.last]) for r in records])
    errors = np.array([r.error(r.last) for r in records])
    for j, one in enumerate(each.values()):
        size_there = min(float(to), REACH * sizes[j])
        found = np.log(np.maximum(one.posterior.quantiles(size_there, _GRID), tiny))
        spread = max((found[160] - found[40]) / 1.683, 1e-6)  # of a normal law, quantiles 0.2 and 0.8 lie so far apart
        part = min(float(size[j]) / spread, 1.0)
        rest = (trained[:, j] + rng.standard_normal(_DRAWS)) / 2**0.5
        z = part * common[:, j] + np.sqrt(1 - part**2) * rest
        draws[:, j] = np.exp(np.interp(ndtr(z), _GRID, found))
        if to > sizes[j] and errors[j] > 0:  # more data never make a tuned predictor worse
            rung = records[j].last
            noise, rows = records[j].standard_error(rung, ladder), len(record_rows(records[j], rung))
            top = measured_ends(errors[j], noise, rows, metric.percent, level)[1]
            draws[:, j] = np.minimum(draws[:, j], top)
    if metric.percent:
        draws = np.minimum(draws, 1.0)
    return Standings(
        names, float(to), level, metric.percent, each, draws, sizes, errors, common * np.minimum(size, 1.0)
    )

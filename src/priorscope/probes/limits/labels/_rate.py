"""The share of wrong labels, from how often left-out predictions agree with the labels at each margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2_contingency

from priorscope.checks import FRACTION, POSITIVE, checked, whole
from priorscope.contracts import guarded
from priorscope.printing import printed
from priorscope.statistics import Interval

__all__ = ["NoiseRate", "noise_rate"]

Array = NDArray[np.float64]
ANCHORS = (0.7, 0.8, 0.9)  # quantiles of the margin from which on predictions are taken to be right
CERTAIN = 0.99  # how often they are right there
FARTHEST = 3.0  # margins beyond so many anchors count as this one
FEWEST = 20  # predictions of a class from which on it may have an anchor of its own
UNEVEN = 0.05  # significance from which on it has one
STEP = 0.005  # of the grid of rates
POWERS = np.geomspace(0.15, 8.0, 24)  # shapes of the rise from a coin flip at margin 0 to certainty at the anchor


@checked(power=POSITIVE)
@printed
@dataclass(frozen=True, eq=False)
class NoiseRate:
    """The posterior of the rate, the odds' shape at its mode and the margin that counts as certain for each sample.

    Example:
        >>> found = NoiseRate(Interval(0.5, 0.4, 0.6), power=1.0, anchors=np.ones(3))
        >>> found.wrong(np.array([-1.0, 0.0, 1.0])).round(2).tolist()
        [0.99, 0.5, 0.01]
    """

    rate: Interval
    power: float
    anchors: Array

    def wrong(self, own_margin: Array) -> Array:
        r"""The probability that each label is wrong, given its own score minus the largest other one.

        By Bayes' rule (derived here) with the odds :math:`e^{L\,\mathrm{sign}(s)|s/a|^p}` for the label against the best
        other class, and the rate as what is known beforehand.
        """
        size = np.minimum(np.abs(own_margin) / self.anchors, FARTHEST) ** self.power
        prior = min(max(self.rate.value, 1e-4), 1 - 1e-4)
        log_odds = np.log(prior / (1 - prior)) - _logit(CERTAIN) * np.sign(own_margin) * size
        found: Array = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -500, 500)))
        return found


def _logit(p: float) -> float:
    return float(np.log(p / (1 - p)))


def _likelihood(x: Array, agrees: Array, n_classes: int, rates: Array) -> Array:
    """Log-likelihood (powers, rates) of who agrees, for margins x in units of the anchor."""
    found = np.empty((len(POWERS), len(rates)))
    for i, power in enumerate(POWERS):
        right = 1.0 / (1.0 + np.exp(-_logit(CERTAIN) * np.minimum(x, FARTHEST) ** power))
        p = (1 - rates[:, None]) * right + rates[:, None] * (1 - right) / (n_classes - 1)
        p = np.clip(p, 1e-9, 1 - 1e-9)
        found[i] = np.log(p) @ agrees + np.log1p(-p) @ (1 - agrees)
    return found


def _uneven(m: Array, agrees: Array, guess: NDArray[np.int64]) -> bool:
    """Whether the surer half of the predictions of some class disagrees with the labels clearly more often than others."""
    counts = []
    for c in np.unique(guess):
        mine = guess == c
        if mine.sum() >= FEWEST:
            sure = agrees[mine][m[mine] >= np.median(m[mine])]
            counts.append((float(sure.sum()), float((1 - sure).sum())))
    table = np.array(counts)
    if len(table) < 2 or (table.sum(0) == 0).any():
        return False
    return float(chi2_contingency(table, correction=False).pvalue) < UNEVEN


def _anchors(m: Array, quantile: float, guess: NDArray[np.int64] | None) -> Array:
    """The margin that counts as certain, of each sample."""
    found = np.full(len(m), np.quantile(m, quantile))
    for c in () if guess is None else np.unique(guess):
        if (guess == c).sum() >= FEWEST:
            found[guess == c] = np.quantile(m[guess == c], quantile)
    return np.maximum(found, 1e-12)


@guarded(n_classes=whole(2), level=FRACTION)
def noise_rate(
    margins: ArrayLike, agrees: ArrayLike, n_classes: int, *, guesses: ArrayLike | None = None, level: float = 0.9
) -> NoiseRate:
    r"""The share of labels replaced by another class, from left-out predictions.

    ``margins`` (n,) are the largest score of each sample minus the second one, ``agrees`` whether the largest belongs to the
    label. A prediction with margin m is right about the true class with probability

    .. math:: c(m) = \frac{1}{1 + e^{-L (m/a)^p}}, \qquad P(\text{agrees}) = (1-\rho)\,c + \rho\,\frac{1-c}{C-1},

    so that whatever disagreement is left among the surest predictions is noise of the labels (our own; the idea of anchor
    points is that of Liu & Tao 2016). c(a) = 0.99 at the anchor a, the 70, 80 or 90 % quantile of the margins; :math:`\rho`
    has a flat prior, p is integrated out and the three posteriors are averaged. The value is the posterior mean. With
    ``guesses`` (n,), the predicted classes, each class has an anchor of its own where the surer half of its predictions
    disagrees clearly more or less often than others (labels of one class are wrong, not of all). Classes that the inputs
    do not tell apart anywhere look like noise, and count as noise.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> found = noise_rate(np.ones(2000), rng.random(2000) > 0.2, 2)
        >>> bool(abs(found.rate.value - 0.2) < 0.03), found.rate.contains(0.2)
        (True, True)
    """
    m, a = np.asarray(margins, dtype=np.float64), np.asarray(agrees, dtype=np.float64)
    if m.ndim != 1 or m.shape != a.shape or len(m) < 10 or not np.isfinite(m).all() or (m < 0).any():
        raise ValueError(
            f"noise_rate needs at least 10 margins >= 0 and whether each prediction agrees; got shapes {m.shape}, {a.shape}."
        )
    guess = None if guesses is None else np.asarray(guesses, dtype=np.int64)
    if guess is not None and guess.shape != m.shape:
        raise ValueError(f"noise_rate needs one predicted class per margin; got {guess.shape} for {m.shape}.")
    by_class = guess if guess is not None and _uneven(m, a, guess) else None
    rates = np.arange(0.0, 1 - 1 / n_classes - STEP / 2, STEP)
    law, peaks = np.zeros(len(rates)), []
    for quantile in ANCHORS:
        anchors = _anchors(m, quantile, by_class)
        log = _likelihood(m / anchors, a, n_classes, rates)
        weight = np.exp(log - log.max())
        law += weight.sum(0) / weight.sum() / len(ANCHORS)
        peaks.append((float(POWERS[np.unravel_index(int(log.argmax()), log.shape)[0]]), anchors))
    below = law.cumsum()
    ends = [min(int(np.searchsorted(below, q)), len(rates) - 1) for q in ((1 - level) / 2, (1 + level) / 2)]
    low, mean, high = float(rates[ends[0]]), float(rates @ law), float(rates[ends[1]])
    power, anchors = peaks[len(peaks) // 2]
    return NoiseRate(Interval(mean, min(low, mean), max(high, mean)), power, anchors)

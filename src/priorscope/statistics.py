"""Intervals and power laws: the two pieces of statistics that every probe and paper shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Interval", "PowerLaw", "bootstrap_interval", "exact", "fit_power_law"]


@dataclass(frozen=True)
class Interval:
    """A measured value with the ends of its confidence interval.

    Example:
        >>> Interval(1.0, 0.5, 1.5).contains(0.7)
        True
    """

    value: float
    low: float
    high: float

    def contains(self, x: float) -> bool:
        """Whether ``x`` lies in the closed interval."""
        return self.low <= x <= self.high


def exact(value: float) -> Interval:
    """A value without sampling error: an interval of length zero.

    Example:
        >>> exact(2)
        Interval(value=2.0, low=2.0, high=2.0)
    """
    return Interval(float(value), float(value), float(value))


@dataclass(frozen=True)
class PowerLaw:
    r"""A fit :math:`y = A x^{b}`: exponent with interval, prefactor, and the range of x it was made on.

    Example:
        >>> fit = fit_power_law([1, 2, 4], [8.0, 4.0, 2.0])
        >>> round(fit.exponent, 6), round(fit.prefactor, 6), fit.fit_range
        (-1.0, 8.0, (1.0, 4.0))
    """

    exponent: float
    low: float
    high: float
    prefactor: float
    fit_range: tuple[float, float]

    @property
    def interval(self) -> Interval:
        """The exponent with its interval."""
        return Interval(self.exponent, self.low, self.high)

    def __call__(self, x: ArrayLike) -> NDArray[np.float64]:
        """The fitted curve at ``x``."""
        return self.prefactor * np.asarray(x, dtype=float) ** self.exponent


def bootstrap_interval(
    samples: ArrayLike,
    statistic: Callable[[NDArray[np.float64]], float] | None = None,
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap over the first axis of ``samples`` (seeds), of the mean unless told otherwise.

    Example:
        >>> interval = bootstrap_interval([1.0, 2.0, 3.0])
        >>> interval.value, interval.low < 2 < interval.high
        (2.0, True)
    """
    values = np.asarray(samples, dtype=float)
    if values.ndim == 0 or len(values) == 0:
        raise ValueError(
            f"bootstrap_interval needs at least one sample along the first axis; got shape {values.shape}."
        )
    measure = statistic or (lambda v: float(np.mean(v)))
    rng = np.random.default_rng(seed)
    picks = rng.integers(len(values), size=(draws, len(values)))
    resampled = np.array([measure(values[pick]) for pick in picks])
    tail = (1 - level) / 2
    return Interval(measure(values), *(float(q) for q in np.quantile(resampled, [tail, 1 - tail])))


def fit_power_law(
    x: Sequence[float] | ArrayLike,
    y: Sequence[float] | ArrayLike,
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> PowerLaw:
    r"""Least squares of log y on log x.

    ``y`` has shape (points,) or (seeds, points). With seeds, the exponent is fitted to the mean over seeds and its
    interval is a bootstrap over seeds; with one curve, the interval is a bootstrap over points (residuals resampled).

    Example:
        >>> round(fit_power_law([1, 10, 100], [3, 0.3, 0.03]).exponent, 6)
        -1.0
    """
    log_x = np.log(np.asarray(x, dtype=float))
    ys = np.asarray(y, dtype=float)
    if ys.shape[-1] != len(log_x) or len(log_x) < 2:
        raise ValueError(
            f"fit_power_law needs y of shape (points,) or (seeds, points) with two or more points; "
            f"got {len(log_x)} points of x and y of shape {ys.shape}."
        )
    if not (np.isfinite(log_x).all() and np.isfinite(ys).all() and (ys > 0).all()):
        raise ValueError("fit_power_law needs positive finite x and y; drop zeros and NaN before the fit.")
    rng = np.random.default_rng(seed)
    mean = ys.mean(0) if ys.ndim == 2 else ys
    slope, intercept = np.polyfit(log_x, np.log(mean), 1)
    if ys.ndim == 2 and len(ys) > 1:
        picks = rng.integers(len(ys), size=(draws, len(ys)))
        curves = np.log(ys[picks].mean(1))  # (draws, points)
    else:
        fitted = slope * log_x + intercept
        residuals = np.log(mean) - fitted
        freedom = np.sqrt(len(log_x) / max(len(log_x) - 2, 1))  # residuals of a fit are too small by this factor
        curves = fitted + freedom * rng.choice(residuals, size=(draws, len(log_x)))
    centred = log_x - log_x.mean()
    slopes = curves @ centred / (centred @ centred)
    tail = (1 - level) / 2
    low, high = np.quantile(slopes, [tail, 1 - tail])
    return PowerLaw(
        float(slope),
        float(low),
        float(high),
        float(np.exp(intercept)),
        (float(np.exp(log_x.min())), float(np.exp(log_x.max()))),
    )

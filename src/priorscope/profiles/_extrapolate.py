r"""Extrapolates errors on parts of the pilot to the size asked about, by the ratio to a guide's curve."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from priorscope.probes import Forecast
from priorscope.profiles._held_out import HeldOut
from priorscope.profiles._kind import Kind
from priorscope.profiles._metric import Metric
from priorscope.profiles._row import ErrorCurve
from priorscope.statistics import Interval, interpolate_over_log

__all__ = [
    "FEATURES",
    "Ahead",
    "Belief",
    "Guide",
    "bootstrap_weights",
    "extrapolate",
    "forecast_guide",
    "measured_ratio",
    "ratio_of",
]

Array = NDArray[np.float64]
_SQUARES = (Metric.SQUARED_ERROR, Metric.RMSE, Metric.R2)  # in which noise adds to every error
_DRAWS = 200
_TRAINING = 1.2  # the bootstrap resamples tested samples only, not training sets; as in a forecast
_COMMON = 0.7  # share of the variance of a forecast beyond the pilot that all kernels have in common
_FEW = "few mistakes of {}"  # a source of variance
_NOISE = {0.0: 0.5, 0.25: 0.125, 0.5: 0.125, 0.75: 0.125, 0.9: 0.125}  # share of the lowest error that stays: belief
_STAYS = "noise that stays"  # a source of variance, the same for all predictors
_WIDE, _TAIL = 1.5, 0.25  # standard deviation of the level of a ratio that is not close to one, and the belief in it
_HALF = 0.3  # mistakes added to a count, so that a perfect pilot keeps a finite logarithm (median of a Poisson rate)


@dataclass(frozen=True)
class Belief:
    r"""What is believed of the ratio to a guide before it is seen: :math:`\log\rho = a + bz + \epsilon`, z = log(n / largest).

    ``level`` and ``level_sd`` are mean and standard deviation of a, where the guide is another predictor; ``slope`` and
    ``slope_sd`` those of b, and ``mistakes`` is the mean of b for a share of mistakes over a forecast of squared errors,
    which fall more slowly; ``nugget`` is that of each measured ratio beyond sampling, and ``drift`` times z that of the ratio
    beyond the pilot. A belief in the level is what keeps the best of twenty from being the luckiest of twenty: a ratio that few
    samples show is drawn towards what such predictors have been worth elsewhere.

    Example:
        >>> Belief(slope=0.0, slope_sd=0.2, nugget=0.03, drift=0.1).drift
        0.1
    """

    slope: float
    slope_sd: float
    nugget: float
    drift: float
    level: float = 0.0
    level_sd: float = np.inf
    mistakes: float = 0.0


# Set on development problems that no claim is judged on, those of the eighth version among them:
# docs/papers/profile-validity.md.
BELIEFS = {
    Kind.KERNEL: Belief(slope=0.0, slope_sd=0.15, nugget=0.03, drift=0.15, mistakes=-0.1),
    Kind.NETWORK: Belief(slope=0.0, slope_sd=0.15, nugget=0.05, drift=0.12, level=0.1, level_sd=0.2),
    Kind.CLASSICAL: Belief(slope=0.12, slope_sd=0.15, nugget=0.04, drift=0.12, level=0.1, level_sd=0.3),
    Kind.ESTIMATOR: Belief(slope=0.0, slope_sd=0.20, nugget=0.05, drift=0.15),
}
# A kernel with features beside the kernel it grows from: nobody knows from few samples when features will be found.
FEATURES = Belief(slope=-0.1, slope_sd=0.15, nugget=0.03, drift=0.3, level=-0.1, level_sd=0.3)


@dataclass(frozen=True)
class Guide:
    """A curve known beyond the pilot: logarithm on a grid, the variance of its growth there, and its bootstrap at ``to``."""

    name: str
    grid: Array = field(repr=False)
    log: Array = field(repr=False)
    variance: Array = field(repr=False)  # of the logarithm, grown since the largest measured size
    draws: Array = field(repr=False)  # deviations of the logarithm in each bootstrap draw, the same at all sizes
    sources: dict[str, float] = field(default_factory=dict)  # where the variance at the size asked about comes from
    held: HeldOut | None = field(
        default=None, repr=False
    )  # None: the ratio is taken to the curve, not sample by sample

    def at(self, n: Array | float) -> Array:
        """Logarithm of the guide at ``n``."""
        return interpolate_over_log(n, self.grid, self.log)


@dataclass(frozen=True)
class Ahead:
    """A predictor's curve with all that a comparison needs: draws at the size asked about, and variances beyond sampling."""

    curve: ErrorCurve = field(repr=False)
    estimate: Interval
    log: float
    draws: Array = field(repr=False)  # of the logarithm at the size asked about
    sources: dict[str, float]  # variance of the logarithm there beyond sampling, by what it comes from
    held: HeldOut = field(repr=False)
    grid_log: Array = field(repr=False)
    grid_variance: Array = field(repr=False)
    power: float = 1.0  # of exp(log), which gives the metric

    def as_guide(self, name: str) -> Guide:
        """This curve as a guide for others, compared with it sample by sample: that its mistakes are few cancels."""
        sources = {k: v for k, v in self.sources.items() if k != _FEW.format(name)}
        return Guide(
            name, self.curve.grid, self.grid_log, self.grid_variance, self.draws - self.log, sources, self.held
        )


def forecast_guide(name: str, forecast: Forecast, to: int) -> Guide:
    """The squared-error forecast of a kernel as a guide; most of what may go wrong beyond the pilot all kernels share."""
    z = 2 * float(norm.ppf(0.5 + forecast.level / 2))
    variance = (np.log(forecast.combined_high / forecast.combined_low) / z) ** 2
    last = float(forecast.curve.sizes[-1])
    variance = np.maximum(variance - interpolate_over_log(last, forecast.grid, variance), 0.0)
    grown = float(interpolate_over_log(to, forecast.grid, variance))
    sources = {"all kernels": _COMMON * grown, f"forecast of {name}": (1 - _COMMON) * grown}
    return Guide(name, forecast.grid, np.log(forecast.combined), variance, np.zeros(_DRAWS), sources)


def bootstrap_weights(n: int, seed: int = 0) -> Array:
    """How often each sample is drawn, (200, n): the same draws for every predictor, so that common luck cancels."""
    return np.random.default_rng([seed, 23]).multinomial(n, np.full(n, 1 / n), size=_DRAWS).astype(float)


def _power(metric: Metric) -> float:
    """To which power a mean loss is the metric."""
    return 0.5 if metric is Metric.RMSE else 1.0


def _shown(metric: Metric, values: Array, unit: float) -> Array:
    return unit * np.sqrt(values) if metric is Metric.RMSE else values


def _few(metric: Metric, share: Array, samples: float, seen: Array) -> Array:
    """What the variance of the logarithm of each share lacks where mistakes are few, ``seen`` being that of the bootstrap.

    A Poisson count k with a gamma prior of shape 1 has a relative variance of 1 / (k + 1) (Gelman et al. 2013, Bayesian data
    analysis, sec. 2.6), where a bootstrap of no mistakes at all has none.
    """
    return np.maximum(1 / (share * samples + 1) - seen, 0.0) if metric.percent else np.zeros_like(share)


def _floor(metric: Metric, samples: float) -> float:
    """The smallest error that can be told from none."""
    return _HALF / samples if metric.percent or metric is Metric.AUC else 1e-9


@dataclass(frozen=True)
class _Line:
    """Level and slope of a ratio: their mean and covariance, how measured ratios enter, and what the prior adds."""

    mean: Array
    covariance: Array
    gain: Array
    offset: Array


def _line(ratio: Array, X: Array, C: Array, belief: Belief, metric: Metric, guide: Guide) -> _Line:
    r"""The line through measured ratios of covariance C, by generalised least squares with a prior.

    To a guide that is no predictor a ratio has any level. To another predictor its level has a normal prior with heavy tails,
    a mixture of a narrow and a wide one, weighted by how well each explains the ratios (their marginal likelihood): most
    predictors come close to their guide, and one that clearly does not is left where it was measured.
    """
    slope = belief.slope if guide.held is not None else belief.mistakes if metric.percent else 0.0
    mean = np.array([belief.level, slope])
    scales = (
        [(np.inf, 1.0)] if guide.held is None else [(belief.level_sd, 1 - _TAIL), (max(_WIDE, belief.level_sd), _TAIL)]
    )
    inverse = np.linalg.inv(C)
    found, scores = [], []
    for sd, odds in scales:
        P = np.diag([sd**-2, belief.slope_sd**-2])
        covariance: Array = np.asarray(np.linalg.inv(X.T @ inverse @ X + P), dtype=np.float64)
        gain, offset = covariance @ X.T @ inverse, covariance @ P @ mean
        found.append(_Line(gain @ ratio + offset, covariance, gain, offset))
        if len(scales) > 1 and np.isfinite(sd):
            S = C + X @ np.diag([sd**2, belief.slope_sd**2]) @ X.T
            left = ratio - X @ mean
            scores.append(np.log(odds) - 0.5 * (np.linalg.slogdet(S)[1] + left @ np.linalg.solve(S, left)))
    if len(scores) < 2:
        return found[-1]
    w = np.exp(np.array(scores) - max(scores))
    w /= w.sum()
    middle = sum((k * one.mean for k, one in zip(w, found)), np.zeros(2))
    spread = sum(
        (k * (one.covariance + np.outer(one.mean - middle, one.mean - middle)) for k, one in zip(w, found)),
        np.zeros((2, 2)),
    )
    gain = sum((k * one.gain for k, one in zip(w, found)), np.zeros_like(found[0].gain))
    offset = sum((k * one.offset for k, one in zip(w, found)), np.zeros(2))
    return _Line(middle, spread, gain, offset)


def _luck_apart(covariance: Array) -> Array:
    """The covariance of ratios at growing sizes as luck that all share alike, and what each has of its own beside the last.

    Sizes share their tested samples, so that correlations come near one while variances grow with size. Least squares with such
    a covariance reads luck off the trend and goes below all that was measured (Peelle's pertinent puzzle: D'Agostini 1994,
    Nucl. Instrum. Meth. A 346, 306); with luck shared alike it cannot.

    Example:
        >>> _luck_apart(np.array([[0.04, 0.058], [0.058, 0.09]])).round(3).tolist()
        [[0.09, 0.083], [0.083, 0.09]]
    """
    if len(covariance) < 2:
        return covariance
    apart = np.diag(covariance) + covariance[-1, -1] - 2 * covariance[:, -1]
    last = float(apart[-2]) / 2  # half of how far the last two are apart is the last one's own
    own = np.append(np.maximum(apart[:-1] - last, last), last)
    found: Array = max(float(covariance[-1, -1]) - last, 0.0) + np.diag(own)
    return found


def extrapolate(
    name: str,
    held: HeldOut,
    metric: Metric,
    guide: Guide,
    belief: Belief,
    to: int,
    weights: Array,
    *,
    level: float = 0.9,
) -> Ahead:
    r"""The curve of a predictor beyond the pilot, as that of its guide times a ratio learnt on the pilot.

    The ratio's logarithm is a straight line in log n whose level and slope have a prior; both follow by generalised least
    squares (Rasmussen & Williams 2006, sec. 2.7), with the covariance of a bootstrap over the tested samples and, where mistakes
    are few, what the bootstrap lacks at each size (no mistake at all is no exact zero). The variance at z is that of the line,
    :math:`(\text{drift}\cdot z)^2` and the guide's own. Of squared errors a part may be noise that no predictor loses, so that
    the line is one of what lies above it: the forecast is averaged over how large that part may be. No share of mistakes is
    forecast below what the tested samples could tell from none.
    """
    at, unit = np.array(held.eighths), held.truth.unit
    sizes, values = held.curve(metric)
    samples = held.truth.effective(metric)
    floor = _floor(metric, samples)
    spread = np.maximum(held.draws(metric, weights), floor)
    own_log, own_draws = np.log(np.maximum(values, floor)), np.log(spread)
    if guide.held is None:
        base, base_draws = guide.at(sizes.astype(float)), np.zeros_like(own_draws)
        few = _few(metric, values, samples, _TRAINING**2 * own_draws.var(0))
    else:
        base = np.log(np.maximum(guide.held.curve(metric, held)[1], floor))
        base_draws = np.log(np.maximum(guide.held.draws(metric, weights, held), floor))
        there = np.isin(at, [m for m in guide.held.eighths if m in held.eighths])
        sizes, values, own_log, own_draws = sizes[there], values[there], own_log[there], own_draws[:, there]
        spread = spread[:, there]
        few = _few(metric, values, samples, _TRAINING**2 * own_draws.var(0))
        few = few + _few(metric, np.exp(base), samples, _TRAINING**2 * base_draws.var(0))
    ratio, ratio_draws = own_log - base, own_draws - base_draws
    z = np.log(sizes / sizes[-1])
    X = np.stack([np.ones_like(z), z], 1)
    scatter = _TRAINING**2 * np.cov(ratio_draws.T).reshape(len(z), len(z))
    scatter = (scatter if guide.held is not None else _luck_apart(scatter)) + np.diag(few)
    C = scatter + belief.nugget**2 * np.eye(len(z))
    line = _line(ratio, X, C, belief, metric, guide)
    gain = line.gain
    top = max(float(to), float(sizes[-1])) * 20
    grid = np.geomspace(float(sizes[0]), top, 80)
    zg = np.log(grid / sizes[-1])
    A = np.stack([np.ones_like(zg), zg], 1)
    log, stays = guide.at(grid) + A @ line.mean, np.zeros_like(grid)
    if metric.percent:
        log = np.maximum(log, np.log(floor))
    elif guide.held is not None and metric in _SQUARES:

        def above(noise: float) -> Array:
            """The forecast where so much of every error is noise."""
            ends = np.log(np.maximum(np.exp(own_log) - noise, floor)), np.log(np.maximum(np.exp(base) - noise, floor))
            carried = A @ (gain @ (ends[0] - ends[1]) + line.offset)
            guided = np.maximum(np.exp(guide.at(grid)) - noise, 0.05 * np.exp(guide.at(grid)))
            found: Array = np.log(noise + guided * np.exp(carried))
            return found

        lowest = float(np.exp(min(own_log.min(), base.min())))
        each = np.stack([above(share * lowest) for share in _NOISE])
        belief_in = np.array(list(_NOISE.values()))
        log = belief_in @ each
        stays = belief_in @ (each - log) ** 2
    weight = A @ gain  # (grid, sizes): how the measured ratios enter
    centred = ratio_draws - ratio_draws.mean(0)
    sampling = _TRAINING**2 * (centred @ weight.T + guide.draws[:, None]).var(0)
    rare = np.maximum(weight**2 @ few, few[-1])  # sizes share their samples: several hardly say more than the last
    prior = ((A @ line.covariance) * A).sum(1) - ((weight @ scatter) * weight).sum(1)
    prior = np.maximum(prior, 0.0) + (belief.drift * np.maximum(zg, 0.0)) ** 2
    growth = interpolate_over_log(grid, guide.grid, guide.variance)
    total = sampling + prior + growth + rare + stays
    half = float(norm.ppf(0.5 + level / 2)) * np.sqrt(total)
    most = 1.0 if metric.percent else np.inf
    middle, low, high = (_shown(metric, np.minimum(np.exp(log + side * half), most), unit) for side in (0, -1, 1))
    measured = [_shown(metric, v, unit) for v in (values, *_measured_ends(spread, values, metric, samples))]
    curve = ErrorCurve(sizes, measured[0], measured[1], measured[2], grid, middle, low, high)
    here, own, lacking, kept = (float(interpolate_over_log(to, grid, v)) for v in (log, prior, rare, stays))
    x = np.array([1.0, np.log(to / sizes[-1])])
    draws = here + centred @ (x @ gain) + guide.draws
    sources = {**guide.sources, name: own, _FEW.format(name): lacking}
    if kept:  # of who has none of it, all of the other's counts
        sources[_STAYS] = kept
    return Ahead(curve, curve.at(to), here, draws, sources, held, log, prior + growth + stays, _power(metric))


def _measured_ends(draws: Array, values: Array, metric: Metric, samples: float) -> tuple[Array, Array]:
    """A 90 % interval of measured errors; of no mistake in n samples the upper end is 3/n."""
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    if metric.percent:
        high = np.maximum(high, 3.0 / samples)
    return np.minimum(low, values), np.maximum(high, values)


def ratio_of(one: Ahead, other: Ahead, *, level: float = 0.9) -> Interval:
    """Error of one predictor over that of another at the size asked about: samples and guides that both share cancel.

    Both are in the same metric; of RMSE it is the ratio of roots, as of the estimates that rows show.
    """
    middle = one.log - other.log
    between = _TRAINING**2 * float((one.draws - other.draws).var())
    apart = sum(v for k, v in one.sources.items() if k not in other.sources)
    apart += sum(v for k, v in other.sources.items() if k not in one.sources)
    half = float(norm.ppf(0.5 + level / 2)) * np.sqrt(between + apart)
    return Interval(*(float(np.exp(one.power * (middle + side * half))) for side in (0, -1, 1)))


def measured_ratio(one: HeldOut, other: HeldOut, metric: Metric, weights: Array, *, level: float = 0.9) -> Interval:
    """Error of one predictor over that of another on the same samples, at the largest size at which both were measured."""
    floor = _floor(metric, one.truth.effective(metric))
    logs, spread = [], []
    for own, like in ((one, other), (other, one)):
        logs.append(np.log(np.maximum(own.curve(metric, like)[1][-1], floor)))
        spread.append(np.log(np.maximum(own.draws(metric, weights, like)[:, -1], floor)))
    half = float(norm.ppf(0.5 + level / 2)) * _TRAINING * float((spread[0] - spread[1]).std())
    return Interval(*(float(np.exp(_power(metric) * (logs[0] - logs[1] + side * half))) for side in (0, -1, 1)))

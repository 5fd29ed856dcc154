"""Three forecasts of one learning curve, and the one curve with an interval made of them."""

from __future__ import annotations

import time as clock

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from priorscope.probes.curves._learning_curve import LearningCurve, check_ridge, measure
from priorscope.probes.curves.forecast._caution import Caution, CautionKind
from priorscope.probes.curves.forecast._kernel_pca import pca_exponents
from priorscope.probes.curves.forecast._power_law import NOISY, OFFSETS, local_power_law
from priorscope.probes.curves.forecast._result import Forecast
from priorscope.probes.curves.forecast._spectral import fit_spectral
from priorscope.probes.curves.pilot import Pilot
from priorscope.statistics import interpolate_over_log

__all__ = ["REACH", "forecast_gram"]

Array = NDArray[np.float64]
REACH = 1000.0  # how far beyond the pilot the curve is followed, for samples_needed
_WEIGHTS = {
    "power law": 0.7,
    "spectral theory": 0.3,
    "kernel PCA": 0.0,
}  # on development tasks, docs/papers/forecast.md
TRAINING = 1.2  # the bootstrap resamples tested samples only; by hand: 83 to 100 % of development intervals cover
_DISAGREE = 1.5  # ratio between estimators at the largest n that is worth a warning
_FAR = np.log(4.0)  # theory farther than this from the measured curve's power law counts less, by the square of how far


def _classification(curve: LearningCurve, log_mse: Array, grid: Array, z: float) -> tuple[Array, Array, Array] | None:
    """Misclassification: its own power law and its relation to the squared error, averaged in the logarithm."""
    if curve.wrong is None or curve.wrong_draws is None:
        return None
    tested = curve.nested.count.sum(1) / max(curve.nested.count.max(), 1)
    floor = 0.25 / tested  # a quarter of one mistake, so that a perfect pilot keeps a finite logarithm
    wrong = np.maximum(curve.wrong, floor)
    draws = np.log(np.maximum(curve.wrong_draws, floor))
    sizes = curve.sizes.astype(float)
    direct, scatter = local_power_law(sizes, wrong, np.cov(draws.T), grid)
    upper = sizes >= sizes.max() / 8
    weight = 1 / (draws.std(0) + 0.02)
    slope, height = np.polyfit(np.log(curve.error[upper]), np.log(wrong[upper]), 1, w=weight[upper])
    through = height + max(slope, 0.0) * log_mse
    middle = np.minimum(0.5 * (direct + through), np.log(max(float(curve.wrong.max()), 1e-12)))
    width = z * np.sqrt((TRAINING * scatter) ** 2 + (0.5 * (direct - through)) ** 2)
    return np.exp(middle), np.exp(middle - width), np.minimum(np.exp(middle + width), 1.0)


def _cautions(curve: LearningCurve, logs: dict[str, Array], at: Array, grid: Array) -> tuple[Caution, ...]:
    """List what to be careful about, from the spread of the estimators and the measured curve."""
    notes: list[Caution] = []

    def tell(kind: CautionKind, words: str) -> None:
        notes.append(Caution(kind, words))

    ends = {name: float(np.exp(interpolate_over_log(at.max(), grid, v))) for name, v in logs.items()}
    if max(ends.values()) > _DISAGREE * min(ends.values()):
        worst = ", ".join(f"{name} {value:.3g}" for name, value in ends.items())
        tell(
            CautionKind.DISAGREE,
            f"the estimators disagree at n = {at.max():.0f} (squared error by {worst}): measure at a larger pilot",
        )
    if curve.pilot < 100:
        tell(CautionKind.SMALL_PILOT, f"the pilot has only {curve.pilot} samples: the curve beyond it is a guess")
    hump = float(curve.error[curve.sizes <= 0.75 * curve.sizes[-1]].min(initial=np.inf))
    if curve.error[-1] > hump:
        tell(
            CautionKind.NO_FALL,
            f"the error on the pilot does not fall with more samples ({hump:.3g} at fewer, {curve.error[-1]:.3g} at "
            f"{curve.sizes[-1]}): where it will fall cannot be seen from here",
        )
    if curve.error[-1] > 0.9 * curve.null_error:
        tell(
            CautionKind.NOTHING_LEARNT,
            "the kernel barely beats predicting zero on the pilot: the target may be outside its reach",
        )
    if at.max() > 8 * curve.pilot:
        tell(
            CautionKind.TOO_FAR,
            f"n = {at.max():.0f} is more than 8 times the pilot, farther than these forecasts are meant for",
        )
    if curve.jitter > 0:
        tell(
            CautionKind.JITTER,
            f"added jitter {curve.jitter:.1e} to a nearly singular kernel matrix (repeated samples?)",
        )
    return tuple(notes)


def _weights(logs: dict[str, Array]) -> dict[str, Array]:
    """The weight of each estimator at each size; they add up to one.

    A fit of the spectrum can go astray (of a pilot with repeated rows, say) and then be wrong by orders of magnitude, which no
    fixed weight in a mean of logarithms bears: beyond a factor of four from the power law its weight falls with the square of
    the distance, so that its pull ends (a redescending weight; Huber & Ronchetti 2009, Robust statistics, sec. 4.8).
    """
    line = logs["power law"]
    trusted = {
        name: _WEIGHTS[name] * np.minimum(1.0, (_FAR / np.maximum(np.abs(values - line), _FAR)) ** 2)
        for name, values in logs.items()
    }
    total = sum(trusted.values())
    return {name: value / total for name, value in trusted.items()}


def forecast_gram(
    gram: Array,
    pilot: Pilot,
    n: ArrayLike,
    *,
    ridge: float | str = 0.0,
    time: float | None = None,
    level: float = 0.9,
    orderings: int = 24,
    seed: int = 0,
) -> Forecast:
    """The forecast from the kernel matrix of the pilot: the one path of every forecast; see :func:`forecast`."""
    started = clock.perf_counter()
    at = np.atleast_1d(np.asarray(n, dtype=float))
    size = len(pilot)
    if (at < 2).any() or (at > REACH * size).any() or not 0 < level < 1:
        raise ValueError(
            f"forecast needs 2 <= n <= {REACH:.0f} times the pilot ({size} samples) and 0 < level < 1; got n = {at}, "
            f"level = {level}."
        )
    check_ridge(ridge, time)
    curve = measure(gram, pilot, ridge=ridge, time=time, orderings=orderings, seed=seed)
    sizes = curve.sizes.astype(float)
    y, draws = np.log(curve.error), np.log(curve.draws)
    spread = draws.std(0) + 0.01
    grid = np.geomspace(min(float(sizes[0]), float(at.min())), REACH * size, 100)
    inside = grid <= sizes[-1]
    measured = interpolate_over_log(grid, sizes, y)

    offsets = NOISY if ridge == "tuned" else OFFSETS  # who tunes a ridge expects noise
    straight, scatter = local_power_law(sizes, curve.error, np.cov(draws.T), grid, offsets)
    logs = {"power law": straight}
    alpha, beta, exponent = pca_exponents(gram, pilot.targets)
    exponents = {"kernel PCA eigenvalues": alpha, "kernel PCA power": beta, "kernel PCA error": exponent}
    if time is None:
        model = fit_spectral(sizes, y, curve.nested.kappa, size, ridge=curve.ridge)
        logs["spectral theory"] = np.log(np.maximum(model.errors(grid, float(curve.ridge[-1])), 1e-300))
        exponents |= {"eigenvalues": model.eigenvalue_exponent, "power": model.power_exponent}
    logs["kernel PCA"] = -exponent * np.log(grid / sizes[-1])
    for name, values in logs.items():  # beyond the pilot all start from its last error, so that no curve jumps there
        last = float(interpolate_over_log(sizes[-1], grid, values))
        logs[name] = np.where(inside, values if name == "spectral theory" else measured, values + y[-1] - last)

    weights = _weights(logs)
    middle = sum(weights[name] * values for name, values in logs.items())
    assert isinstance(middle, np.ndarray)
    middle = np.where(inside, measured, middle)
    if ridge == "tuned":  # then more samples cannot hurt
        middle = np.where(inside, middle, np.minimum.accumulate(np.where(inside, y[-1], np.minimum(middle, y[-1]))))
    between = sum(weights[name] * (values - middle) ** 2 for name, values in logs.items())
    z = float(norm.ppf(0.5 + level / 2))
    own = interpolate_over_log(grid, sizes, spread)  # beyond the pilot, that of its last error
    sampling = TRAINING * np.where(inside, own, np.maximum(scatter, own))
    width = z * np.sqrt(sampling**2 + between)
    wrong = _classification(curve, middle, grid, z)
    slope = np.gradient(middle, np.log(grid))
    exponents["combined"] = -float(interpolate_over_log(4 * size, grid, slope))
    return Forecast(
        at,
        grid,
        {name: np.exp(v) for name, v in logs.items()},
        np.exp(middle),
        np.exp(middle - width),
        np.exp(middle + width),
        None if wrong is None else wrong[0],
        None if wrong is None else wrong[1],
        None if wrong is None else wrong[2],
        level,
        exponents,
        _cautions(curve, logs, at, grid),
        curve,
        clock.perf_counter() - started,
    )

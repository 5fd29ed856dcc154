r"""Learning curves from the spectrum: population eigenvalues and target power inferred from the pilot, with their tails."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from priorscope.printing import printed
from priorscope.probes.limits._mode_learnability import effective_regularisation

__all__ = ["SpectralModel", "fit_spectral"]

Array = NDArray[np.float64]
_REACH = 4096  # the tail is followed to this many times the pilot
_WINDOW = 4.0  # the power is fitted on errors at training sizes down to the largest over this


@printed
@dataclass(frozen=True)
class SpectralModel:
    r"""Eigenvalues and target power on a log-spaced grid of ranks, each bin standing for ``count`` modes.

    ``eigenvalue_exponent`` and ``power_exponent`` are the slopes of the tails, :math:`\lambda_i \sim i^{-\alpha}` and
    :math:`v_i^2 \sim i^{-\beta}`.
    """

    rank: Array
    count: Array
    eigenvalues: Array
    power: Array
    eigenvalue_exponent: float
    power_exponent: float

    def errors(self, n: Array, ridge: float = 0.0) -> Array:
        """Expected squared test error at each ``n``, by the self-consistent equation."""
        kappa = effective_regularisation(self.eigenvalues, n, ridge=ridge, multiplicities=self.count)
        return np.asarray(_weights(self.eigenvalues, self.count, np.asarray(n, dtype=float), kappa) @ self.power)


def _weights(lam: Array, count: Array, n: Array, kappa: Array) -> Array:
    """What each bin's power adds to the error at each n."""
    learned = lam / (lam + kappa[:, None])
    overfitting = n / np.maximum(n - (count * learned**2).sum(1), 1e-9 * n)
    return np.asarray(overfitting[:, None] * count * (1 - learned) ** 2)


def _power_exponent(weights: Array, x: Array, log_errors: Array) -> tuple[float, float]:
    """Exponent and level of power exp(level) rank^-exponent whose errors fit best, by Gauss-Newton on one number."""
    exponent = 1.5
    for _ in range(50):
        terms = weights * np.exp(-exponent * x)
        total = terms.sum(1)
        left, slope = log_errors - np.log(total), -(terms @ x) / total
        step = float(np.polyfit(slope, left, 1)[0]) if np.ptp(slope) > 1e-9 else 0.0
        exponent = float(np.clip(exponent + np.clip(step, -0.5, 0.5), 0.0, 8.0))
        if abs(step) < 1e-8:
            break
    return exponent, float((log_errors - np.log((weights * np.exp(-exponent * x)).sum(1))).mean())


def _bins(pilot: int) -> tuple[Array, Array]:
    edges = np.unique(np.round(np.geomspace(1, pilot * _REACH, 160)))
    edges = np.append(edges, edges[-1] * 1.2)
    count = np.diff(edges)
    return np.sqrt(edges[:-1] * np.maximum(edges[1:] - 1, edges[:-1])), count


def _curve(knots: Array, values: Array, at: Array) -> Array:
    """Piecewise linear through (knots, values), continued with the slope of the last segment."""
    slope = (values[-1] - values[-2]) / (knots[-1] - knots[-2])
    return np.where(at > knots[-1], values[-1] + slope * (at - knots[-1]), np.interp(at, knots, values))


def fit_spectral(
    sizes: Array, log_errors: Array, kappa: Array, pilot: int, *, ridge: float | Array = 0.0
) -> SpectralModel:
    r"""Infer the population's spectrum from quantities of the pilot that carry no spectral bias.

    The eigenvalues of a pilot's Gram matrix are biased (large ones up, the tail cut at n). Instead, the measured
    :math:`\kappa(p) = 1/\mathrm{tr}(K_{pp}+\delta)^{-1}` at every prefix p must solve the self-consistent equation: that
    determines :math:`\log\lambda` as a function of log rank, taken piecewise linear with its bends penalised and continued with
    its last slope. The target's power
    is a power law of the rank, the one whose errors come closest to those measured in the upper quarter of the sizes: more
    freedom only fits their noise.
    """
    rank, count = _bins(pilot)
    x = np.log(rank)
    knots = np.log(np.geomspace(1, pilot, max(int(np.log2(pilot)), 4)))
    trace = float(kappa[0] * sizes[0])

    def eigenvalues(theta: Array) -> Array:
        return np.exp(np.clip(_curve(knots, theta, x), -120, 60))

    def misfit(theta: Array) -> Array:
        lam = eigenvalues(theta)
        modes = (count * lam / (lam + kappa[:, None])).sum(1) + ridge / kappa
        return np.concatenate([np.log(modes / sizes) / 0.01, np.diff(theta, 2) / 0.5])

    start = np.log(trace) - 1.5 * knots
    theta = least_squares(misfit, start, method="trf", max_nfev=200).x
    lam = eigenvalues(theta)

    upper = sizes >= sizes.max() / _WINDOW
    weights = _weights(lam, count, sizes[upper], kappa[upper])
    exponent, level = _power_exponent(weights, x, log_errors[upper])
    slope = -float((theta[-1] - theta[-2]) / (knots[-1] - knots[-2]))
    return SpectralModel(rank, count, lam, np.exp(level - exponent * x), slope, exponent)

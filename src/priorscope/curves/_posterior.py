r"""The posterior of one learning curve: quantiles of the error at any size by characteristic functions, and seeded draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, loggamma, ndtri, polygamma, psi

from priorscope.curves._prior import Belief, Prior
from priorscope.curves._shapes import ALPHAS, FLOORS, Fits, Points, explain, shape_logs

__all__ = ["Draws", "Posterior", "posterior_of"]

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
_BINS = 2048
_REACH = 9.0  # standard deviations to either side of the mean that the quadrature spans


@dataclass(frozen=True)
class Draws:
    """Draws of a posterior: level at the largest size with its luck, shape and drift, all of the same length."""

    level: Array
    shape: NDArray[np.int64]
    drift: Array


@dataclass(frozen=True)
class Posterior:
    """Weights of (shape, scatter) and drifts given the measured points, and what follows at any size."""

    points: Points
    fits: Fits
    weights: Array  # (shape, scatter), adds up to one
    drift_weights: Array  # (scatter, drift), each row adds up to one
    prior: Prior

    @property
    def _luck(self) -> float:
        """How many mistakes the luck that all sizes share is worth; of infinitely many tests, infinitely many."""
        return 1 / max(self.points.common, 1e-12)

    def quantiles(self, n: float, q: Array) -> Array:
        """Quantiles of the error at ``n``: beyond the largest size measured none lies above its own there."""
        ratio = n / self.points.last
        z = self._drifted(ratio)
        if ratio == 1:
            return _read(self._last, q)
        found = _read(self._distribution(shape_logs(np.array([ratio]))[:, 0], z, self.weights), q)
        return np.minimum(found, _read(self._last, q)) if z > 0 else found

    @cached_property
    def _last(self) -> tuple[Array, Array]:
        """The distribution at the largest size measured."""
        return self._distribution(np.zeros(len(self.weights)), 0.0, self.weights)

    def _drifted(self, ratio: float) -> float:
        """By how much drifts are multiplied at ``ratio`` times the largest size."""
        return float(np.log(ratio) ** self.prior.power) if ratio > 1 else 0.0

    @property
    def luck_variance(self) -> float:
        """Variance of the logarithm of the error that is luck of the test rows."""
        return float(polygamma(1, self._luck))

    def floor(self, q: Array) -> Array:
        """Quantiles of what the error falls to with endless samples: the shapes without a floor give zero."""
        share = np.repeat(FLOORS, len(ALPHAS))
        none = float(self.weights[share == 0].sum())
        found = np.zeros_like(q)
        if none < q.max():
            rest = self.weights * (share > 0)[:, None] / (1 - none)
            spread = self._distribution(np.log(np.maximum(share, 1e-9)), 0.0, rest)
            above = _read(spread, np.maximum(q - none, 1e-9) / (1 - none))
            found = np.where(q > none, above, 0.0)
        return found

    def _distribution(self, logs: Array, z: float, weights: Array) -> tuple[Array, Array]:
        r"""Ends of bins of the logarithm of an error, and the probability below each.

        The logarithm lies ``logs`` above the level of each shape, and has drifted by ``z`` times the drifts of the prior.
        It is a sum: level (of a gamma variable of count X, whose characteristic function is
        :math:`\Gamma(X - ik)/\Gamma(X)`), shape, a drift beyond the largest size (a mixture of normals), and luck of the test
        rows (of a gamma variable of mean one). Given shape and scatter they are independent, so that their characteristic
        functions multiply (derived here); one Fourier transform gives the density.
        """
        counts, luck = self.fits.count, self._luck
        lucky = float(psi(luck) - np.log(luck))
        shifts, spreads = self.prior.means * z, self.prior.drifts * z
        drifting = weights.sum(0) @ self.drift_weights
        shift = float(drifting @ shifts)
        where = logs[:, None] - np.log(self.fits.rate) + psi(counts) + lucky  # (shape, scatter)
        centre = float((weights * where).sum())
        spread = float(
            (weights * (where - centre) ** 2).sum() + weights.sum(0) @ polygamma(1, counts) + polygamma(1, luck)
        )
        spread = float(np.sqrt(spread + drifting @ (spreads**2 + (shifts - shift) ** 2)))
        step = 2 * _REACH * spread / _BINS
        start = centre - 1.2 * _REACH * spread  # few mistakes: the longer tail lies below
        k: Array = 2 * np.pi * np.fft.rfftfreq(_BINS, step).astype(np.float64)
        total: Complex = np.zeros(len(k), dtype=np.complex128)
        drifts = np.exp(-1j * np.outer(shifts - shift, k) - 0.5 * np.outer(spreads, k) ** 2)
        for t, count in enumerate(counts):
            at = np.clip((where[:, t] - start) / step, 0, _BINS - 2)
            first = at.astype(int)
            mass = np.bincount(first, weights[:, t] * (1 - at + first), _BINS)
            mass += np.bincount(first + 1, weights[:, t] * (at - first), _BINS)
            total = total + np.fft.rfft(mass) * _characteristic(float(count), k) * (self.drift_weights[t] @ drifts)
        total = total * _characteristic(luck, k)
        cdf = np.cumsum(np.maximum(np.fft.irfft(total, _BINS), 0.0))
        ends = start + shift + step * (np.arange(_BINS) + 0.5)
        return np.asarray(ends, dtype=np.float64), np.asarray(cdf / cdf[-1], dtype=np.float64)

    def draws(self, size: int, rng: np.random.Generator) -> Draws:
        """Draws of level, shape and drift, for differences along one curve."""
        flat = np.cumsum(self.weights)
        cell = np.minimum(np.searchsorted(flat, rng.uniform(size=size) * flat[-1]), self.weights.size - 1)
        shape, scatter = np.unravel_index(cell, self.weights.shape)
        level = rng.gamma(self.fits.count[scatter]) / self.fits.rate[shape, scatter]
        odds = np.cumsum(self.drift_weights, axis=1)[scatter]
        which = np.minimum((rng.uniform(size=size)[:, None] > odds).sum(1), self.drift_weights.shape[1] - 1)
        drift = self.prior.means[which] + self.prior.drifts[which] * rng.standard_normal(size)
        return Draws(level * _gamma_of_mean_one(self._luck, rng.uniform(size=size)), shape, drift)

    def at(self, draws: Draws, n: float) -> Array:
        """The error of each draw at ``n``: no draw rises beyond the largest size measured."""
        ratio = n / self.points.last
        logs = shape_logs(np.array([ratio]))[draws.shape, 0]
        if ratio > 1:
            logs = np.minimum(logs + draws.drift * self._drifted(ratio), 0.0)
        found: Array = draws.level * np.exp(logs)
        return found


def _read(distribution: tuple[Array, Array], q: Array) -> Array:
    """Quantiles of an error, straight between the ends of bins of its logarithm."""
    ends, cdf = distribution
    above = np.clip(np.searchsorted(cdf, q), 1, len(cdf) - 1)
    part = (q - cdf[above - 1]) / np.maximum(cdf[above] - cdf[above - 1], 1e-300)
    found: Array = np.exp(ends[above - 1] + (ends[1] - ends[0]) * np.clip(part, 0.0, 1.0))
    return found


def _characteristic(count: float, k: Array) -> Complex:
    """Characteristic function at -k of the centred logarithm of a gamma variable; normal to rounding where counts are huge."""
    if count > 1e5:
        return np.exp(-0.5 * k**2 / count).astype(np.complex128)
    found: Complex = np.exp(loggamma(count - 1j * k) - loggamma(count) + 1j * k * psi(count))
    return found


def _gamma_of_mean_one(count: float, uniform: Array) -> Array:
    """Quantiles of a gamma variable of mean one; of many counts by the cube of Wilson & Hilferty (1931)."""
    if count < 30:
        found: Array = gammaincinv(count, uniform) / count
        return found
    cube: Array = (1 - 1 / (9 * count) + ndtri(uniform) / (3 * np.sqrt(count))) ** 3
    return cube


def posterior_of(points: Points, belief: Belief, prior: Prior) -> Posterior:
    """Bayes' rule on the grid of shapes and scatters."""
    fits = explain(points, prior.scatters, belief.settling, belief.discrepancy)
    logs = fits.evidence + belief.shapes[:, None] + belief.scatters
    weights = np.exp(logs - logs.max())
    return Posterior(points, fits, weights / weights.sum(), np.exp(belief.drifts), prior)

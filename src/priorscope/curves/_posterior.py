r"""The posterior of one learning curve: quantiles of the error at any size by characteristic functions, and seeded draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, loggamma, ndtri, polygamma, psi

from priorscope.curves._prior import Belief
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
    drifts: Array
    drift_weights: Array

    @property
    def _luck(self) -> float:
        """How many mistakes the luck that all sizes share is worth; of infinitely many tests, infinitely many."""
        return 1 / max(self.points.common, 1e-12)

    def quantiles(self, n: float, q: Array) -> Array:
        """Quantiles of the error at ``n``."""
        ratio = n / self.points.last
        return self._quantiles(shape_logs(np.array([ratio]))[:, 0], max(float(np.log(ratio)), 0.0), q, self.weights)

    def floor(self, q: Array) -> Array:
        """Quantiles of what the error falls to with endless samples: the shapes without a floor give zero."""
        share = np.repeat(FLOORS, len(ALPHAS))
        none = float(self.weights[share == 0].sum())
        found = np.zeros_like(q)
        if none < q.max():
            rest = self.weights * (share > 0)[:, None] / (1 - none)
            above = self._quantiles(np.log(np.maximum(share, 1e-9)), 0.0, np.maximum(q - none, 1e-9) / (1 - none), rest)
            found = np.where(q > none, above, 0.0)
        return found

    def _quantiles(self, logs: Array, z: float, q: Array, weights: Array) -> Array:
        r"""Quantiles of the error whose logarithm lies ``logs`` above the level of each shape, drifting since ``z`` e-folds.

        The logarithm is a sum: level (of a gamma variable of count X, whose characteristic function is
        :math:`\Gamma(X - ik)/\Gamma(X)`), shape, a normal drift beyond the largest size, and luck of the test rows (of a gamma
        variable of mean one). Given shape and scatter they are independent, so that their characteristic functions multiply
        (derived here); one Fourier transform gives the density.
        """
        counts, luck = self.fits.count, self._luck
        lucky = float(psi(luck) - np.log(luck))
        where = logs[:, None] - np.log(self.fits.rate) + psi(counts) + lucky  # (shape, scatter)
        centre = float((weights * where).sum())
        spread = float(
            (weights * (where - centre) ** 2).sum() + weights.sum(0) @ polygamma(1, counts) + polygamma(1, luck)
        )
        spread = float(np.sqrt(spread + self.drift_weights @ (self.drifts * z) ** 2))
        step = 2 * _REACH * spread / _BINS
        start = centre - 1.2 * _REACH * spread  # few mistakes: the longer tail lies below
        k: Array = 2 * np.pi * np.fft.rfftfreq(_BINS, step).astype(np.float64)
        total: Complex = np.zeros(len(k), dtype=np.complex128)
        for t, count in enumerate(counts):
            at = np.clip((where[:, t] - start) / step, 0, _BINS - 2)
            first = at.astype(int)
            mass = np.bincount(first, weights[:, t] * (1 - at + first), _BINS)
            mass += np.bincount(first + 1, weights[:, t] * (at - first), _BINS)
            total = total + np.fft.rfft(mass) * _characteristic(float(count), k)
        total = (
            total * _characteristic(luck, k) * (self.drift_weights @ np.exp(-0.5 * np.outer(self.drifts * z, k) ** 2))
        )
        cdf = np.cumsum(np.maximum(np.fft.irfft(total, _BINS), 0.0))
        above = np.clip(np.searchsorted(cdf, q * cdf[-1]), 1, _BINS - 1)
        part = (q * cdf[-1] - cdf[above - 1]) / np.maximum(cdf[above] - cdf[above - 1], 1e-300)
        found: Array = np.exp(start + step * (above - 0.5 + np.clip(part, 0.0, 1.0)))
        return found

    def draws(self, size: int, rng: np.random.Generator, luck: Array | None = None) -> Draws:
        """Draws of level, shape and drift; ``luck``: uniform numbers behind the luck of the test rows, for whom it is shared."""
        flat = np.cumsum(self.weights)
        cell = np.minimum(np.searchsorted(flat, rng.uniform(size=size) * flat[-1]), self.weights.size - 1)
        shape, scatter = np.unravel_index(cell, self.weights.shape)
        level = rng.gamma(self.fits.count[scatter]) / self.fits.rate[shape, scatter]
        drift = rng.choice(self.drifts, size, p=self.drift_weights) * rng.standard_normal(size)
        uniform = rng.uniform(size=size) if luck is None else luck
        return Draws(level * _gamma_of_mean_one(self._luck, uniform), shape, drift)

    def at(self, draws: Draws, n: float) -> Array:
        """The error of each draw at ``n``: no draw rises beyond the largest size measured."""
        ratio = n / self.points.last
        logs = shape_logs(np.array([ratio]))[draws.shape, 0]
        if ratio > 1:
            logs = np.minimum(logs + draws.drift * np.log(ratio), 0.0)
        found: Array = draws.level * np.exp(logs)
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


def posterior_of(points: Points, belief: Belief, scatters: Array, drifts: Array) -> Posterior:
    """Bayes' rule on the grid of shapes and scatters."""
    fits = explain(points, scatters)
    logs = fits.evidence + belief.shapes[:, None] + belief.scatters
    weights = np.exp(logs - logs.max())
    return Posterior(points, fits, weights / weights.sum(), drifts, np.exp(belief.drifts))

r"""Extrapolation of a measured learning curve: a power law whose exponent drifts, by generalised least squares."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray

__all__ = ["NOISY", "OFFSETS", "local_power_law"]

Array = NDArray[np.float64]

# Set by hand on development tasks that no claim is judged on; docs/papers/forecast.md says which.
_WINDOW = 16.0  # the fit uses training sizes down to the largest over this
_DRIFTS = {
    0.05: 1.0,
    0.15: 0.5,
    0.4: 0.25,
}  # standard deviation of the change of the exponent over one e-fold of samples: prior odds
_SETTLING = 1.0  # the variance of that drift grows like this power of (largest size / size): curves bend early
_NUGGET = 0.02  # log-error of one measured size that it shares with no other
OFFSETS = {0.0: 1.0, 0.25: 0.01, 0.5: 0.01}  # share of the last error that never goes away: prior odds
NOISY = {0.0: 1.0, 0.25: 0.05, 0.5: 0.05, 0.75: 0.05, 0.9: 0.05}  # the same for squared errors, in which noise stays
_STEPS = 256  # of the quadrature over the drift


def _drift_covariance(z: Array) -> Array:
    """Covariance of twice integrated noise, of unit density at the largest size and above, growing towards small ones."""
    start, end = float(z.min()), float(z.max())
    v, step = np.linspace(start, end, _STEPS, retstep=True)
    density = np.exp(-_SETTLING * np.minimum(v, 0.0)) * step
    reach = np.maximum(z[:, None] - v, 0.0) * np.sqrt(density)
    return np.asarray(reach @ reach.T)


def local_power_law(
    sizes: Array, errors: Array, covariance: Array, at: Array, offsets: Mapping[float, float] = OFFSETS
) -> tuple[Array, Array]:
    r"""Log-error at sizes ``at`` and its standard deviation, from errors measured at ``sizes``.

    With :math:`z = \log(p/p_{max})` the model is :math:`\log(E - c) = a + b z + w(z)`, where a and b are free, w is an
    integrated random walk (the exponent drifts, less and less as samples grow; how fast is seen from the bends of the measured
    curve) and the measured log-errors have the
    ``covariance`` of the bootstrap plus a nugget: neighbouring sizes are tested on the same samples, so their errors are
    mostly one common error of the level, which a weighted fit must not take for independent points. The best linear unbiased
    prediction (Rasmussen & Williams 2006, eqs. 2.41-2.42) is averaged over ``offsets`` c (shares of the lowest error, with prior
    odds) and speeds of the drift, weighted by their restricted likelihood.
    """
    last = np.arange(len(sizes)) >= len(sizes) - 3  # three at the least
    inside = (sizes >= sizes.max() / _WINDOW * 0.999) | last
    z, E = np.log(sizes[inside] / sizes.max()), errors[inside]
    n = len(z)
    target = np.log(at / sizes.max())
    noise = covariance[np.ix_(inside, inside)] + _NUGGET**2 * np.eye(n)
    unit = _drift_covariance(np.append(z, np.maximum(target, z[0])))
    X, ahead = (np.stack([np.ones_like(v), v], 1) for v in (z, target))
    found = []
    for (share, odds), (speed, belief) in product(offsets.items(), _DRIFTS.items()):
        drift = speed**2 * unit
        cross, own = drift[n:, :n], np.diag(drift)[n:]
        offset = share * E.min()
        y, stretch = np.log(E - offset), E / (E - offset)  # d log(E - c) = stretch d log E
        total = drift[:n, :n] + stretch[:, None] * noise * stretch
        inverse = np.linalg.inv(total)
        spread = np.linalg.inv(X.T @ inverse @ X)
        line = spread @ X.T @ inverse @ y
        left = y - X @ line
        fit = np.linalg.slogdet(total)[1] - np.linalg.slogdet(spread)[1] + left @ inverse @ left
        score = np.log(odds * belief) - 0.5 * fit + np.log(stretch).sum()
        mean = ahead @ line + cross @ inverse @ left
        rest = ahead - cross @ inverse @ X
        variance = own - ((cross @ inverse) * cross).sum(1) + ((rest @ spread) * rest).sum(1)
        with_offset = np.logaddexp(mean, np.log(offset)) if offset > 0 else mean
        found.append((score, with_offset, np.maximum(variance, 0.0) * np.exp(2 * (mean - with_offset))))
    scores = np.array([f[0] for f in found])
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    middle = np.einsum("o,on->n", weights, np.stack([f[1] for f in found]))
    variance = sum(w * (f[2] + (f[1] - middle) ** 2) for w, f in zip(weights, found))
    return middle, np.sqrt(variance)

"""Real orthonormal harmonics on spheres of any dimension."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Array = NDArray[np.float64]


def harmonics(x: Array, degree_max: int) -> list[Array]:
    r"""Harmonic polynomials of each degree at x (n, d), d >= 2, orthonormal under the uniform measure of the unit sphere.

    By descent in dimension, :math:`H_l(x) = r^{l-j} C^{(j+d/2-1)}_{l-j}(x_d/r)\, H_j(x')` for j = 0..l, with the radial
    factor by its homogeneous recurrence, so that the poles need no care. A list of (n, N(d, l)).
    """
    dim = x.shape[1]
    if dim == 2:
        z = x[:, 0] + 1j * x[:, 1]
        powers = [np.ones((len(x), 1))]
        for m in range(1, degree_max + 1):
            power = z**m
            powers.append(np.sqrt(2) * np.stack([power.real, power.imag], 1))
        return powers
    lower = harmonics(x[:, :-1], degree_max)
    last, square = x[:, -1], (x**2).sum(1)
    found: list[list[Array]] = [[] for _ in range(degree_max + 1)]
    for j, block in enumerate(lower):
        a = j + dim / 2 - 1
        radial = _gegenbauer(last, square, a, degree_max - j)
        for m, values in enumerate(radial):
            found[j + m].append(block * (values / _norm(m, a, dim))[:, None])
    return [np.concatenate(parts, 1) for parts in found]


def _gegenbauer(t: Array, square: Array, a: float, degree_max: int) -> list[Array]:
    """Homogeneous r^m C_m^{(a)}(t/r) for m = 0..degree_max."""
    rows = [np.ones_like(t), 2 * a * t]
    for m in range(2, degree_max + 1):
        rows.append((2 * (m + a - 1) * t * rows[m - 1] - (m + 2 * a - 2) * square * rows[m - 2]) / m)
    return rows[: degree_max + 1]


def _norm(m: int, a: float, dim: int) -> float:
    """Root mean square of C_m^{(a)}(t) (1 - t²)^{j/2}, t the last coordinate of a uniform point, a = j + dim/2 - 1."""
    log_square = np.log(np.pi) + (1 - 2 * a) * np.log(2) + gammaln(m + 2 * a) - gammaln(m + 1) - np.log(m + a)
    log_square -= 2 * gammaln(a)
    log_measure = 0.5 * np.log(np.pi) + gammaln((dim - 1) / 2) - gammaln(dim / 2)  # of (1 - t²)^{(d-3)/2}
    return float(np.exp((log_square - log_measure) / 2))

"""The polynomial behind the angle, derived again and measured."""

import mpmath
import numpy as np
import pytest
from numba import njit

from priorscope.models.kernels.fused._angle import (
    ARCSINE_COEFFICIENTS,
    COEFFICIENTS,
    SHORT_COEFFICIENTS,
    angle_ratio,
    arcsine,
    short_angle_ratio,
    sine,
    supplement,
)


def angle(u):
    """arccos(c) / sqrt(1 - c²) at u = 2c - 1."""
    c = (u + 1) / 2
    return mpmath.acos(c) / mpmath.sqrt(1 - c * c)


def arc(u):
    """asin(sqrt z) / sqrt z at u = 8z - 1."""
    z = (u + 1) / 8
    return mpmath.asin(mpmath.sqrt(z)) / mpmath.sqrt(z)


def chebyshev_interpolant(n: int, fn=angle) -> list[float]:
    """Monomial coefficients of the interpolant at n Chebyshev nodes, to 50 digits."""
    with mpmath.workdps(50):
        angles = [mpmath.pi * (2 * j + 1) / (2 * n) for j in range(n)]
        values = [fn(mpmath.cos(angle)) for angle in angles]
        total = [mpmath.mpf(0)] * n
        before, now = [mpmath.mpf(1)], [mpmath.mpf(0), mpmath.mpf(1)]
        for k in range(n):
            share = (2 if k else 1) * sum(v * mpmath.cos(k * a) for v, a in zip(values, angles)) / n
            for i, coefficient in enumerate(before):
                total[i] += share * coefficient
            after = [mpmath.mpf(0), *(2 * a for a in now)]
            for i, coefficient in enumerate(before):
                after[i] -= coefficient
            before, now = now, after
        return [float(t) for t in total]


def test_the_table_is_what_its_derivation_gives():
    np.testing.assert_allclose(COEFFICIENTS, chebyshev_interpolant(20), rtol=1e-12, atol=1e-22)
    np.testing.assert_allclose(SHORT_COEFFICIENTS, chebyshev_interpolant(12), rtol=1e-12, atol=1e-22)
    np.testing.assert_allclose(ARCSINE_COEFFICIENTS, chebyshev_interpolant(13, arc), rtol=1e-12, atol=1e-22)


def test_the_arcsine_is_right_relative_to_itself():
    @njit
    def arcs(c):
        return np.array([arcsine(v) for v in c])

    c = np.concatenate([np.linspace(-1, 1, 4001), 10.0 ** np.arange(-300, -1, 7), 1 - 10.0 ** np.arange(-16, -1)])
    expected = np.array([float(mpmath.asin(mpmath.mpf(v))) for v in c])
    np.testing.assert_allclose(arcs(c), expected, rtol=1e-15, atol=0)  # some four roundings


def test_the_angle_is_right_to_rounding_also_at_the_ends():
    @njit
    def angles(c):
        return np.array([supplement(v, sine(v)) for v in c])

    c = np.concatenate([np.linspace(-1, 1, 4001), 1 - 10.0 ** np.arange(-16, -1), -1 + 10.0 ** np.arange(-16, -1)])
    expected = np.array([float(mpmath.pi - mpmath.acos(mpmath.mpf(v))) for v in c])
    assert np.abs(angles(c) - expected).max() < 2e-15


def test_a_shorter_polynomial_would_not_do():
    u = np.linspace(-1, 1, 101)[:-1]
    c = (u + 1) / 2
    exact = np.arccos(c) / np.sqrt((1 - c) * (1 + c))
    assert np.abs(np.polyval(chebyshev_interpolant(12)[::-1], u) - exact).max() > 1e-11
    short = np.array([short_angle_ratio.py_func(v) for v in c])
    assert 1e-11 < np.abs(short - exact).max() < 6e-10  # enough for float32 only
    assert angle_ratio.py_func(0.5) == pytest.approx(np.arccos(0.5) / np.sqrt(0.75), rel=1e-15)

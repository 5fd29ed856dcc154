r"""Gaussian expectations of the nonlinearities over flat arrays, in place.

K becomes :math:`E[\phi\phi]` and T becomes :math:`T\,E[\phi'\phi']`. Each nonlinearity keeps two numbers of every variance q,
``s`` and ``r`` (:func:`prepare`). Before :func:`expect` the driver has replaced K by K r1 r2 (not for rectifiers, which divide by
w: a table less to read, nor for those that live in the exponent) and put into ``w`` the product r1 r2 (s1 s2 for rectifiers; the
sum s1 + s2 in the exponent), into ``g`` GELU's product s1 s2.
Formulas: Cho & Saul (2009) for the rectifiers, Williams (1997) for erf; GELU's is that of its torch class in terms of the cosine;
sine, Gaussian and exponential are moment generating functions. Parameters p0, p1, p2, p3 are said at each kind.
What these formulas lose at large variances is bounded by :data:`STEEPEST`.
"""

from __future__ import annotations

from math import copysign, exp, expm1, pi, sqrt

import numpy as np
from numba import njit

from priorscope.models.kernels._instructions import (
    ERF,
    EXPONENTIAL,
    GAUSSIAN,
    GELU,
    NORM,
    RECTIFIER,
    SIGN,
    SINE,
)
from priorscope.models.kernels.fused._angle import SNAP, arcsine, sine, supplement

__all__ = ["FAST", "STEEPEST", "expect", "prepare", "variances_of"]

FAST = {"contract", "nsz"}
HALF_PI = pi / 2
TWO_PI = 2 * pi
TINY = 1e-300  # at zero variance the covariance is zero too, and the cosine counts as zero
# The largest variance, in units of the nonlinearity's own scale, that is computed here: a difference of two covariances of
# this size, known to a rounding each, is known to some 1e-11 of that scale.
STEEPEST = 1e5


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def prepare(kind, p, q):
    """The two numbers (s, r) kept of a variance."""
    if kind in (RECTIFIER, SIGN):
        s = sqrt(max(q, 0.0))
        return s, (1.0 / s if s > 0.0 else 0.0)
    if kind == ERF:
        return q, sqrt(2.0) / sqrt(1.0 + 2.0 * q)
    if kind == GELU:
        return q, 1.0 / sqrt(1.0 + q)
    if kind in (SINE, EXPONENTIAL):
        return 0.5 * p[1] * p[1] * q, 1.0
    if kind == GAUSSIAN:
        return q, 1.0 / sqrt(1.0 + 2.0 * p[1] * q)
    s = sqrt(max(q + p[0], 0.0))
    return s, (1.0 / s if s > 0.0 else 0.0)


def variances_of(kind: int, p: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, float]:
    """The variances from which ``s`` was prepared, and the scale in whose units :data:`STEEPEST` counts (infinite: no limit)."""
    if kind in (RECTIFIER, SIGN):
        return s * s, np.inf
    if kind == NORM:
        return np.maximum(s * s - p[0], 0.0), np.inf
    rate = float(p[1]) ** 2
    if kind in (SINE, EXPONENTIAL):
        return (s / (0.5 * rate) if rate else np.zeros_like(s)), (1 / rate if rate and kind == SINE else np.inf)
    return s, 1 / (2 * float(p[1])) if kind == GAUSSIAN else 1.0


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def rectifier(K, T, w, n, with_ntk, a, b):
    """The covariance of a rectifier with slopes ``a`` and ``b``, lane by lane, in place."""
    square = (a - b) * (a - b) / TWO_PI
    cross = a * b
    if with_ntk:
        for m in range(n):
            c = K[m] / (w[m] + TINY)
            c = c if c < 1.0 - SNAP else 1.0
            c = c if c > -1.0 + SNAP else -1.0
            sin = sine(c)
            rest = supplement(c, sin)
            K[m] = w[m] * (square * (sin + rest * c) + cross * c)
            T[m] = T[m] * (square * rest + cross)
    else:
        for m in range(n):
            c = K[m] / (w[m] + TINY)
            c = c if c < 1.0 - SNAP else 1.0
            c = c if c > -1.0 + SNAP else -1.0
            sin = sine(c)
            K[m] = w[m] * (square * (sin + supplement(c, sin) * c) + cross * c)


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def arcsine_family(kind, p, K, T, w, n, with_ntk):
    """erf, sign and Gaussian: functions of the cosine (and of w = r1 r2)."""
    factor = 2.0 / pi
    if kind == ERF:
        for m in range(n):
            c = min(max(K[m], -1.0), 1.0)
            K[m] = factor * arcsine(c)
            if with_ntk:
                T[m] = T[m] * (factor * w[m] / sine(c))
    elif kind == SIGN:
        for m in range(n):
            c = K[m]
            c = c if c < 1.0 - SNAP else 1.0
            c = c if c > -1.0 + SNAP else -1.0
            K[m] = factor * arcsine(c)
            if with_ntk:
                T[m] = 0.0
    else:
        square = p[0] * p[0]
        for m in range(n):
            c = 2.0 * p[1] * K[m]
            root = 1.0 / sine(c)
            K[m] = square * w[m] * root
            if with_ntk:
                T[m] = T[m] * (square * 2.0 * p[1] * c * w[m] * w[m] * root * root * root)


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def gelu(K, T, w, g, n, with_ntk):
    """With c the cosine of (u, v) + two unit normals and D = sin / w: all terms but k's own are positive."""
    for m in range(n):
        c, r = K[m], w[m]
        k = c / r
        sin = sine(c)
        density = r / (TWO_PI * sin)  # of (u, v) + two unit normals, at zero
        both = 0.25 + arcsine(c) / TWO_PI
        K[m] = (g[m] * sin * sin + c * c) * density + k * both
        if with_ntk:
            T[m] = T[m] * (both + k * density * ((1.0 - g[m] * r * r) + r * r * (2.0 + c * c / (sin * sin))))


@njit(nogil=True, error_model="numpy")
def exponentials(kind, p, K, T, w, n, with_ntk):
    """Sine and exponential; ``w`` = s1 + s2."""
    square = p[0] * p[0]
    rate = p[1] * p[1]
    even, odd = p[2], p[3]  # shares of the function: the cosine's and the sine's
    if kind == EXPONENTIAL:
        for m in range(n):
            value = square * exp(rate * K[m] + w[m])
            K[m] = value
            if with_ntk:
                T[m] = T[m] * (rate * value)
    elif even == odd:  # half a turn's quarter: the Gaussian kernel
        for m in range(n):
            value = square * even * exp(rate * K[m] - w[m])
            K[m] = value
            if with_ntk:
                T[m] = T[m] * (rate * value)
    else:
        for m in range(n):
            a = rate * K[m]
            near = 0.5 * square * exp(abs(a) - w[m])
            less = expm1(-2.0 * abs(a))
            cosh, sinh = (
                near * (2.0 + less),
                copysign(near * less, a),
            )  # times exp(-w): small covariances keep their digits
            K[m] = even * cosh + odd * sinh
            if with_ntk:
                T[m] = T[m] * (rate * (odd * cosh + even * sinh))


@njit(inline="always")
def expect(kind, p, K, T, w, g, n, with_ntk):
    """One nonlinearity on n numbers."""
    if kind == RECTIFIER:
        rectifier(K, T, w, n, with_ntk, p[0], p[1])
    elif kind == GELU:
        gelu(K, T, w, g, n, with_ntk)
    elif kind in (SINE, EXPONENTIAL):
        exponentials(kind, p, K, T, w, n, with_ntk)
    elif kind != NORM:
        arcsine_family(kind, p, K, T, w, n, with_ntk)
    elif with_ntk:
        for m in range(n):
            T[m] = T[m] * w[m]

r"""Gaussian expectations of the nonlinearities over flat arrays, in place.

K becomes :math:`E[\phi\phi]` and T becomes :math:`T\,E[\phi'\phi']`. Each nonlinearity keeps two numbers of every variance q,
``s`` and ``r`` (:func:`prepare`). Before :func:`expect` the driver has replaced K by K r1 r2 (not for rectifiers, which divide by
w: a table less to read) and put into ``w`` the product s1 s2 (or the sum, for those that live in the exponent; or r1 r2), into
``g`` the sum r1² + r2².
Formulas: Cho & Saul (2009) for the rectifiers, Williams (1997) for erf, Tsuchida et al. (2020) for GELU; sine, Gaussian and
exponential are moment generating functions. Parameters p0, p1, p2 are said at each kind.
"""

from __future__ import annotations

from math import exp, pi, sqrt

from numba import njit

from priorscope.models.kernels.fused._angle import HALF_TURN, SNAP, sine, supplement

__all__ = ["RECTIFIER", "ERF", "SIGN", "GELU", "SINE", "GAUSSIAN", "EXPONENTIAL", "NORM", "FAST", "expect", "prepare"]

RECTIFIER = 0  # p0 x on x < 0, p1 x on x > 0
ERF = 1  # p0 erf(p1 x) + p2
SIGN = 2
GELU = 3
SINE = 4  # p0 sin(p1 x + p2)
GAUSSIAN = 5  # p0 exp(-p1 x²)
EXPONENTIAL = 6  # p0 exp(p1 x)
NORM = 7  # LayerNorm over channels: K / sqrt((q1 + p0)(q2 + p0))

FAST = {"contract", "nsz"}
HALF_PI = pi / 2
TWO_PI = 2 * pi
TINY = 1e-300  # at zero variance the covariance is zero too, and the cosine counts as zero


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def prepare(kind, p, q):
    """The two numbers (s, r) kept of a variance."""
    if kind in (RECTIFIER, SIGN):
        s = sqrt(max(q, 0.0))
        return s, (1.0 / s if s > 0.0 else 0.0)
    if kind == ERF:
        return 0.0, p[1] * sqrt(2.0) / sqrt(1.0 + 2.0 * p[1] * p[1] * q)
    if kind == GELU:
        return 0.0, 1.0 / sqrt(1.0 + q)
    if kind in (SINE, EXPONENTIAL):
        return 0.5 * p[1] * p[1] * q, 1.0
    if kind == GAUSSIAN:
        return 0.0, 1.0 / sqrt(1.0 + 2.0 * p[1] * q)
    s = sqrt(max(q + p[0], 0.0))
    return s, (1.0 / s if s > 0.0 else 0.0)


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def rectifier(K, T, w, n, with_ntk, a, b):
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
    if kind == ERF:
        amplitude, offset = p[0] * p[0] * 2.0 / pi, p[2] * p[2]
        for m in range(n):
            c = min(max(K[m], -1.0), 1.0)
            sin = sine(c)
            K[m] = amplitude * (supplement(c, sin) - HALF_PI) + offset
            if with_ntk:
                T[m] = T[m] * (amplitude * w[m] / sin)
    elif kind == SIGN:
        for m in range(n):
            c = K[m]
            c = c if c < 1.0 - SNAP else 1.0
            c = c if c > -1.0 + SNAP else -1.0
            K[m] = supplement(c, sine(c)) * (2.0 / HALF_TURN) - 1.0
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
    for m in range(n):
        c, r = K[m], w[m]
        k = c / r
        sin = sine(c)
        density = r / (TWO_PI * sin)  # of (u, v) + two unit normals, at zero
        both = 0.25 + (supplement(c, sin) - HALF_PI) / TWO_PI
        K[m] = ((1.0 - g[m]) / (r * r) + 1.0 - k * k * (1.0 - g[m])) * density + k * both
        if with_ntk:
            T[m] = T[m] * (both + k * density * (g[m] + r * r / (sin * sin)))


@njit(nogil=True, error_model="numpy")
def exponentials(kind, p, K, T, w, n, with_ntk, fold):
    """Sine and exponential; ``w`` = s1 + s2, ``fold`` = cos(2 p2)."""
    square = p[0] * p[0]
    rate = p[1] * p[1]
    for m in range(n):
        if kind == SINE:
            near = exp(rate * K[m] - w[m])
            far = fold * exp(-rate * K[m] - w[m]) if fold != 0.0 else 0.0
            K[m] = 0.5 * square * (near - far)
            if with_ntk:
                T[m] = T[m] * (0.5 * square * rate * (near + far))
        else:
            value = square * exp(rate * K[m] + w[m])
            K[m] = value
            if with_ntk:
                T[m] = T[m] * (rate * value)


@njit(inline="always")
def expect(kind, p, K, T, w, g, n, with_ntk):
    """One nonlinearity on n numbers."""
    if kind == RECTIFIER:
        rectifier(K, T, w, n, with_ntk, p[0], p[1])
    elif kind == GELU:
        gelu(K, T, w, g, n, with_ntk)
    elif kind in (SINE, EXPONENTIAL):
        exponentials(kind, p, K, T, w, n, with_ntk, p[3])
    elif kind != NORM:
        arcsine_family(kind, p, K, T, w, n, with_ntk)
    elif with_ntk:
        for m in range(n):
            T[m] = T[m] * w[m]

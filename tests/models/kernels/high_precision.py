"""Kernels of fully connected networks in arithmetic of many digits: textbook formulas, none of the library's.

Rectifiers and sign as angles (Cho & Saul 2009), erf as an arcsine (Williams 1997), GELU by Stein's lemma, sine, Gaussian and
exponential as Gaussian integrals, polynomials by Isserlis' recursion of moments. With sixty digits no cancellation matters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import factorial

import mpmath as mp
import numpy as np

from priorscope import models as M

DIGITS = 60
Triple = tuple[mp.mpf, mp.mpf, mp.mpf]
Map = Callable[[mp.mpf, mp.mpf, mp.mpf], tuple[mp.mpf, mp.mpf]]


def rectifier(left: float, right: float) -> Map:
    line, fold = ((mp.mpf(right) + sign * mp.mpf(left)) / 2 for sign in (1, -1))

    def both(k12, k11, k22):
        size = mp.sqrt(k11 * k22)
        if size == 0:
            return mp.mpf(0), line**2  # the library's convention: a cosine of zero
        c = min(max(k12 / size, mp.mpf(-1)), mp.mpf(1))
        theta = mp.acos(c)
        folded = 2 / mp.pi * (mp.sin(theta) + (mp.pi / 2 - theta) * c)
        return line**2 * k12 + fold**2 * size * folded, line**2 + fold**2 * (1 - 2 * theta / mp.pi)

    return both


def sign(k12, k11, k22):
    size = mp.sqrt(k11 * k22)
    c = min(max(k12 / size, mp.mpf(-1)), mp.mpf(1)) if size else mp.mpf(0)
    return 2 / mp.pi * mp.asin(c), mp.mpf(0)


def erf(k12, k11, k22):
    product = (1 + 2 * k11) * (1 + 2 * k22)
    return 2 / mp.pi * mp.asin(2 * k12 / mp.sqrt(product)), 4 / mp.pi / mp.sqrt(product - 4 * k12**2)


def gelu(k12, k11, k22):
    product = (1 + k11) * (1 + k22)
    d = mp.sqrt(product - k12**2)
    m = 1 - k11 / (1 + k11) - k22 / (1 + k22)
    both = mp.mpf(1) / 4 + mp.asin(k12 / mp.sqrt(product)) / (2 * mp.pi)
    top = k11 * k22 + m * k12**2
    slope = both + (k12 * (1 + 2 * m) + top * k12 / d**2) / (2 * mp.pi * d)
    return k12 * both + top / (2 * mp.pi * d), slope


def sine(amplitude: float, frequency: float, phase) -> Map:
    def both(k12, k11, k22):
        a, w = mp.mpf(amplitude), mp.mpf(frequency)
        minus, plus = (mp.exp(-(w**2) / 2 * (k11 + k22 + s * 2 * k12)) for s in (-1, 1))
        fold = mp.cos(2 * mp.mpf(phase))
        return a**2 / 2 * (minus - fold * plus), (a * w) ** 2 / 2 * (minus + fold * plus)

    return both


def gaussian(amplitude: float, precision: float) -> Map:
    def both(k12, k11, k22):
        a, b = mp.mpf(amplitude), mp.mpf(precision)
        d = (1 + 2 * b * k11) * (1 + 2 * b * k22) - 4 * b**2 * k12**2
        return a**2 / mp.sqrt(d), 4 * (a * b) ** 2 * k12 / d ** mp.mpf("1.5")

    return both


def exponential(amplitude: float, rate: float) -> Map:
    def both(k12, k11, k22):
        a, b = mp.mpf(amplitude), mp.mpf(rate)
        value = a**2 * mp.exp(b**2 / 2 * (k11 + k22 + 2 * k12))
        return value, b**2 * value

    return both


def polynomial(coefficients) -> Map:
    def expectation(p, k12, k11, k22):
        @cache
        def moment(i, j):  # E[u^i v^j]
            if i == 0:
                return mp.mpf(0) if j % 2 else mp.fac2(j - 1) * k22 ** (j // 2)
            first = (i - 1) * k11 * moment(i - 2, j) if i > 1 else mp.mpf(0)
            return first + (j * k12 * moment(i - 1, j - 1) if j else mp.mpf(0))

        return sum((a * b * moment(i, j) for i, a in enumerate(p) for j, b in enumerate(p) if a and b), mp.mpf(0))

    p = [mp.mpf(c) for c in coefficients]
    slope = [j * c for j, c in enumerate(p)][1:]
    return lambda k12, k11, k22: (expectation(p, k12, k11, k22), expectation(slope, k12, k11, k22))


def hermite(degree: int) -> Map:
    whole = np.polynomial.hermite_e.herme2poly([0] * degree + [1])  # integers, exact
    return polynomial([mp.mpf(int(c)) / mp.sqrt(factorial(degree)) for c in whole])


def rbf(k12, k11, k22):
    g = mp.mpf(0.4)
    value = mp.exp(-g * (k11 + k22 - 2 * k12))
    return value, 2 * g * value


# name: ours, theirs
CASES: dict[str, tuple[M.Nonlinearity, Map]] = {
    "relu": (M.ReLU(), rectifier(0, 1)),
    "leaky": (M.LeakyReLU(0.2), rectifier(0.2, 1)),
    "ab": (M.ABReLU(-0.4, 0.8), rectifier(-0.4, 0.8)),
    "abs": (M.Abs(), rectifier(-1, 1)),
    "linear": (M.Linear(), rectifier(1, 1)),
    "sign": (M.Sign(), sign),
    "erf": (M.Erf(), erf),
    "gelu": (M.GELU(), gelu),
    "sine": (M.Sine(), sine(1, 1, 0)),
    "sine with phase": (M.Sine(1.1, 0.7, 0.3), sine(1.1, 0.7, 0.3)),
    "cosine": (M.Cosine(0.9, 1.2), sine(0.9, 1.2, mp.pi / 2)),
    "rbf": (M.RBF(0.4), rbf),
    "gaussian": (M.Gaussian(1.2, 0.6), gaussian(1.2, 0.6)),
    "exponential": (M.Exponential(0.8, 0.4), exponential(0.8, 0.4)),
    "quadratic": (M.Monomial(2), polynomial([0, 0, 1])),
    "cubic": (M.Monomial(3), polynomial([0, 0, 0, 1])),
    "polynomial": (M.Polynomial((0.3, 1.0, -0.2)), polynomial([0.3, 1.0, -0.2])),
    "hermite": (M.Hermite(5), hermite(5)),
}


def fcn(phi: Map, depth: int, weight: float, bias: float, x: np.ndarray) -> tuple[list[Triple], list[Triple]]:
    """NNGP and NTK of two inputs: (between them, of the first, of the second)."""
    with mp.workdps(DIGITS):
        w, b = mp.mpf(weight), mp.mpf(bias)
        rows = [[mp.mpf(float(v)) for v in row] for row in x]
        dot = lambda r, s: sum(u * v for u, v in zip(r, s)) / len(r)  # noqa: E731
        pairs = ((0, 1), (0, 0), (1, 1))
        k = [w * dot(rows[i], rows[j]) + b for i, j in pairs]
        t = list(k)
        for _ in range(depth):
            maps = [phi(k[0], k[1], k[2]), phi(k[1], k[1], k[1]), phi(k[2], k[2], k[2])]
            t = [w * slope * old for (_, slope), old in zip(maps, t)]
            k = [w * value + b for value, _ in maps]
            t = [a + c for a, c in zip(t, k)]
        return k, t

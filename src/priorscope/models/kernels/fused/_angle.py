r"""The angle between two Gaussian pre-activations, without a branch and with one square root.

On [0, 1] the function :math:`G(c) = \arccos(c)/\sqrt{1-c^2}` is analytic (its nearest singularity is c = -1), so a
polynomial of degree 19 in :math:`2c - 1` reaches it to 7e-16, one of degree 11 to 6e-10, enough for results in float32.
The sine is needed anyway, hence :math:`\arccos c = \sin\theta\, G(c)` for c >= 0 and :math:`\pi - \sin\theta\, G(-c)` below.
The arcsine itself keeps its relative accuracy at small c, where that difference would not: for |c| up to a half it is
:math:`c\,A(c^2)`, above :math:`\pi/2 - 2\sqrt z A(z)` with :math:`z = (1-|c|)/2`, where A(z) is analytic on [0, 1/4] and
reached to 4e-17 by a polynomial of degree 12 in :math:`8z - 1`.
The coefficients are those of the interpolants at Chebyshev nodes; a test derives them again. The polynomials take
numbers or vectors.
"""

from __future__ import annotations

from math import copysign, pi, sqrt

from numba import njit

__all__ = [
    "ARCSINE_COEFFICIENTS",
    "COEFFICIENTS",
    "SHORT_COEFFICIENTS",
    "HALF_TURN",
    "SNAP",
    "angle_ratio",
    "arcsine",
    "short_angle_ratio",
    "sine",
    "supplement",
]

HALF_TURN = pi
# A cosine this close to one (32 roundings) is one: the inputs are equal, and arccos would turn the rounding into an
# angle of 1e-7.
SNAP = 7.2e-15

COEFFICIENTS = (
    1.209199576156145,
    -0.26360014128128484,
    0.06973319205209126,
    -0.01983714692249483,
    0.005861628973487859,
    -0.0017729284605962836,
    0.0005447740070102313,
    -0.00016930995388714085,
    5.307358013634001e-05,
    -1.6749101259775154e-05,
    5.314747943610747e-06,
    -1.69379540735378e-06,
    5.408086436970904e-07,
    -1.7353086816881773e-07,
    5.723663161320023e-08,
    -1.846316471434757e-08,
    4.773585140083581e-09,
    -1.5432258396115456e-09,
    1.0617732929508853e-09,
    -3.45259271173096e-10,
)
(C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13, C14, C15, C16, C17, C18, C19) = COEFFICIENTS

SHORT_COEFFICIENTS = (
    1.2091995757907175,
    -0.2636001411638357,
    0.06973321832499928,
    -0.019837155366604905,
    0.005861324736361166,
    -0.001772830682245203,
    0.0005460521782383914,
    -0.00016972071365044724,
    5.068019710851854e-05,
    -1.59800586969894e-05,
    7.311762334662064e-06,
    -2.3352813138787367e-06,
)
(S0, S1, S2, S3, S4, S5, S6, S7, S8, S9, S10, S11) = SHORT_COEFFICIENTS

ARCSINE_COEFFICIENTS = (
    1.0221005752492498,
    0.023472196200223696,
    0.0014859415578623767,
    0.0001252931333125488,
    1.2116523076359425e-05,
    1.2699306619707348e-06,
    1.4033986429553094e-07,
    1.610162298899928e-08,
    1.8997198592225374e-09,
    2.2879519988639685e-10,
    2.806229837927185e-11,
    3.682454096807647e-12,
    4.639095481370581e-13,
)
(A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12) = ARCSINE_COEFFICIENTS


@njit(forceinline=True)
def angle_ratio(c: float) -> float:
    """``arccos(c) / sqrt(1 - c**2)`` for c in [0, 1]."""
    u = 2.0 * c - 1.0
    v = u * u
    even = C16 + v * C18
    odd = C17 + v * C19
    even = C14 + v * even
    odd = C15 + v * odd
    even = C12 + v * even
    odd = C13 + v * odd
    even = C10 + v * even
    odd = C11 + v * odd
    even = C8 + v * even
    odd = C9 + v * odd
    even = C6 + v * even
    odd = C7 + v * odd
    even = C4 + v * even
    odd = C5 + v * odd
    even = C2 + v * even
    odd = C3 + v * odd
    even = C0 + v * even
    odd = C1 + v * odd
    return even + u * odd


@njit(forceinline=True)
def short_angle_ratio(c: float) -> float:
    """The same to 6e-10."""
    u = 2.0 * c - 1.0
    v = u * u
    even = S8 + v * S10
    odd = S9 + v * S11
    even = S6 + v * even
    odd = S7 + v * odd
    even = S4 + v * even
    odd = S5 + v * odd
    even = S2 + v * even
    odd = S3 + v * odd
    even = S0 + v * even
    odd = S1 + v * odd
    return even + u * odd


@njit(forceinline=True)
def sine(c: float) -> float:
    """``sqrt(1 - c**2)``, exact to rounding near one."""
    return sqrt((1.0 - c) * (1.0 + c))


@njit(forceinline=True)
def supplement(c: float, sin: float) -> float:
    """``pi - arccos(c)`` for c in [-1, 1], given its sine."""
    small = sin * angle_ratio(abs(c))
    return HALF_TURN - small if c >= 0.0 else small


@njit(forceinline=True)
def arcsine(c: float) -> float:
    """``asin(c)`` for c in [-1, 1], to rounding relative to itself."""
    a = abs(c)
    big = a > 0.5
    z = 0.5 * (1.0 - a) if big else a * a
    u = 8.0 * z - 1.0
    v = u * u
    even = A10 + v * A12
    odd = A9 + v * A11
    even = A8 + v * even
    odd = A7 + v * odd
    even = A6 + v * even
    odd = A5 + v * odd
    even = A4 + v * even
    odd = A3 + v * odd
    even = A2 + v * even
    odd = A1 + v * odd
    even = A0 + v * even
    ratio = even + u * odd
    return copysign(0.5 * HALF_TURN - 2.0 * sqrt(z) * ratio if big else a * ratio, c)

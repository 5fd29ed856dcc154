"""Kernel regression in integers of many bits, where double precision cannot settle what happens."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from priorscope.checks import each, whole
from priorscope.contracts import guarded
from priorscope.models import RadialKernel

__all__ = ["error_in_many_digits"]

Integers = NDArray[np.object_]


@guarded(sizes=each(whole(2)), bits=whole(64))
def error_in_many_digits(
    teacher: RadialKernel, student: RadialKernel, train: Tensor, test: Tensor, sizes: Sequence[int], *, bits: int = 400
) -> tuple[NDArray[np.float64], float]:
    r"""Expected errors of ridgeless regression on the first points in numbers of ``bits`` bits, and the smallest pivot.

    .. math:: E = K_T(x,x) - 2\,a\cdot k_T(x) + a^\top K_T\,a, \qquad a = K_S^{-1}k_S(x)

    by definition as in :func:`teacher_student`, by :math:`K_S = LDL^\top` in Python's integers and kernels by mpmath; the
    coordinates count as exact. The smallest entry of D says how far the matrix is from singular. Refused where it has
    fewer than 64 bits left: give more bits. Time grows like n³: 10 s for 400 points of 400 bits.

    Example:
        >>> import priorscope as ps
        >>> kernel, x = ps.models.gaussian(1.0), ps.probes.teacher_points("sphere", 1, 12)
        >>> errors, pivot = error_in_many_digits(kernel, kernel, x[:10], x[10:], [5, 10])
        >>> bool(errors[1] < errors[0]), pivot < 1e-4
        (True, True)
    """
    n, one = max(sizes), 1 << bits
    K, k = _matrix(student, train[:n], train[:n], bits), _matrix(student, train[:n], test, bits)
    T, t = _matrix(teacher, train[:n], train[:n], bits), _matrix(teacher, train[:n], test, bits)
    L, D = _factor(K, one)
    smallest = min(D)
    if smallest < 1 << 64:
        raise ValueError(
            f"{bits} bits leave none of {n} points' kernel: a pivot of {smallest / one:.1g}. Give about {bits + n} bits."
        )
    v = _forward(L, k, one)  # rows of the first p points are those of every prefix
    found = []
    for p in sizes:
        a = _backward(L[:p, :p], np.array([(v[i] * one) // D[i] for i in range(p)], dtype=object), one)
        linear = (a * t[:p]).sum(0)
        square = (a * (T[:p, :p].dot(a) // one)).sum(0)
        found.append(float(np.mean([(one + (s - 2 * c) // one) / one for s, c in zip(square, linear)])))
    return np.array(found), smallest / one


def _matrix(kernel: RadialKernel, x1: Tensor, x2: Tensor, bits: int) -> Integers:
    """The kernel times 2^bits, rounded; coordinates are taken as they are."""
    import mpmath as mp

    a, b = (np.array([[int(v * 2**60) for v in row] for row in x.tolist()], dtype=object) for x in (x1, x2))
    same = x1 is x2 or (x1.shape == x2.shape and bool((x1 == x2).all()))
    out = np.empty((len(a), len(b)), dtype=object)
    with mp.workprec(bits + 20):
        sigma = mp.mpf(float(kernel.bandwidth)) * mp.mpf(2) ** 60
        for i in range(len(a)):
            gaps = ((a[i] - b[: i + 1 if same else len(b)]) ** 2).sum(1)
            for j, gap in enumerate(gaps):
                out[i, j] = int(
                    mp.floor(_radial(mp, mp.mpf(int(gap)) / sigma**2, kernel.smoothness) * mp.mpf(2) ** bits)
                )
                if same:
                    out[j, i] = out[i, j]
    return out


def _radial(mp, squared, nu: float):  # type: ignore[no-untyped-def]
    """The Matérn function of the squared distance in units of the bandwidth, in mpmath's numbers."""
    if math.isinf(nu):
        return mp.exp(-squared / 2)
    z = mp.sqrt(2 * mp.mpf(nu) * squared)
    if nu == 0.5:
        return mp.exp(-z)
    return mp.mpf(1) if z == 0 else 2 ** (1 - mp.mpf(nu)) / mp.gamma(nu) * z ** mp.mpf(nu) * mp.besselk(nu, z)


def _factor(K: Integers, one: int) -> tuple[Integers, list[int]]:
    """Unit lower triangular L and diagonal D with K = L D L', all times ``one``."""
    n = len(K)
    L, D = np.zeros((n, n), dtype=object), []
    scaled = np.zeros((n, n), dtype=object)  # L D
    for j in range(n):
        row = scaled[j, :j]
        column = K[j:, j] - (L[j:, :j].dot(row) // one if j else 0)
        D.append(int(column[0]))
        if column[0] <= 0:
            break
        L[j:, j] = (column * one) // column[0]
        scaled[j:, j] = column
    return L, D


def _forward(L: Integers, rhs: Integers, one: int) -> Integers:
    v = rhs.copy()
    for i in range(1, len(v)):
        v[i] = v[i] - L[i, :i].dot(v[:i]) // one
    return v


def _backward(L: Integers, rhs: Integers, one: int) -> Integers:
    a = rhs.copy()
    for i in range(len(a) - 2, -1, -1):
        a[i] = a[i] - L[i + 1 :, i].dot(a[i + 1 :]) // one
    return a

"""Runs a list of steps on one displacement of several pairs of inputs: the inner loop of the fused path.

A step is a record of STEP and a row of floats. Registers hold (K, T) as flat ``(height, width, lanes)`` arrays.
Tables hold what :func:`prepare` keeps of the variances: ``own`` of the first inputs, (pixels, lanes); ``other`` of
the second, with every row of
pixels written twice in sequence, so that a displaced row is contiguous.
"""

from __future__ import annotations

from numba import njit, uint64

from priorscope.models.kernels._instructions import (
    AFFINE,
    CIRCULAR,
    CONV,
    COPY,
    EQUAL_PIXELS,
    EXPECT,
    EXPONENTIAL,
    GELU,
    RECTIFIER,
    SINE,
)
from priorscope.models.kernels.fused._activations import FAST, expect, prepare
from priorscope.models.kernels.fused._filters import (
    add_into,
    affine,
    filter_columns,
    filter_columns_of_three,
    filter_rows,
    filter_rows_of_three,
)

__all__ = ["run_steps"]


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def scale_row(kind, K, w, g, at, s1, r1, own, s2, r2, other, n):
    """K r1 r2 and the weights of :func:`expect`, for n numbers side by side."""
    i, j, k = uint64(at), uint64(own), uint64(other)
    size = uint64(n)
    if kind in (SINE, EXPONENTIAL):
        for l in range(size):
            w[i + l] = s1[j + l] + s2[k + l]
        return
    if kind == RECTIFIER:
        for l in range(size):
            w[i + l] = s1[j + l] * s2[k + l]
        return
    for l in range(size):
        K[i + l] = K[i + l] * r1[j + l] * r2[k + l]
    for l in range(size):
        w[i + l] = r1[j + l] * r2[k + l]
    if kind == GELU:
        for l in range(size):
            g[i + l] = s1[j + l] * s2[k + l]


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def record(kind, number, K, s1, r1, s2, r2, offset, height, width, lanes):
    """Write what is kept of the variances K into both tables."""
    for y in range(height):
        for l in range(width * lanes):
            s, r = prepare(kind, number, K[y * width * lanes + l])
            own, other = (offset + y * width) * lanes + l, 2 * (offset + y * width) * lanes + l
            s1[own] = s
            r1[own] = r
            s2[other] = s
            r2[other] = r
            s2[other + width * lanes] = s
            r2[other + width * lanes] = r


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def affine_plus(T, K, n, scale):
    """``T = scale * T + K``."""
    for m in range(n):
        T[m] = scale * T[m] + K[m]


@njit(inline="always")
def convolve(step, variance, bias, X, w, lanes, dy, dx):
    """One convolution of one array; the frame shrinks by the strides."""
    height, width = step.height, step.width
    scale = variance / (step.taps_y * step.taps_x)
    plain = step.padding == CIRCULAR and step.stride_y == 1 and step.stride_x == 1
    if plain and step.taps_y == 3 and height >= 3:
        filter_rows_of_three(X, w, height, width * lanes)
    else:
        filter_rows(
            X, w, height, width * lanes, step.taps_y, step.low_y, step.stride_y, step.offset_y, step.padding,
            step.top, step.bottom, dy,
        )  # fmt: skip
    if plain and step.taps_x == 3 and width >= 3:
        filter_columns_of_three(w, X, height, width * lanes, lanes, scale, bias)
    else:
        filter_columns(
            w, X, height // step.stride_y, width, lanes, step.taps_x, step.low_x, step.stride_x, step.offset_x,
            step.padding, step.left, step.right, dx, scale, bias,
        )  # fmt: skip


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def run_steps(steps, numbers, start, stop, K, T, w, g, lanes, dy, dx, s1, r1, s2, r2, recording, with_ntk):
    """Steps ``start`` to ``stop`` at displacement (dy, dx) of the first step's frame; the result is register 0."""
    for n in range(start, stop):
        step, number = steps[n], numbers[n]
        code, height, width = step.code, step.height, step.width
        k, t = K[step.register], T[step.register]
        row = width * lanes
        size = height * row
        y, x = dy // step.sub_y, dx // step.sub_x
        if code == EXPECT:
            if recording:
                record(step.kind, number, k, s1, r1, s2, r2, step.variances, height, width, lanes)
            for at in range(height):
                own = (step.variances + at * width) * lanes
                other = (2 * (step.variances + ((at + y) % height) * width) + x) * lanes
                scale_row(step.kind, k, w, g, at * row, s1, r1, own, s2, r2, other, row)
            expect(step.kind, number, k, t, w, g, size, with_ntk)
        elif code == CONV:
            convolve(step, number[0], number[1], k, w, lanes, y, x)
            if with_ntk:
                convolve(step, number[0], 0.0, t, w, lanes, y, x)
                add_into(t, 0, k, 0, (height // step.stride_y) * (width // step.stride_x) * lanes)
        elif code == AFFINE:
            weight = number[0]
            affine(k, 0, size, weight, number[1])
            if with_ntk:
                affine_plus(t, k, size, weight)
        elif code == EQUAL_PIXELS:
            if y != 0 or x != 0:
                k[:size] = 0.0
                t[:size] = 0.0
        else:
            k2, t2 = K[step.other], T[step.other]
            for m in range(size):
                if code == COPY:
                    k2[m] = k[m]
                    t2[m] = t[m]
                else:
                    k[m] += k2[m]
                    t[m] += t2[m]

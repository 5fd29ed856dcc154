"""Runs a list of steps on one displacement of several pairs of inputs: the inner loop of the fused path.

A step is a row of integers (columns below) and a row of floats. Registers hold (K, T) as flat ``(height, width, lanes)`` arrays.
Tables hold what :func:`prepare` keeps of the variances: ``own`` of the first inputs, (pixels, lanes); ``other`` of
the second, with every row of
pixels written twice in sequence, so that a displaced row is contiguous.
"""

from __future__ import annotations

from numba import njit, uint64

from priorscope.models.kernels.fused._activations import EXPONENTIAL, FAST, GELU, RECTIFIER, SINE, expect, prepare
from priorscope.models.kernels.fused._filters import (
    CIRCULAR,
    add_into,
    affine,
    filter_columns,
    filter_columns_of_three,
    filter_rows,
    filter_rows_of_three,
)

__all__ = ["AFFINE", "CONV", "COPY", "ADD", "EXPECT", "EQUAL_PIXELS", "SCALE", "N_INTEGERS", "N_FLOATS", "run_steps"]

# kinds of steps (column 0); column 1 is the register, columns 2 and 3 the frame's height and width
AFFINE = 0  # floats: weight variance, bias variance
# 4 taps_y 5 low_y 6 taps_x 7 low_x 8 stride_y 9 stride_x 10 offset_y 11 offset_x 12 padding 13-16 inside; floats as AFFINE
CONV = 1
COPY = 2  # 4 target register
ADD = 3  # 4 register added to column 1
EXPECT = 4  # 4 kind 5 offset of its variances; floats: p0..p3
EQUAL_PIXELS = 5  # covariances of unequal pixels vanish: weights are not shared
SCALE = 6  # K and T times a float
# columns 17 and 18: subsampling so far, vertical and horizontal (the step's displacement is the stage's divided by them)
N_INTEGERS, N_FLOATS = 19, 4


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
            g[i + l] = r1[j + l] * r1[j + l] + r2[k + l] * r2[k + l]


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
    height, width = step[2], step[3]
    scale = variance / (step[4] * step[6])
    plain = step[12] == CIRCULAR and step[8] == 1 and step[9] == 1
    if plain and step[4] == 3 and height >= 3:
        filter_rows_of_three(X, w, height, width * lanes)
    else:
        filter_rows(X, w, height, width * lanes, step[4], step[5], step[8], step[10], step[12], step[13], step[14], dy)
    if plain and step[6] == 3 and width >= 3:
        filter_columns_of_three(w, X, height, width * lanes, lanes, scale, bias)
    else:
        filter_columns(
            w,
            X,
            height // step[8],
            width,
            lanes,
            step[6],
            step[7],
            step[9],
            step[11],
            step[12],
            step[15],
            step[16],
            dx,
            scale,
            bias,
        )


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def run_steps(steps, numbers, start, stop, K, T, w, g, lanes, dy, dx, s1, r1, s2, r2, recording, with_ntk):
    """Steps ``start`` to ``stop`` at displacement (dy, dx) of the first step's frame; the result is register 0."""
    for n in range(start, stop):
        step, number = steps[n], numbers[n]
        code, height, width = step[0], step[2], step[3]
        k, t = K[step[1]], T[step[1]]
        row = width * lanes
        size = height * row
        y, x = dy // step[17], dx // step[18]
        if code == EXPECT:
            if recording:
                record(step[4], number, k, s1, r1, s2, r2, step[5], height, width, lanes)
            for at in range(height):
                own = (step[5] + at * width) * lanes
                other = (2 * (step[5] + ((at + y) % height) * width) + x) * lanes
                scale_row(step[4], k, w, g, at * row, s1, r1, own, s2, r2, other, row)
            expect(step[4], number, k, t, w, g, size, with_ntk)
        elif code == CONV:
            convolve(step, number[0], number[1], k, w, lanes, y, x)
            if with_ntk:
                convolve(step, number[0], 0.0, t, w, lanes, y, x)
                add_into(t, 0, k, 0, (height // step[8]) * (width // step[9]) * lanes)
        elif code == AFFINE:
            weight = number[0]
            affine(k, 0, size, weight, number[1])
            if with_ntk:
                affine_plus(t, k, size, weight)
        elif code == EQUAL_PIXELS:
            if y != 0 or x != 0:
                k[:size] = 0.0
                t[:size] = 0.0
        elif code == SCALE:
            for m in range(size):
                k[m] *= number[0]
                t[m] *= number[0]
        else:
            k2, t2 = K[step[4]], T[step[4]]
            for m in range(size):
                if code == COPY:
                    k2[m] = k[m]
                    t2[m] = t[m]
                else:
                    k[m] += k2[m]
                    t[m] += t2[m]

"""Runs a list of steps on one displacement of many pairs of inputs: the inner loop of the fused path.

A step is a row of integers (columns below) and a row of floats. Registers hold (K, T) as flat ``(height, width, lanes)`` arrays.
"""

from __future__ import annotations

from numba import njit

from ._activations import EXPONENTIAL, FAST, GELU, RECTIFIER, SINE, expect, prepare
from ._filters import CIRCULAR, filter_columns, filter_columns_of_three, filter_rows, filter_rows_of_three

__all__ = [
    "AFFINE",
    "CONV",
    "COPY",
    "ADD",
    "EXPECT",
    "N_INTEGERS",
    "N_FLOATS",
    "PAIRS",
    "SELVES",
    "SPREAD",
    "RECORD",
    "run_steps",
]

# kinds of steps (column 0); column 1 is the register, columns 2 and 3 the frame's height and width
AFFINE = 0  # floats: weight variance, bias variance
CONV = 1  # 4 taps_y 5 low_y 6 taps_x 7 low_x 8 stride_y 9 stride_x 10 offset_y 11 offset_x 12 padding 13-16 inside; floats as AFFINE
COPY = 2  # 4 target register
ADD = 3  # 4 register added to column 1
EXPECT = 4  # 4 kind 5 offset of its variances; floats: p0..p3
EQUAL_PIXELS = 5  # covariances of unequal pixels vanish: weights are not shared
# columns 17 and 18: subsampling so far, vertical and horizontal (the step's displacement is the stage's divided by them)
N_INTEGERS, N_FLOATS = 19, 4

# what a lane is
PAIRS = 0  # pairs (i, j0 + lane)
SELVES = 1  # pairs (j0 + lane, j0 + lane)
SPREAD = 2  # one pair (i, j), displacements dx + lane
RECORD = 3  # as SELVES at displacement zero, and the variances met are written to the tables


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def scale_lanes(K, w, g, at, s2, r2, base, lanes, s1, r1, kind):
    """K r1 r2 and the weights of :func:`expect` for one pixel of the first input."""
    if kind == RECTIFIER:
        for l in range(lanes):
            K[at + l] = K[at + l] * r1 * r2[base + l]
            w[at + l] = s1 * s2[base + l]
    elif kind == SINE or kind == EXPONENTIAL:
        for l in range(lanes):
            w[at + l] = s1 + s2[base + l]
    else:
        for l in range(lanes):
            K[at + l] = K[at + l] * r1 * r2[base + l]
            w[at + l] = r1 * r2[base + l]
        if kind == GELU:
            for l in range(lanes):
                g[at + l] = r1 * r1 + r2[base + l] * r2[base + l]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def scale_selves(K, w, g, at, s2, r2, base1, base, lanes, kind):
    """The same when both inputs are the lane's."""
    for l in range(lanes):
        if kind == SINE or kind == EXPONENTIAL:
            w[at + l] = s2[base1 + l] + s2[base + l]
        else:
            r = r2[base1 + l] * r2[base + l]
            K[at + l] = K[at + l] * r2[base1 + l] * r2[base + l]
            w[at + l] = s2[base1 + l] * s2[base + l] if kind == RECTIFIER else r
            g[at + l] = r2[base1 + l] * r2[base1 + l] + r2[base + l] * r2[base + l]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def convolve(step, number, K, T, w, lanes, dy, dx, spread, with_ntk):
    """One convolution of a register; the frame shrinks by the strides."""
    height, width = step[2], step[3]
    taps_y, taps_x, stride_y, stride_x = step[4], step[6], step[8], step[9]
    scale = number[0] / (taps_y * taps_x)
    plain = step[12] == CIRCULAR and stride_y == 1 and stride_x == 1
    out = height // stride_y
    size = out * (width // stride_x) * lanes
    for part in range(2 if with_ntk else 1):
        X = T if part == 1 else K
        bias = 0.0 if part == 1 else number[1]
        if plain and taps_y == 3 and height >= 3:
            filter_rows_of_three(X, w, height, width * lanes)
        else:
            filter_rows(
                X, w, height, width * lanes, taps_y, step[5], stride_y, step[10], step[12], step[13], step[14], dy
            )
        if plain and taps_x == 3 and width >= 3:
            filter_columns_of_three(w, X, height, width, lanes, scale, bias, K if part == 1 else K[:0])
        else:
            filter_columns(
                w,
                X,
                out,
                width,
                lanes,
                taps_x,
                step[7],
                stride_x,
                step[11],
                step[12],
                step[15],
                step[16],
                dx,
                spread,
                scale,
                bias,
            )
            if part == 1:
                for m in range(size):
                    X[m] += K[m]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def take_expectation(step, number, K, T, w, g, lanes, dy, dx, mode, s1, r1, s2, r2, stride2, j0, with_ntk):
    """One nonlinearity of a register, with the variances of both inputs at their own pixels."""
    height, width, kind, offset = step[2], step[3], step[4], step[5]
    if mode == RECORD:
        for p in range(height * width):
            for l in range(lanes):
                s, r = prepare(kind, number, K[p * lanes + l])
                s2[(offset + p) * stride2 + j0 + l] = s
                r2[(offset + p) * stride2 + j0 + l] = r
    for y in range(height):
        far = (y + dy) % height
        for x in range(width):
            p = y * width + x
            if mode == SPREAD:  # rows of the second input's tables are doubled, so that displacements are contiguous
                scale_lanes(
                    K,
                    w,
                    g,
                    p * lanes,
                    s2,
                    r2,
                    2 * (offset + far * width) + x + dx,
                    lanes,
                    s1[offset + p],
                    r1[offset + p],
                    kind,
                )
            else:
                base = (offset + far * width + (x + dx) % width) * stride2 + j0
                if mode == PAIRS:
                    scale_lanes(K, w, g, p * lanes, s2, r2, base, lanes, s1[offset + p], r1[offset + p], kind)
                else:
                    scale_selves(K, w, g, p * lanes, s2, r2, (offset + p) * stride2 + j0, base, lanes, kind)
    expect(kind, number, K, T, w, g, height * width * lanes, with_ntk)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def run_steps(steps, numbers, start, stop, K, T, w, g, lanes, dy, dx, mode, s1, r1, s2, r2, stride2, j0, with_ntk):
    """Steps ``start`` to ``stop`` at displacement (dy, dx) of the first step's frame; the result is register 0."""
    spread = 1 if mode == SPREAD else 0
    for n in range(start, stop):
        step, number = steps[n], numbers[n]
        code = step[0]
        k, t = K[step[1]], T[step[1]]
        size = step[2] * step[3] * lanes
        # the displacement in this step's frame: branches of a sum may stand at different depths of subsampling
        y, x = dy // step[17], dx // step[18]
        if code == EXPECT:
            take_expectation(step, number, k, t, w, g, lanes, y, x, mode, s1, r1, s2, r2, stride2, j0, with_ntk)
        elif code == CONV:
            convolve(step, number, k, t, w, lanes, y, x, spread, with_ntk)
        elif code == AFFINE:
            for m in range(size):
                k[m] = number[0] * k[m] + number[1]
            if with_ntk:
                for m in range(size):
                    t[m] = number[0] * t[m] + k[m]
        elif code == EQUAL_PIXELS:
            for m in range(size):
                if y != 0 or (x + m % lanes if spread == 1 else x) != 0:
                    k[m] = 0.0
                    t[m] = 0.0
        else:
            k2, t2 = K[step[4]], T[step[4]]
            if code == COPY:
                for m in range(size):
                    k2[m] = k[m]
                if with_ntk:
                    for m in range(size):
                        t2[m] = t[m]
            else:
                for m in range(size):
                    k[m] += k2[m]
                if with_ntk:
                    for m in range(size):
                        t[m] += t2[m]

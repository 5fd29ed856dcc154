"""Box filters on covariances of one displacement, for several pairs of inputs at once.

A covariance K[α, α'] with α' = α + δ (modulo the frame) is an image over α for each displacement δ, and a
convolution moves both pixels
alike: it never mixes displacements. Arrays are flat ``(height, width, lanes)``; a lane is one pair of inputs.
"""

from __future__ import annotations

from numba import njit, uint64

from priorscope.models.kernels._instructions import CIRCULAR, ZEROS
from priorscope.models.kernels.fused._activations import FAST

__all__ = [
    "add_into",
    "filter_columns",
    "filter_columns_of_three",
    "filter_rows",
    "filter_rows_of_three",
]


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def add_into(target, at, source, start, n):
    """``target[at:at + n] += source[start:start + n]``."""
    # unsigned indices, here and below: they cannot wrap round to the array's end, so the compiler may use vectors
    t, s = uint64(at), uint64(start)
    for l in range(uint64(n)):
        target[t + l] += source[s + l]


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def set_to(target, at, n, value):
    """``target[at:at + n] = value``."""
    t = uint64(at)
    for l in range(uint64(n)):
        target[t + l] = value


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def affine(target, at, n, scale, bias):
    """``target = scale * target + bias`` on a slice."""
    t = uint64(at)
    for l in range(uint64(n)):
        target[t + l] = scale * target[t + l] + bias


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def sum_of_three(target, at, source, a, b, c, n, scale, bias):
    """``scale * (source[a + l] + source[b + l] + source[c + l]) + bias``."""
    t, i, j, k = uint64(at), uint64(a), uint64(b), uint64(c)
    for l in range(uint64(n)):
        target[t + l] = scale * (source[i + l] + source[j + l] + source[k + l]) + bias


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def filter_rows(source, target, height, row, taps, low, stride, offset, mode, inside_low, inside_high, shift):
    """Sum over vertical taps: ``target[m] = sum_t source[m * stride + offset - low + t]``, rows of ``row`` numbers."""
    for m in range(height // stride):
        centre = m * stride + offset
        other = (centre + shift) % height
        set_to(target, m * row, row, 0.0)
        for t in range(taps):
            y = centre - low + t
            if mode == ZEROS:
                far = other - low + t
                if y < inside_low or y >= inside_high or far < inside_low or far >= inside_high:
                    continue
            add_into(target, m * row, source, (y % height) * row, row)


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def filter_rows_of_three(source, target, height, row):
    """The common case, in one sweep: three circular taps, stride one."""
    last = (height - 1) * row
    sum_of_three(target, 0, source, last, 0, row, row, 1.0, 0.0)
    sum_of_three(target, row, source, 0, row, 2 * row, last - row, 1.0, 0.0)
    sum_of_three(target, last, source, last - row, last, 0, row, 1.0, 0.0)


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def filter_columns_of_three(source, target, height, row, lanes, scale, bias):
    """Three circular taps along x, stride one, then ``scale * sum + bias``; a row has ``row`` numbers."""
    last = row - lanes
    size = height * row
    # all pixels as if rows followed each other, then the two ends of every row
    sum_of_three(target, lanes, source, 0, lanes, 2 * lanes, size - 2 * lanes, scale, bias)
    for at in range(0, size, row):
        sum_of_three(target, at, source, at + last, at, at + lanes, lanes, scale, bias)
        sum_of_three(target, at + last, source, at + last - lanes, at + last, at, lanes, scale, bias)


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def filter_columns(
    source, target, height, width, lanes, taps, low, stride, offset, mode, inside_low, inside_high, shift, scale, bias
):
    """Sum over horizontal taps, then ``scale * sum + bias``; ``shift`` is the horizontal displacement."""
    n_out = width // stride
    for y in range(height):
        at, row = y * n_out * lanes, y * width * lanes
        set_to(target, at, n_out * lanes, 0.0)
        for t in range(taps):
            move = offset - low + t
            if stride > 1:
                for m in range(n_out):
                    x = m * stride + move
                    far = (m * stride + offset + shift) % width - low + t
                    if mode == ZEROS and (x < inside_low or x >= inside_high or far < inside_low or far >= inside_high):
                        continue
                    add_into(target, at + m * lanes, source, row + (x % width) * lanes, lanes)
            elif mode == CIRCULAR:
                wrap = move % width
                add_into(target, at, source, row + wrap * lanes, (width - wrap) * lanes)
                add_into(target, at + (width - wrap) * lanes, source, row, wrap * lanes)
            else:
                # outputs whose partner lies right of them in the frame, and those whose partner has wrapped round
                for side in range(2):
                    start, stop = (0, width - shift) if side == 0 else (width - shift, width)
                    partner = shift if side == 0 else shift - width
                    start = max(start, inside_low - move, inside_low - move - partner)
                    stop = min(stop, inside_high - move, inside_high - move - partner)
                    if stop > start:
                        add_into(
                            target, at + start * lanes, source, row + (start + move) * lanes, (stop - start) * lanes
                        )
        affine(target, at, n_out * lanes, scale, bias)

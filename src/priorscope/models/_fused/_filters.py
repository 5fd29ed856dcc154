"""Box filters on covariances of one displacement, for many pairs of inputs at once.

A covariance K[α, α'] with α' = α + δ (modulo the frame) is an image over α for each displacement δ, and a convolution moves both pixels
alike: it never mixes displacements. Arrays are flat ``(height, width, lanes)``; a lane is one pair of inputs, or one horizontal displacement.
"""

from __future__ import annotations

from numba import njit

from ._activations import FAST

__all__ = ["CIRCULAR", "ZEROS", "filter_columns", "filter_rows"]

CIRCULAR = 0  # wraps round the frame; also serves padding="valid", whose outer pixels are never read
ZEROS = 1  # a tap counts only when both pixels lie inside


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def filter_rows(source, target, height, row, taps, low, stride, offset, mode, inside_low, inside_high, shift):
    """Sum over vertical taps: ``target[m] = sum_t source[m * stride + offset - low + t]``, rows of ``row`` numbers."""
    n_out = height // stride
    for m in range(n_out):
        centre = m * stride + offset
        other = (centre + shift) % height
        at = m * row
        first = True
        for t in range(taps):
            y = centre - low + t
            if mode == ZEROS:
                far = other - low + t
                if y < inside_low or y >= inside_high or far < inside_low or far >= inside_high:
                    continue
            else:
                y = y % height
            start = y * row
            if first:
                for l in range(row):
                    target[at + l] = source[start + l]
                first = False
            else:
                for l in range(row):
                    target[at + l] += source[start + l]
        if first:
            for l in range(row):
                target[at + l] = 0.0


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def filter_rows_of_three(source, target, height, row):
    """The common case, in one sweep: three circular taps, stride one."""
    for m in range(height):
        above = (m - 1 if m > 0 else height - 1) * row
        below = (m + 1 if m < height - 1 else 0) * row
        here = m * row
        for l in range(row):
            target[here + l] = source[above + l] + source[here + l] + source[below + l]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def filter_columns_of_three(source, target, height, width, lanes, scale, bias, add):
    """Three circular taps along x; ``target = scale * sum + bias``, plus ``add`` for the tangent kernel (else pass bias)."""
    row = width * lanes
    last = row - lanes
    for y in range(height):
        at = y * row
        for l in range(lanes):
            target[at + l] = scale * (source[at + last + l] + source[at + l] + source[at + lanes + l]) + bias
        for l in range(lanes, last):
            target[at + l] = scale * (source[at + l - lanes] + source[at + l] + source[at + l + lanes]) + bias
        for l in range(last, row):
            target[at + l] = scale * (source[at + l - lanes] + source[at + l] + source[at + l - last]) + bias
    if add.size > 0:
        for l in range(height * row):
            target[l] += add[l]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def filter_columns(
    source,
    target,
    height,
    width,
    lanes,
    taps,
    low,
    stride,
    offset,
    mode,
    inside_low,
    inside_high,
    shift,
    spread,
    scale,
    bias,
):
    """Sum over horizontal taps, then ``scale * sum + bias``.

    ``shift`` is the displacement of lane 0; when ``spread`` is one, lane l has displacement ``shift + l`` (stride one only).
    """
    n_out = width // stride
    for y in range(height):
        for m in range(n_out):
            centre = m * stride + offset
            at = (y * n_out + m) * lanes
            for l in range(lanes):
                target[at + l] = 0.0
            for t in range(taps):
                x = centre - low + t
                if mode == ZEROS:
                    if x < inside_low or x >= inside_high:
                        continue
                    start = (y * width + x) * lanes
                    if spread == 1:
                        for l in range(lanes):
                            far = (centre + shift + l) % width - low + t
                            if far >= inside_low and far < inside_high:
                                target[at + l] += source[start + l]
                    else:
                        far = (centre + shift) % width - low + t
                        if far >= inside_low and far < inside_high:
                            for l in range(lanes):
                                target[at + l] += source[start + l]
                else:
                    start = (y * width + x % width) * lanes
                    for l in range(lanes):
                        target[at + l] += source[start + l]
            for l in range(lanes):
                target[at + l] = scale * target[at + l] + bias

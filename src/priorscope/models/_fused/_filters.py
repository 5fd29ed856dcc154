"""Box filters on covariances of one displacement, for several pairs of inputs at once.

A covariance K[α, α'] with α' = α + δ (modulo the frame) is an image over α for each displacement δ, and a
convolution moves both pixels
alike: it never mixes displacements. Arrays are flat ``(height, width, lanes)``; a lane is one pair of inputs.
"""

from __future__ import annotations

from numba import njit

from ._activations import FAST

__all__ = [
    "CIRCULAR",
    "ZEROS",
    "add_into",
    "filter_columns",
    "filter_columns_of_three",
    "filter_rows",
    "filter_rows_of_three",
]

CIRCULAR = 0  # wraps round the frame; also serves padding="valid", whose outer pixels are never read
ZEROS = 1  # a tap counts only when both pixels lie inside


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def add_into(target, at, source, start, n):
    """``target[at:at + n] += source[start:start + n]``."""
    # slices first, here and below: an index that starts at zero lets the compiler use vectors
    into, new = target[at : at + n], source[start : start + n]
    for l in range(n):
        into[l] += new[l]


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def filter_rows(source, target, height, row, taps, low, stride, offset, mode, inside_low, inside_high, shift):
    """Sum over vertical taps: ``target[m] = sum_t source[m * stride + offset - low + t]``, rows of ``row`` numbers."""
    for m in range(height // stride):
        centre = m * stride + offset
        other = (centre + shift) % height
        target[m * row : (m + 1) * row] = 0.0
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
    for m in range(height):
        above = (m - 1 if m > 0 else height - 1) * row
        below = (m + 1 if m < height - 1 else 0) * row
        a, b, c = source[above : above + row], source[m * row : (m + 1) * row], source[below : below + row]
        into = target[m * row : (m + 1) * row]
        for l in range(row):
            into[l] = a[l] + b[l] + c[l]


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def filter_columns_of_three(source, target, height, row, lanes, scale, bias):
    """Three circular taps along x, stride one, then ``scale * sum + bias``; a row has ``row`` numbers."""
    last = row - lanes
    inner = row - 2 * lanes
    for y in range(height):
        at = y * row
        line, into = source[at : at + row], target[at : at + row]
        for l in range(lanes):
            into[l] = scale * (line[last + l] + line[l] + line[lanes + l]) + bias
            into[last + l] = scale * (line[last - lanes + l] + line[last + l] + line[l]) + bias
        a, b, c = line[:inner], line[lanes : lanes + inner], line[2 * lanes :]
        middle = into[lanes : lanes + inner]
        for l in range(inner):
            middle[l] = scale * (a[l] + b[l] + c[l]) + bias


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def filter_columns(
    source, target, height, width, lanes, taps, low, stride, offset, mode, inside_low, inside_high, shift, scale, bias
):
    """Sum over horizontal taps, then ``scale * sum + bias``; ``shift`` is the horizontal displacement."""
    n_out = width // stride
    for y in range(height):
        at, row = y * n_out * lanes, y * width * lanes
        into = target[at : at + n_out * lanes]
        into[:] = 0.0
        for t in range(taps):
            move = offset - low + t
            if stride > 1:
                for m in range(n_out):
                    x = m * stride + move
                    far = (m * stride + offset + shift) % width - low + t
                    if mode == ZEROS and (x < inside_low or x >= inside_high or far < inside_low or far >= inside_high):
                        continue
                    add_into(into, m * lanes, source, row + (x % width) * lanes, lanes)
            elif mode == CIRCULAR:
                wrap = move % width
                add_into(into, 0, source, row + wrap * lanes, (width - wrap) * lanes)
                add_into(into, (width - wrap) * lanes, source, row, wrap * lanes)
            else:
                # outputs whose partner lies right of them in the frame, and those whose partner has wrapped round
                for side in range(2):
                    start, stop = (0, width - shift) if side == 0 else (width - shift, width)
                    partner = shift if side == 0 else shift - width
                    start = max(start, inside_low - move, inside_low - move - partner)
                    stop = min(stop, inside_high - move, inside_high - move - partner)
                    if stop > start:
                        add_into(into, start * lanes, source, row + (start + move) * lanes, (stop - start) * lanes)
        for l in range(n_out * lanes):
            into[l] = scale * into[l] + bias

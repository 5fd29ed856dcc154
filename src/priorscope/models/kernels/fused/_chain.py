r"""The commonest network in one sweep a layer: rectifiers between circular 3x3 filters, then a sum over all pixels.

A lane is a horizontal displacement: lane l of pixel α holds the pair (α, α + (dy, dx + l)) of two images. The images of
the second input are written once for eight displacements, so that the loops over pixels and over vertical displacements
read them in sequence. A layer reads and writes K and T once; only the last three rows are kept beside them. With the
cosine c, its modulus a and the sine :math:`s = \sqrt{(1-a)(1+a)}`

.. math:: \arcsin a = \pi/2 - s\,G(a), \quad E[\phi\phi] \propto \sigma_1\sigma_2\,(s + a\arcsin a + \tfrac{\pi}{2}c), \quad
    E[\phi'\phi'] \propto \arcsin c + \tfrac{\pi}{2}

(Cho & Saul 2009), without a division and with one square root; G is the polynomial of the angle.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from priorscope.models.kernels.fused._activations import FAST, HALF_PI, TWO_PI
from priorscope.models.kernels.fused._angle import SNAP, angle_ratio, short_angle_ratio
from priorscope.models.kernels.fused._vector import LANES, clamp, copy_sign, load, magnitude, root, splat, spread, store

__all__ = ["run_chain"]

INPUTS, LONG, SHORT = 0, 1, 2  # what a layer begins with: products of the inputs, or a rectifier with its polynomial


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def displaced(numbers, start, height, width, dx, factor, target, at):
    """An image of the second input as the lanes see it: ``target[y, x, l] = factor * numbers[y, x + dx + l]``."""
    for y in range(height):
        for x in range(width):
            here = (x + dx) % width
            for _ in range(LANES):
                target[at] = factor * numbers[start + y * width + here]
                at += 1
                here = here + 1 if here + 1 < width else 0


@njit(forceinline=True)
def slot(m):
    """Where the filtered row read as the m-th is kept: the first two to the end, the others in turn."""
    return m if m < 2 else 2 + m % 3


@njit(forceinline=True)
def products(row, width, n_channels, pixels, x1, x2, p, q):
    """A row of the inputs' covariances; their tangent kernel is zero."""
    for x in range(width):
        k = splat(0.0)
        for c in range(n_channels):
            k = k + spread(x1, c * pixels + p + x) * load(x2, (c * pixels + q + x) * LANES)
        store(row, (x + 1) * LANES, k)
        store(row, (width + x + 3) * LANES, splat(0.0))


def rectifier_with(ratio):
    """The nonlinearity with one of the polynomials."""

    @njit(forceinline=True, error_model="numpy", fastmath=FAST)
    def rectify(row, K, T, width, at, square, line, s1, r1, p, s2, r2, q):
        """A row of expectations: K at ``row[LANES:]``, T after it and two pixels more."""
        for x in range(width):
            c = clamp(load(K, (at + x) * LANES) * (spread(r1, p + x) * load(r2, (q + x) * LANES)))
            a = magnitude(c)
            sin = root((1.0 - a) * (1.0 + a))
            arc = HALF_PI - sin * ratio(a)
            k = (square * (sin + arc * a) + line * c) * (spread(s1, p + x) * load(s2, (q + x) * LANES))
            store(row, (x + 1) * LANES, k)
            store(row, (width + x + 3) * LANES, load(T, (at + x) * LANES) * (square * copy_sign(arc, c) + line))

    return rectify


rectify_long, rectify_short = rectifier_with(angle_ratio), rectifier_with(short_angle_ratio)


@njit(forceinline=True)
def three(array, x):
    """A pixel and its neighbours."""
    return load(array, x) + load(array, x + LANES) + load(array, x + 2 * LANES)


@njit(forceinline=True, error_model="numpy", fastmath=FAST)
def layer(
    kind, K, T, row, rows, sums, height, width, dy, square, line, scale, bias,
    own_s, own_r, own, other_s, other_r, other, n_channels, last_layer,
):  # fmt: skip
    """Inputs or nonlinearity, then the filter: K and T in place; of the last nonlinearity, only sums over the pixels.

    Rows are read from the last, which comes before the first.
    """
    size = width * LANES
    end = size + 2 * LANES
    all_k = all_t = splat(0.0)
    for m in range(height):
        y = m - 1 if m > 0 else height - 1
        far = y + dy if y + dy < height else y + dy - height
        at, p, q = y * width, own + y * width, other + far * width
        if kind == INPUTS:
            products(row, width, n_channels, height * width, own_s, other_s, p, q)
        elif kind == SHORT:
            rectify_short(row, K, T, width, at, square, line, own_s, own_r, p, other_s, other_r, q)
        else:
            rectify_long(row, K, T, width, at, square, line, own_s, own_r, p, other_s, other_r, q)
        if last_layer:
            for x in range(LANES, size + LANES, LANES):
                all_k, all_t = all_k + load(row, x), all_t + load(row, end + x)
            continue
        store(row, 0, load(row, size))
        store(row, size + LANES, load(row, LANES))
        store(row, end, load(row, end + size))
        store(row, end + size + LANES, load(row, end + LANES))
        here, last, before = slot(m) * 2 * size, slot(m - 1) * 2 * size, slot(m - 2) * 2 * size
        if m < 2:
            for x in range(0, size, LANES):
                store(rows, here + x, three(row, x))
                store(rows, here + size + x, three(row, end + x))
            continue
        at = (m - 2) * size
        for x in range(0, size, LANES):
            k, t = three(row, x), three(row, end + x)
            store(rows, here + x, k)
            store(rows, here + size + x, t)
            k = (k + load(rows, last + x) + load(rows, before + x)) * scale + bias
            store(K, at + x, k)
            t = t + load(rows, last + size + x) + load(rows, before + size + x)
            store(T, at + x, t * scale + k)
    if last_layer:
        store(sums, 0, all_k)
        store(sums, LANES, all_t)
        return
    for m in range(height - 2, height):
        here, last, before = (
            slot(m) * 2 * size,
            slot(m + 1 if m + 1 < height else 0) * 2 * size,
            (m + 2 - height) * 2 * size,
        )
        for x in range(0, size, LANES):
            k = (load(rows, here + x) + load(rows, last + x) + load(rows, before + x)) * scale + bias
            store(K, m * size + x, k)
            t = load(rows, here + size + x) + load(rows, last + size + x) + load(rows, before + size + x)
            store(T, m * size + x, t * scale + k)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def run_chain(tasks, height, width, numbers, kind, x1, x2, s1, r1, s2, r2, scale, out_K, out_T):
    """All layers for each task, a row (i, j, group, dx, first dy, end dy, mirrored).

    Sums over its displacements go into ``out[group]``. ``numbers`` has a row for each layer: weight variance, bias
    variance, the two slopes. Of a mirrored task, an image with itself, only half the vertical displacements are run: the
    others are the same pairs of pixels the other way round.
    """
    pixels = height * width
    depth, n_channels = numbers.shape[0], x1.shape[1] // pixels
    K, T = np.zeros(pixels * LANES), np.zeros(pixels * LANES)
    row, rows = np.zeros(2 * (width + 2) * LANES), np.zeros(10 * width * LANES)
    # images of both inputs: their channels, then the standard deviations of every layer; and the inverses of these
    n_images = n_channels + depth
    own_s, own_r = np.zeros(n_images * pixels), np.zeros(n_images * pixels)
    other_s, other_r = np.zeros(n_images * pixels * LANES), np.zeros(n_images * pixels * LANES)
    sums = np.zeros(2 * LANES)
    last_j = last_dx = -1
    for task in range(tasks.shape[0]):
        i, j, group, dx = tasks[task, 0], tasks[task, 1], tasks[task, 2], tasks[task, 3]
        for p in range(n_channels * pixels):
            own_s[p] = x1[i, p]
        for p in range(depth * pixels):
            own_s[n_channels * pixels + p] = s1[i, p]
            own_r[n_channels * pixels + p] = r1[i, p]
        if j != last_j or dx != last_dx:
            for c in range(n_images):
                image = x2[j] if c < n_channels else s2[j]
                start = c * pixels if c < n_channels else (c - n_channels) * pixels
                factor = 1.0 / n_channels if c < n_channels else 1.0
                displaced(image, start, height, width, dx, factor, other_s, c * pixels * LANES)
                if c >= n_channels:  # a cosine this close to one is one
                    displaced(r2[j], start, height, width, dx, 1.0 + SNAP, other_r, c * pixels * LANES)
            last_j, last_dx = j, dx
        sum_K = sum_T = 0.0
        for dy in range(tasks[task, 4], tasks[task, 5]):
            for l in range(depth + 1):
                a, b = (numbers[l - 1, 2], numbers[l - 1, 3]) if l > 0 else (0.0, 0.0)
                square = (a - b) * (a - b) / TWO_PI
                after = min(l, depth - 1)
                at = (n_channels + l - 1) * pixels if l > 0 else 0
                layer(
                    kind if l > 0 else INPUTS, K, T, row, rows, sums, height, width, dy, square, square * HALF_PI + a * b,
                    numbers[after, 0] / 9.0, numbers[after, 1], own_s, own_r, at, other_s, other_r, at, n_channels, l == depth,
                )  # fmt: skip
            weight = 2.0 if tasks[task, 6] and dy > 0 and 2 * dy != height else 1.0
            for l in range(min(LANES, width - dx)):
                sum_K += weight * sums[l]
                sum_T += weight * sums[LANES + l]
        out_K[group, i, j] = sum_K * scale
        out_T[group, i, j] = sum_T * scale

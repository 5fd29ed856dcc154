"""Gaussian interpolation with bounded support: six pixels per axis, compiled for the CPU."""

from __future__ import annotations

import math

import numpy as np
import torch
from numba import njit
from torch import Tensor

from priorscope.contracts import GradientContext

__all__ = ["SIGMA", "gaussian_read"]

SIGMA = 0.4715
"""Width of the Gaussian in pixels: Petrini et al. (2021), Appendix C."""
REACH = 3  # pixels floor(p) - 2 … floor(p) + 3: the first one left out is 3 away at least, and weighs 1.6e-9


def gaussian_read(images: Tensor, along: Tensor, down: Tensor) -> Tensor:
    """Values of images (N, C, n, n) at positions (N, n, n) in pixels; compiled on the CPU, plain torch elsewhere."""
    if images.device.type == "cpu" and images.dtype in (torch.float32, torch.float64):
        found: Tensor = _Read.apply(images, along.to(images.dtype), down.to(images.dtype))  # type: ignore[no-untyped-call]
        return found
    return by_taps(images, along, down)


def by_taps(images: Tensor, along: Tensor, down: Tensor) -> Tensor:
    """The same as :func:`gaussian_read` in torch, one of the 36 pixels after another; runs on every device."""
    N, C, n, _ = images.shape
    flat = images.flatten(2)
    total = torch.zeros_like(images)
    (iu, wu), (iv, wv) = _weights(along, n), _weights(down, n)
    for a in range(2 * REACH):
        for b in range(2 * REACH):
            index = (iv[b] * n + iu[a]).flatten(1)[:, None].expand(N, C, -1)
            total = total + flat.gather(2, index).unflatten(2, (n, n)) * (wu[a] * wv[b])[:, None].to(images.dtype)
    return total


def _weights(position: Tensor, n: int) -> tuple[list[Tensor], list[Tensor]]:
    """Indices and normalised weights of the pixels near each position along one axis."""
    base = position.detach().floor()
    near = [base + k for k in range(1 - REACH, REACH + 1)]
    inside = [((i >= 0) & (i < n)).to(position.dtype) for i in near]
    weights = [torch.exp(-((position - i) ** 2) / (2 * SIGMA**2)) * ok for i, ok in zip(near, inside)]
    total = torch.stack(weights).sum(0)
    return [i.clamp(0, n - 1).long() for i in near], [w / total for w in weights]


class _Read(torch.autograd.Function):
    """The compiled pass and its derivatives with respect to images and positions."""

    @staticmethod
    def forward(ctx: GradientContext, images: Tensor, along: Tensor, down: Tensor) -> Tensor:
        arrays = [t.detach().contiguous().numpy() for t in (images, along, down)]
        out = np.empty(arrays[0].shape, arrays[0].dtype)
        _forward(arrays[0], arrays[1], arrays[2], out)
        ctx.save_for_backward(images, along, down)
        return torch.from_numpy(out)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: GradientContext, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        arrays = [t.detach().contiguous().numpy() for t in (*ctx.saved_tensors, gradient)]
        back = [np.zeros_like(a) for a in arrays[:3]]
        _backward(*arrays, *back)
        return torch.from_numpy(back[0]), torch.from_numpy(back[1]), torch.from_numpy(back[2])


@njit(nogil=True, cache=True, error_model="numpy")
def _fill(position, n, weights, slopes):  # type: ignore[no-untyped-def]
    """Weights of the pixels near ``position`` and their derivatives; the first pixel, and how many there are."""
    base = math.floor(position)
    first, last = max(base + 1 - REACH, 0), min(base + REACH, n - 1)
    total = moment = 0.0
    for k in range(last - first + 1):
        t = position - (first + k)
        weights[k] = math.exp(-t * t / (2 * SIGMA**2))
        total += weights[k]
        moment += weights[k] * t
    mean = moment / total
    for k in range(last - first + 1):
        weights[k] /= total
        slopes[k] = weights[k] * (mean - (position - (first + k))) / SIGMA**2
    return first, last - first + 1


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _forward(images, along, down, out):  # type: ignore[no-untyped-def]
    """out[b, c, y, x] = Σ weights × pixels."""
    N, C, n, _ = images.shape
    wu, wv, slopes = np.empty(2 * REACH), np.empty(2 * REACH), np.empty(2 * REACH)
    for b in range(N):
        for y in range(n):
            for x in range(n):
                u, nu = _fill(along[b, y, x], n, wu, slopes)
                v, nv = _fill(down[b, y, x], n, wv, slopes)
                for c in range(C):
                    total = 0.0
                    for j in range(nv):
                        row = 0.0
                        for i in range(nu):
                            row += wu[i] * images[b, c, v + j, u + i]
                        total += wv[j] * row
                    out[b, c, y, x] = total


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _backward(images, along, down, gradient, d_images, d_along, d_down):  # type: ignore[no-untyped-def]
    """Gradients with respect to images and positions, added to the last three arrays."""
    N, C, n, _ = images.shape
    wu, wv = np.empty(2 * REACH), np.empty(2 * REACH)
    su, sv = np.empty(2 * REACH), np.empty(2 * REACH)
    for b in range(N):
        for y in range(n):
            for x in range(n):
                u, nu = _fill(along[b, y, x], n, wu, su)
                v, nv = _fill(down[b, y, x], n, wv, sv)
                for c in range(C):
                    g = gradient[b, c, y, x]
                    for j in range(nv):
                        row = slope = 0.0
                        for i in range(nu):
                            pixel = images[b, c, v + j, u + i]
                            row += wu[i] * pixel
                            slope += su[i] * pixel
                            d_images[b, c, v + j, u + i] += g * wv[j] * wu[i]
                        d_along[b, y, x] += g * wv[j] * slope
                        d_down[b, y, x] += g * sv[j] * row

"""Which input pixels a filter sees, along one axis: shared by the finite layers and their kernel steps."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["flat_patches", "gather_patches", "mean_over_taps", "output_size", "tap_positions"]

WIDEST = 8  # a padded filter may be this many times as long as the image, as 3 or 7 taps on a last single pixel are


def output_size(size: int, kernel_size: int, stride: int, padding: str) -> int:
    """Pixels after a filter: ``ceil(size / stride)`` with padding, only whole windows when ``valid``."""
    if padding != "valid":
        if kernel_size > WIDEST * size:
            raise ValueError(
                f"a filter of kernel_size={kernel_size} on {size} pixels along an axis sees hardly anything but padding; at most "
                f"{WIDEST} times as many taps as pixels are taken. Use a smaller filter."
            )
        return -(-size // stride)
    if size < kernel_size:
        raise ValueError(
            f"padding='valid' needs at least kernel_size={kernel_size} pixels along each axis; got {size}. "
            "Use a smaller filter, or padding='zeros' or 'circular'."
        )
    return (size - kernel_size) // stride + 1


def tap_positions(size: int, kernel_size: int, stride: int, padding: str) -> tuple[Tensor, Tensor]:
    """Input position of every (output pixel, tap), and whether it lies inside: both ``(out, kernel_size)``.

    Padded filters are centred on pixel ``stride * output``, as torch does with ``padding=(kernel_size - 1) // 2``.
    """
    start = 0 if padding == "valid" else -((kernel_size - 1) // 2)
    out = torch.arange(output_size(size, kernel_size, stride, padding))
    where = out[:, None] * stride + torch.arange(kernel_size)[None] + start
    if padding == "circular":
        return where % size, torch.ones_like(where, dtype=torch.bool)
    inside = (where >= 0) & (where < size)
    return where.clamp(0, size - 1), inside


def mean_over_taps(k: Tensor, n_space: int, full: bool, kernel_size: int, stride: int, padding: str) -> Tensor:
    r"""The convolution's map of covariances, :math:`A(K)_{\alpha\alpha'} = q^{-1}\sum_\beta K_{\alpha+\beta,\alpha'+\beta}`.

    The sum over taps is separable, so each spatial axis is treated by itself. ``k`` ends in ``*S`` or, when ``full``, ``*S, *S``.
    """
    for axis in range(n_space):
        last = k.ndim - n_space + axis
        where, inside = tap_positions(k.shape[last], kernel_size, stride, padding)
        where, inside = where.to(k.device), inside.to(k.device)
        axes = [last - n_space, last] if full else [last]
        total: Tensor | None = None
        for tap in range(kernel_size):
            part = k
            for a in axes:
                part = part.index_select(a, where[:, tap])
                if padding == "zeros" and not bool(inside[:, tap].all()):
                    shape = [1] * part.ndim
                    shape[a] = -1
                    part = part * inside[:, tap].reshape(shape).to(part.dtype)
            total = part if total is None else total + part
        assert total is not None
        k = total / kernel_size
    return k


def gather_patches(x: Tensor, kernel_size: int, stride: int, padding: str) -> Tensor:
    """Patches of ``(n, c, *S)``: ``(n, c, *S_out, *taps)``."""
    n_space = x.ndim - 2
    for axis in range(n_space):
        at = 2 + axis
        where, inside = tap_positions(x.shape[at], kernel_size, stride, padding)
        n_out = where.shape[0]
        x = x.index_select(at, where.reshape(-1).to(x.device))
        if padding == "zeros":
            x = x * inside.reshape(-1, *(1,) * (x.ndim - at - 1)).to(x)
        x = x.unflatten(at, (n_out, kernel_size)).movedim(at + 1, -1)
    return x


def flat_patches(x: Tensor, kernel_size: int, stride: int, padding: str) -> Tensor:
    """What each output pixel sees of ``(n, c, *S)``: ``(n, pixels, c * taps)``, in the order of a filter's weight."""
    n_space = x.ndim - 2
    patches = gather_patches(x, kernel_size, stride, padding)  # (n, c, *S_out, *taps)
    patches = patches.flatten(2 + n_space).flatten(2, 1 + n_space)  # (n, c, pixels, taps)
    return patches.transpose(1, 2).flatten(2)

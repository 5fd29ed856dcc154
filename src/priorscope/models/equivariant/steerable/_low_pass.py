"""Smoothing before voxels are dropped, so that a stride does not break the symmetry."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from priorscope.checks import checked, number, optional, whole

__all__ = ["LowPass"]


@checked(scale=number(above=1, advice="It is the factor by which the resolution falls."), stride=optional(whole()))
class LowPass(nn.Module):
    r"""Convolution of every channel with a Gaussian of deviation :math:`\frac12\sqrt{s^2 - 1}`, then every ``stride``-th voxel.

    ``scale`` is s; ``stride`` is s rounded where None. (Weiler et al. 2018, section 4.2; width and size of the authors' code: 1 +
    5 deviations, made odd.) The side of the grid should be odd, so that the voxels kept lie symmetric.

    Example:
        >>> LowPass(2.0)(torch.ones(1, 3, 9, 9, 9)).shape
        torch.Size([1, 3, 5, 5, 5])
    """

    window: Tensor

    def __init__(self, scale: float = 2.0, *, stride: int | None = None) -> None:
        super().__init__()
        deviation = 0.5 * (scale**2 - 1) ** 0.5
        size = int(1 + 5 * deviation) // 2 * 2 + 1
        x = torch.arange(size, dtype=torch.float64) - size // 2
        window = (-x.square() / (2 * deviation**2)).exp()
        self.register_buffer("window", window / window.sum(), persistent=False)
        self.stride = round(scale) if stride is None else stride

    def forward(self, x: Tensor) -> Tensor:
        window = self.window.to(x)
        size, channels = len(window), x.shape[1]
        for axis in range(3):  # the Gaussian is a product
            shape, stride, pad = [1, 1, 1], [1, 1, 1], [0, 0, 0]
            shape[axis], stride[axis], pad[axis] = size, self.stride, size // 2
            kernel = window.view(1, 1, *shape).expand(channels, 1, *shape)
            x = functional.conv3d(x, kernel, None, stride, pad, 1, channels)
        return x

    def extra_repr(self) -> str:
        return f"size={len(self.window)}, stride={self.stride}"

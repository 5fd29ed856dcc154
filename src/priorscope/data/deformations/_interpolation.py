"""Images read between their pixels: bilinear, or by a Gaussian of bounded support."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from priorscope.checks import POSITIVE, checked
from priorscope.data.deformations._gaussian import SIGMA, gaussian_read

__all__ = ["Interpolation", "displaced", "participation_ratio"]

Interpolation: TypeAlias = Literal["bilinear", "gaussian"]


def displaced(images: Tensor, displacement: Tensor, interpolation: Interpolation = "bilinear") -> Tensor:
    r"""Images :math:`x(s - \tau(s))` for displacements in pixels: (N, C, n, n) and (N, 2, n, n), along rows first.

    Positions outside the image are moved to its edge. ``"bilinear"`` weighs the four pixels around (eq. 15) and changes nothing
    at zero displacement. ``"gaussian"`` weighs all pixels by :math:`e^{-|s - s_i|^2/2\sigma^2}`, σ = 0.4715 (eq. 16), cut off
    three pixels away, where weights are below 2e-9; it smooths even at zero displacement. Petrini et al. (2021), Appendix C.
    Differentiable in both arguments.

    Example:
        >>> import torch
        >>> x = torch.arange(9.0).reshape(1, 1, 3, 3)
        >>> left = torch.zeros(1, 2, 3, 3)
        >>> left[:, 0] = 0.5
        >>> displaced(x, left)[0, 0].tolist()  # every value comes from half a pixel to the left
        [[0.0, 0.5, 1.5], [3.0, 3.5, 4.5], [6.0, 6.5, 7.5]]
    """
    if images.ndim != 4 or displacement.shape != (len(images), 2, *images.shape[2:]):
        raise ValueError(
            "displaced needs images (N, C, n, n) and displacements (N, 2, n, n), in pixels; got "
            f"{tuple(images.shape)} and {tuple(displacement.shape)}."
        )
    if interpolation == "bilinear":
        return _bilinear(images, displacement)
    if interpolation == "gaussian":
        n = images.shape[-1]
        pixels = torch.arange(n, dtype=displacement.dtype, device=displacement.device)
        along = (pixels - displacement[:, 0]).clamp(0, n - 1)
        down = (pixels[:, None] - displacement[:, 1]).clamp(0, n - 1)
        return gaussian_read(images, along, down)
    raise ValueError(f"interpolation must be 'bilinear' or 'gaussian'; got {interpolation!r}.")


def _bilinear(images: Tensor, displacement: Tensor) -> Tensor:
    """Read with ``grid_sample``; sides are padded to a power of two, so that pixels are met exactly.

    Its coordinates (2p + 1)/W − 1 of whole p are without rounding then, and no displacement is the identity to the last bit.
    """
    n = images.shape[-1]
    W = 1 << (n - 1).bit_length()
    if n < W:
        images = torch.nn.functional.pad(images, (0, W - n, 0, W - n))
    line = (2 * torch.arange(n, dtype=displacement.dtype, device=displacement.device) + 1) / W - 1
    pixels = torch.stack([line.expand(n, n), line[:, None].expand(n, n)])  # (2, n, n)
    grid = torch.sub(pixels, displacement, alpha=2 / W)
    low, high = 1 / W - 1, (2 * n - 1) / W - 1
    grid = grid.clamp(low, high) if grid.requires_grad else grid.clamp_(low, high)
    grid = grid.movedim(1, -1)
    return torch.nn.functional.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


@checked(sigma=POSITIVE)
def participation_ratio(sigma: float = SIGMA) -> float:
    r"""How many pixels a point in the middle of four is read from: :math:`(\sum\Psi_i^2)^2/\sum\Psi_i^4`.

    4 for bilinear weights. Petrini et al. (2021), eq. 17, choose σ = 0.4715 for the value 4; it is 4.002 there, and 4 in
    the limit of small σ.

    Example:
        >>> round(participation_ratio(), 3), round(participation_ratio(0.3), 5)
        (4.002, 4.0)
    """
    reach = math.ceil(12 * sigma) + 1
    k = torch.arange(-reach, reach, dtype=torch.float64) + 0.5
    squares = torch.exp(-(k**2) / sigma**2)  # the weight along one axis, squared
    return float((squares.sum() ** 2 / squares.square().sum()) ** 2)

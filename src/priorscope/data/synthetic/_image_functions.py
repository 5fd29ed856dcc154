"""Functions of small random images, each made for one kind of architecture, and labels of a pattern in noise."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from priorscope.checks import ANY_NUMBER, checked, whole

__all__ = ["hidden_pattern", "local_products", "neighbour_products", "random_polynomial"]


def _images(n: int, channels: int, side: int, smooth: bool, g: torch.Generator) -> Tensor:
    x = torch.randn(n, channels, side, side, generator=g)
    if smooth:
        x = x + x.roll(1, 2) + x.roll(1, 3) + x.roll((1, 1), (2, 3))
    return x / x.std()


def _check_fits(size: int, side: int, what: str) -> None:
    if size > side:
        raise ValueError(f"{what} of size {size} do not fit into images of side {side}; take size <= side.")


def _responses(x: Tensor, filters: Tensor) -> Tensor:
    k = filters.shape[-1]
    return F.conv2d(F.pad(x, (0, k - 1, 0, k - 1), mode="circular"), filters)  # (n, filters, side, side)


@checked(n=whole(), side=whole(), channels=whole(), size=whole())
def local_products(
    n: int,
    generator: torch.Generator,
    side: int,
    *,
    channels: int = 1,
    size: int = 2,
    smooth: bool = True,
    anywhere: bool = True,
) -> tuple[Tensor, Tensor]:
    """Random images (n, channels, side, side) and the product of two local filters, averaged over places.

    With ``anywhere`` the function does not change under cyclic shifts; without, every place has a weight of its own. The
    generator draws filters, weights and images, in this order: it fixes the function.

    Example:
        >>> x, y = local_products(5, torch.Generator().manual_seed(0), side=6)
        >>> x.shape, y.shape
        (torch.Size([5, 1, 6, 6]), torch.Size([5]))
    """
    _check_fits(size, side, "filters")
    w = torch.randn(2, channels, size, size, generator=generator)
    weight = torch.ones(side, side) if anywhere else torch.randn(side, side, generator=generator)
    x = _images(n, channels, side, smooth, generator)
    return x, (_responses(x, w).prod(1) * weight).mean((1, 2))


@checked(n=whole(), side=whole(), size=whole(), amplitude=ANY_NUMBER)
def hidden_pattern(
    n: int, generator: torch.Generator, side: int, *, size: int = 3, amplitude: float = 6.0
) -> tuple[Tensor, Tensor]:
    """Noise images with one of two small patterns at a random place, and which of the two it is: labels 0 and 1.

    Example:
        >>> x, label = hidden_pattern(4, torch.Generator().manual_seed(0), side=6)
        >>> x.shape, label.dtype
        (torch.Size([4, 1, 6, 6]), torch.int64)
    """
    _check_fits(size, side, "patterns")
    p = torch.randn(2, 1, size, size, generator=generator)
    p = amplitude * p / p.flatten(1).norm(dim=1)[:, None, None, None]
    x = torch.randn(n, 1, side, side, generator=generator)
    label = torch.randint(0, 2, (n,), generator=generator)
    for i, (a, b) in enumerate(torch.randint(0, side, (n, 2), generator=generator).tolist()):
        x[i] += F.pad(p[label[i]], (0, side - size, 0, side - size)).roll((a, b), (1, 2))
    return x, label


@checked(n=whole(), side=whole(), sites=whole())
def neighbour_products(
    n: int, generator: torch.Generator, side: int, *, sites: int = 16, smooth: bool = True
) -> tuple[Tensor, Tensor]:
    """Random images and the sum of products of pixels side by side at some places, each with a weight of its own.

    Example:
        >>> x, y = neighbour_products(4, torch.Generator().manual_seed(0), side=6, sites=3)
        >>> x.shape, y.shape
        (torch.Size([4, 1, 6, 6]), torch.Size([4]))
    """
    weight = torch.randn(side * side, generator=generator)
    weight[torch.randperm(side * side, generator=generator)[sites:]] = 0
    x = _images(n, 1, side, smooth, generator)
    return x, (x * x.roll(1, 3))[:, 0].mul(weight.view(side, side)).sum((1, 2))


@checked(n=whole(), side=whole(), directions=whole(), quadratic=ANY_NUMBER)
def random_polynomial(
    n: int, generator: torch.Generator, side: int, *, directions: int = 1, quadratic: float = 0.5
) -> tuple[Tensor, Tensor]:
    r"""White images and :math:`\sum_k u_k + c(u_k^2 - 1)` of projections u on random directions: no pixel is next to another.

    Example:
        >>> x, y = random_polynomial(4, torch.Generator().manual_seed(0), side=6)
        >>> x.shape, y.shape
        (torch.Size([4, 1, 6, 6]), torch.Size([4]))
    """
    w = torch.randn(directions, side * side, generator=generator)
    x = _images(n, 1, side, False, generator)
    u = x.flatten(1) @ (w / w.norm(dim=1, keepdim=True)).T
    return x, (u + quadratic * (u * u - 1)).sum(1)

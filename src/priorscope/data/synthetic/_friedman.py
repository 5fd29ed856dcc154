"""Friedman's first function of ten numbers, with noise: a table to regress on."""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE, checked, whole

__all__ = ["friedman_table"]


@checked(n=whole(), noise=NOT_NEGATIVE)
def friedman_table(n: int, generator: torch.Generator, *, noise: float = 1.0) -> tuple[Tensor, Tensor]:
    r"""``n`` points uniform in the cube of ten dimensions, and Friedman's first function (1991) of them with noise.

    .. math:: 10\sin(\pi x_1 x_2) + 20(x_3 - 1/2)^2 + 10 x_4 + 5 x_5

    Example:
        >>> x, y = friedman_table(3, torch.Generator().manual_seed(0), noise=0.0)
        >>> x.shape, bool((y > 0).all())
        (torch.Size([3, 10]), True)
    """
    x = torch.rand(n, 10, generator=generator)
    y = 10 * (torch.pi * x[:, 0] * x[:, 1]).sin() + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, y + noise * torch.randn(n, generator=generator)

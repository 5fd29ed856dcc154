"""A mean over blocks of networks, with its standard error from the spread of the blocks."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["BlockSums"]


class BlockSums:
    """Sums of block means (D, D) and of their squares, weighted by the networks of each block.

    Example:
        >>> sums = BlockSums(1)
        >>> for value in (1.0, 3.0):
        ...     sums.add(torch.full((1, 1), value, dtype=torch.float64), 5)
        >>> sums.mean.item(), sums.error.item()  # 2, and 1 / sqrt(2 - 1)
        (2.0, 1.0)
    """

    def __init__(self, D: int) -> None:
        self.total = torch.zeros(D, D, dtype=torch.float64)
        self.squares = torch.zeros(D, D, dtype=torch.float64)
        self.done = self.n_blocks = 0

    def add(self, estimate: Tensor, n: int) -> None:
        """One more block: its mean over ``n`` networks."""
        self.total += n * estimate
        self.squares += n * estimate**2
        self.done += n
        self.n_blocks += 1

    @property
    def mean(self) -> Tensor:
        """The mean over all networks."""
        return self.total / self.done

    @property
    def error(self) -> Tensor:
        """Standard error of the mean over blocks, elementwise; not a number for a single block."""
        if self.n_blocks < 2:
            return torch.full_like(self.total, torch.nan)
        spread = (self.squares / self.done - self.mean**2).clamp(min=0)
        return (spread / (self.n_blocks - 1)).sqrt()

    @property
    def relative_error(self) -> float:
        """Frobenius norm of the standard errors over that of the mean."""
        return float(self.error.norm() / self.mean.norm())

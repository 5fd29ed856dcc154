"""The loop of all discrete training: look, take a gradient, update; and the batches it goes through."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TypeVar

import torch
from torch import Tensor

from priorscope.checks import checked, whole

__all__ = ["Batches", "descend"]

Weights = TypeVar("Weights")
Gradient = TypeVar("Gradient")


@checked(steps=whole(0))
def descend(
    weights: Weights,
    gradient: Callable[[Weights, int], Gradient],
    update: Callable[[Weights, Gradient, int], Weights],
    steps: int,
    look: Callable[[Weights, int], bool],
) -> tuple[Weights, int]:
    """The weights after at most ``steps`` steps, and how many were taken.

    ``look(weights, done)`` is called before every step and after the last, with the number of steps done; it records what it
    wants and says whether to stop. Step number ``done`` (from 0) takes ``gradient(weights, done)`` and goes where
    ``update(weights, gradient, done)`` says. What the weights are, one tensor, several by name, or an array that is changed in
    its place, is a matter between the three.

    Example:
        >>> descend(8.0, lambda w, done: w, lambda w, g, done: w - g / 2, steps=10, look=lambda w, done: w <= 1)
        (1.0, 3)
    """
    done = 0
    while not look(weights, done) and done < steps:
        weights = update(weights, gradient(weights, done), done)
        done += 1
    return weights, done


class Batches:
    """Rows of each step's batch: every epoch goes once through a fresh shuffle of all ``n``.

    With ``even`` the batches of an epoch have ``size`` rows or a few more, so that none is too small to be normalised by.

    Example:
        >>> batches = Batches(5, 2, torch.Generator().manual_seed(0))
        >>> epoch = [batches(step).tolist() for step in range(batches.per_epoch)]
        >>> [len(rows) for rows in epoch], sorted(sum(epoch, []))
        ([2, 2, 1], [0, 1, 2, 3, 4])
    """

    def __init__(self, n: int, size: int, generator: torch.Generator, *, even: bool = False) -> None:
        self.n, self.size, self.generator = n, size, generator
        self.per_epoch = n // size if even else ceil(n / size)
        self.even = even
        self.order = torch.arange(n)

    def __call__(self, step: int) -> Tensor:
        """Rows of the batch of this step; steps are asked for in their order."""
        part = step % self.per_epoch
        if part == 0:
            self.order = torch.randperm(self.n, generator=self.generator)
        if self.even:
            return self.order[part * self.n // self.per_epoch : (part + 1) * self.n // self.per_epoch]
        return self.order[part * self.size : (part + 1) * self.size]

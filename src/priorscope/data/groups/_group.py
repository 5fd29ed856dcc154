"""What every group offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch

from priorscope.data.groups._element import Element

__all__ = ["Group"]


class Group(ABC):
    """A compact group of orthogonal maps of inputs.

    Example:
        >>> from priorscope.data import groups
        >>> group = groups.pixel_orthogonal((3, 8, 8))
        >>> group.name, group.dimension, group.order is None
        ('O(c)^d', 192, True)
    """

    name: str

    @property
    @abstractmethod
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Dimension as a manifold; 0 for a finite group."""

    @property
    @abstractmethod
    def order(self) -> int | None:
        """Number of elements; None for a continuous group."""

    @abstractmethod
    def elements(self) -> Sequence[Element]:
        """All elements, the identity first; refused for continuous and for very large groups."""

    @abstractmethod
    def identity(self) -> Element:
        """The neutral element."""

    @abstractmethod
    def sample_haar(self, seed: int = 0, *, special: bool = False) -> Element:
        """One element, uniform in Haar measure; ``special`` restricts orthogonal blocks to determinant +1."""

    @abstractmethod
    def contains(self, element: Element) -> bool:
        """Whether the linear map of ``element`` (of any group on the same inputs) belongs to this group."""


def generator(seed: int) -> torch.Generator:
    """A torch generator of its own for every seed."""
    return torch.Generator().manual_seed(seed)

"""Groups that act block by block: O(m) or P(m) on every block, with its own element or one shared by all."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import factorial
from typing import Literal

import torch
from torch import Tensor

from priorscope.data.groups._element import Element, Permutation, Rotation
from priorscope.data.groups._group import Group, generator
from priorscope.data.groups._layout import Layout

__all__ = ["BlockGroup"]

MOST = 10_000  # elements that are listed


@dataclass(frozen=True)
class BlockGroup(Group):
    """O(m) ("orthogonal") or P(m) ("permutation") on the blocks of a layout; ``shared``: one element for all blocks.

    Example:
        >>> group = BlockGroup("O(c)⊗I", Layout((3, 8, 8), "pixel"), "orthogonal", shared=True)
        >>> group.dimension
        3
    """

    name: str
    layout: Layout
    kind: Literal["orthogonal", "permutation"]
    shared: bool

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.layout.input_shape

    @property
    def copies(self) -> int:
        """Independent factors: the number of blocks, or 1 when shared."""
        return 1 if self.shared else self.layout.blocks

    @property
    def dimension(self) -> int:
        m = self.layout.size
        return self.copies * m * (m - 1) // 2 if self.kind == "orthogonal" else 0

    @property
    def order(self) -> int | None:
        m = self.layout.size
        if self.kind == "permutation":
            found: int | None = factorial(m) ** self.copies
            return found
        return 2**self.copies if m == 1 else None

    def elements(self) -> list[Element]:
        """All elements of a finite group, the identity first; refused for rotations and for more than :data:`MOST`."""
        if self.order is None or self.order > MOST:
            size = "is continuous" if self.order is None else f"has {self.order:.3g} elements"
            raise ValueError(
                f"all elements can be listed for finite groups of at most {MOST}; {self.name} on inputs {self.input_shape} "
                f"{size}. Sample some with sample_haar, or take a smaller group."
            )
        m = self.layout.size
        if self.kind == "permutation":
            one = torch.tensor(list(itertools.permutations(range(m))))  # (m!, m)
            picks = torch.cartesian_prod(*[torch.arange(len(one))] * self.copies).reshape(-1, self.copies)
            return [Permutation(self.layout, one[pick]) for pick in picks]
        signs = torch.tensor(list(itertools.product((1.0, -1.0), repeat=self.copies)), dtype=torch.float64)
        return [Rotation(self.layout, sign[:, None, None]) for sign in signs]

    def identity(self) -> Element:
        m = self.layout.size
        if self.kind == "permutation":
            return Permutation(self.layout, torch.arange(m).expand(self.copies, m).contiguous())
        return Rotation(self.layout, torch.eye(m, dtype=torch.float64).expand(self.copies, m, m).contiguous())

    def sample_haar(self, seed: int = 0, *, special: bool = False) -> Element:
        m, source = self.layout.size, generator(seed)
        if self.kind == "permutation":
            return Permutation(self.layout, torch.rand(self.copies, m, generator=source).argsort(1))
        return Rotation(self.layout, _haar_orthogonal(self.copies, m, source, special))

    def contains(self, element: Element) -> bool:
        """Checked on the dense matrix: block-diagonal in this layout, equal blocks when shared, 0/1 entries for P."""
        if element.layout.input_shape != self.input_shape:
            return False
        matrix = element.matrix()
        size, B, m = len(matrix), self.layout.blocks, self.layout.size
        order = self.layout.split(torch.arange(size).reshape(1, *self.input_shape)).flatten()
        dense = matrix[order][:, order].reshape(B, m, B, m).transpose(1, 2)  # (B, B, m, m)
        diagonal = dense.diagonal(dim1=0, dim2=1).permute(2, 0, 1)  # (B, m, m)
        inside = bool((dense.square().sum() - diagonal.square().sum()).abs() < 1e-9 * size)
        if self.shared:
            inside &= bool((diagonal - diagonal[:1]).abs().max() < 1e-9)
        if self.kind == "permutation":
            inside &= bool(torch.minimum(diagonal.abs(), (diagonal - 1).abs()).max() < 1e-9)
        return inside


def _haar_orthogonal(copies: int, m: int, source: torch.Generator, special: bool) -> Tensor:
    """QR of a Gaussian matrix with a positive diagonal of R (Mezzadri 2007); without the signs the law is not Haar."""
    basis, r = torch.linalg.qr(torch.randn(copies, m, m, generator=source, dtype=torch.float64))
    q: Tensor = basis * r.diagonal(dim1=-2, dim2=-1).sign()[:, None, :]
    if special:  # flip one axis of the reflections: Haar on SO(m)
        q[..., 0] *= torch.linalg.det(q).sign()[:, None]
    return q

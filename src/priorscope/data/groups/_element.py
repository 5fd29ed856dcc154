"""One element of a group: a linear map of inputs, applied, composed, inverted, and followed from the identity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Self

import torch
from torch import Tensor

from priorscope.data.groups._layout import Layout

__all__ = ["Element", "Permutation", "Rotation"]


@dataclass(frozen=True, eq=False)
class Element(ABC):
    """A group element; calling it transforms a batch (n, \\*input_shape). ``g @ h`` applies h first.

    Example:
        >>> import torch
        >>> from priorscope.data import groups
        >>> g = groups.orthogonal((3, 2, 2)).sample_haar(seed=0)
        >>> x = torch.randn(5, 3, 2, 2, dtype=torch.float64)
        >>> torch.allclose(g.inverse()(g(x)), x)
        True
    """

    layout: Layout

    @abstractmethod
    def __call__(self, x: Tensor) -> Tensor:
        """The transformed batch, in the dtype and on the device of ``x``."""

    @abstractmethod
    def __matmul__(self, other: object) -> Element:
        """The composition: ``(g @ h)(x) = g(h(x))``."""

    @abstractmethod
    def inverse(self) -> Element:
        """The element that undoes this one."""

    @abstractmethod
    def path(self, time: float) -> Element:
        r"""The point :math:`\exp(t \log g)` of the one-parameter path from the identity (t = 0) to g (t = 1)."""

    def matrix(self) -> Tensor:
        """The dense orthogonal matrix (c·d, c·d) on flattened inputs, float64. For small inputs."""
        size = prod(self.layout.input_shape)
        basis = torch.eye(size, dtype=torch.float64)
        return self(basis.reshape(size, *self.layout.input_shape)).reshape(size, size).mT.contiguous()

    def _same(self, other: object) -> Self:
        """The other element, refused where it is not of this group."""
        if type(other) is not type(self) or other.layout != self.layout:
            raise TypeError(
                f"only elements of one group compose; got {self!r} and {other!r}. "
                "For a mix of groups apply them one after the other: g(h(x))."
            )
        return other


@dataclass(frozen=True, eq=False)
class Rotation(Element):
    """Orthogonal matrices (blocks, m, m), one per block, or (1, m, m) shared by all blocks.

    Example:
        >>> from priorscope.data import groups
        >>> g = groups.pixel_orthogonal((3, 4, 4)).sample_haar(seed=0, special=True)
        >>> tuple(g.matrices.shape), bool((g.path(1.0).matrices - g.matrices).abs().max() < 1e-9)
        ((16, 3, 3), True)
    """

    matrices: Tensor

    def __repr__(self) -> str:
        return f"Rotation({self.layout.kind}, {tuple(self.matrices.shape)})"

    def __call__(self, x: Tensor) -> Tensor:
        blocks = self.layout.split(x)  # (n, B, m)
        matrices = self.matrices.to(x)
        if len(matrices) == 1:
            return self.layout.join(blocks @ matrices[0].mT)
        return self.layout.join(torch.einsum("bij,nbj->nbi", matrices, blocks))

    def __matmul__(self, other: object) -> Rotation:
        return Rotation(self.layout, self.matrices @ self._same(other).matrices)

    def inverse(self) -> Rotation:
        return Rotation(self.layout, self.matrices.mT)

    @cached_property
    def logarithm(self) -> Tensor:
        """Real skew matrices whose exponential is the rotation; every block must have determinant +1."""
        if (torch.linalg.det(self.matrices) < 0).any():
            raise ValueError(
                "a path exp(t log g) needs rotations: every block with determinant +1; got a reflection. "
                "Sample with sample_haar(..., special=True)."
            )
        values, vectors = torch.linalg.eig(self.matrices)  # a normal matrix: e^{±iθ} in conjugate pairs
        angles = torch.complex(torch.zeros_like(values.real), values.angle())
        log = (vectors * angles[..., None, :]) @ torch.linalg.inv(vectors)
        skew: Tensor = (log.real - log.real.mT) / 2
        error = float((torch.linalg.matrix_exp(skew) - self.matrices).abs().max())
        if error > 1e-6:
            raise ValueError(
                f"this rotation has no accurate real logarithm (error {error:.1e}): two angles are close to 180°, "
                "or eigenvalues coincide. Sample another element."
            )
        return skew

    def path(self, time: float) -> Rotation:
        return Rotation(self.layout, torch.linalg.matrix_exp(time * self.logarithm))


@dataclass(frozen=True, eq=False)
class Permutation(Element):
    """Reorders the numbers of each block: ``(g x)[i] = x[index[i]]``; index (blocks, m), or (1, m) shared.

    Example:
        >>> import torch
        >>> from priorscope.data import groups
        >>> g = groups.translations((1, 4)).elements()[1]
        >>> g(torch.arange(4.0).reshape(1, 1, 4)).flatten().tolist()
        [3.0, 0.0, 1.0, 2.0]
    """

    index: Tensor

    def __repr__(self) -> str:
        return f"Permutation({self.layout.kind}, {tuple(self.index.shape)})"

    def __call__(self, x: Tensor) -> Tensor:
        blocks = self.layout.split(x)
        index = self.index.to(x.device).expand(blocks.shape[1], -1)
        return self.layout.join(blocks.gather(2, index.expand(len(blocks), -1, -1)))

    def __matmul__(self, other: object) -> Permutation:
        return Permutation(self.layout, self._same(other).index.gather(1, self.index))

    def inverse(self) -> Permutation:
        return Permutation(self.layout, self.index.argsort(1))

    def path(self, time: float) -> Permutation:
        if time in (0.0, 1.0):
            return self if time == 1.0 else self @ self.inverse()
        raise ValueError(
            f"a finite group has no continuous path; got time {time}. "
            "Use an orthogonal group (shared_orthogonal, pixel_orthogonal, orthogonal), or time 0 or 1."
        )

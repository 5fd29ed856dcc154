"""A convolutional kernel whose first layer sees patches through a linear map: features shared by all positions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from priorscope.models.kernels._expansion_gradients import check_expansion, outer_mean
from priorscope.models.kernels._kernel import Kernel, check_kinds
from priorscope.models.layers._conv import Conv
from priorscope.models.layers._dense import Dense
from priorscope.models.layers._taps import gather_patches
from priorscope.printing import printed

if TYPE_CHECKING:
    from priorscope.models.architectures._architecture import Architecture

__all__ = ["MappedPatches"]


@printed
@dataclass(frozen=True, eq=False)
class MappedPatches:
    r"""The kernel of an architecture that begins with a convolution, with patches p replaced by :math:`Ap`.

    A filter of the first layer is a dense layer on patches, so the kernel is that of the architecture with ``Dense`` in place of
    its first ``Conv``, on images whose channels are the entries of the patch around each position. ``matrix`` is A,
    (channels · taps, channels · taps) or its diagonal. Beaglehole et al. (2023, arXiv 2309.00570), convolutional recursive
    feature machines.

    Holds: with the identity, the kernel of the architecture itself.

    Example:
        >>> import priorscope as ps
        >>> x = torch.randn(2, 1, 4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        >>> arch = ps.models.vec(1)
        >>> torch.allclose(MappedPatches(arch, torch.ones(9)).kernel(x).ntk, arch.kernel(x).ntk)
        True
    """

    arch: Architecture
    matrix: Tensor

    def __post_init__(self) -> None:
        if not isinstance(self.arch.layers[0], Conv):
            raise ValueError(
                f"a map of patches needs an architecture that begins with Conv; got {self.arch.layers[0]!r}."
            )
        A = self.matrix
        if A.ndim not in (1, 2) or (A.ndim == 2 and A.shape[0] != A.shape[1]) or not bool(torch.isfinite(A).all()):
            raise ValueError(f"a map of patches needs a finite matrix (D, D) or (D,); got {tuple(A.shape)}.")
        object.__setattr__(self, "matrix", A.detach().double())

    @property
    def name(self) -> str:
        """The name of the architecture, and that it has features."""
        return f"{self.arch.name} + features"

    @property
    def pixelwise(self) -> Architecture:
        """The architecture on patches: its first convolution is a dense layer at each position."""
        first = self.arch.layers[0]
        assert isinstance(first, Conv)
        return replace(self.arch, layers=(Dense(first.weight_variance, first.bias_variance), *self.arch.layers[1:]))

    def patches(self, x: Tensor) -> Tensor:
        """Patches (n, channels · taps, *positions) in float64, in the order of a filter's weight."""
        first = self.arch.layers[0]
        assert isinstance(first, Conv)
        n_space = x.ndim - 2
        found = gather_patches(x.double(), first.kernel_size, first.stride, first.padding)  # (n, c, *S, *taps)
        found = found.flatten(2 + n_space).movedim(-1, 2).flatten(1, 2)
        if found.shape[1] != len(self.matrix):
            raise ValueError(f"the map takes patches of {len(self.matrix)} numbers; got {found.shape[1]}.")
        return found

    def through(self, x: Tensor) -> Tensor:
        """Patches after the map."""
        p = self.patches(x)
        if self.matrix.ndim == 1:
            return p * self.matrix.reshape(-1, *(1,) * (p.ndim - 2))
        return torch.einsum("oi,ni...->no...", self.matrix, p)

    def kernel(self, x1: Tensor, x2: Tensor | None = None, *, kinds: tuple[str, ...] | str = ("nngp", "ntk")) -> Kernel:
        """The kernel of the mapped patches."""
        return self.pixelwise.kernel(
            self.through(x1), None if x2 is None else self.through(x2), kinds=check_kinds(kinds)
        )

    def mapped(self, matrix: Tensor) -> MappedPatches:
        """The same architecture behind another map, which takes the place of this one."""
        return replace(self, matrix=matrix)

    def _patch_gradients(self, x: Tensor, anchors: Tensor, coefficients: Tensor, kind: str) -> Tensor:
        """Gradients (n, outputs, channels · taps, *positions) with respect to the patches before the map."""
        inner = self.pixelwise.expansion_gradients(self.through(x), self.through(anchors), coefficients, kind=kind)
        if self.matrix.ndim == 1:
            return inner * self.matrix.reshape(-1, *(1,) * (inner.ndim - 3))
        return torch.einsum("oi,nco...->nci...", self.matrix, inner)

    def expansion_gradients(self, x: Tensor, anchors: Tensor, coefficients: Tensor, *, kind: str = "ntk") -> Tensor:
        """Gradients (n, outputs, *input_shape): those of the patches, added up where patches overlap."""
        check_expansion(x, anchors, coefficients)
        inner = self._patch_gradients(x, anchors, coefficients, kind)
        entered = x.detach().double().requires_grad_(True)
        patches = self.patches(entered)
        pulled = [
            torch.autograd.grad(patches, entered, inner[:, o], retain_graph=True)[0] for o in range(inner.shape[1])
        ]
        return torch.stack(pulled, 1)

    def feature_moment(self, x: Tensor, anchors: Tensor, coefficients: Tensor, *, kind: str = "ntk") -> Tensor:
        """Mean over rows, outputs and positions of the gradient with respect to a patch times itself."""
        check_expansion(x, anchors, coefficients)
        found = self._patch_gradients(x, anchors, coefficients, kind)  # (n, outputs, D, *positions)
        return outer_mean(found.flatten(3).transpose(2, 3).flatten(0, 2)[None])

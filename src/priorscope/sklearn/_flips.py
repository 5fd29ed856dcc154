"""A kernel averaged over left-right flips of its inputs: functions that do not tell an image from its mirror image."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from priorscope.contracts import KernelModel
from priorscope.models import Kernel

__all__ = ["FlipAveraged"]


@dataclass(frozen=True)
class FlipAveraged:
    r"""The kernel :math:`\frac14\sum_{g,h} K(gx, hx')` over the flip of the last axis and the identity.

    Where :math:`K(gx, gx') = K(x, x')`, as for convolutional architectures, it is the average of K over the group and the
    kernel of a network whose outputs are averaged over flips (Lee et al. 2020, arXiv 2007.15801, Sec. 3.12, "ensembling" over
    augmentations, at the level of the kernel).

    Example:
        >>> import torch, priorscope as ps
        >>> x = torch.rand(2, 1, 4, 4)
        >>> both = FlipAveraged(ps.models.fcn(1)).kernel(torch.cat([x, x.flip(-1)])).ntk
        >>> torch.allclose(both[:2], both[2:])
        True
    """

    model: KernelModel

    @property
    def name(self) -> str:
        """What it is called in a report."""
        return f"flips of {getattr(self.model, 'name', type(self.model).__name__)}"

    def kernel(self, x1: Tensor, x2: Tensor | None = None, *, kinds: tuple[str, ...] = ("nngp", "ntk")) -> Kernel:
        """The average; two kernels where flipping both inputs changes nothing (seen on the first two), four elsewhere."""
        b = x1 if x2 is None else x2
        pairs = [(x1, x2), (x1, b.flip(-1))]
        if not self._shared(x1[:2], b[:2], kinds):
            pairs += [(x1.flip(-1), None if x2 is None else x2.flip(-1)), (x1.flip(-1), b)]
        found = [self.model.kernel(first, second, kinds=kinds) for first, second in pairs]
        return Kernel(**{kind: sum(getattr(k, kind) for k in found) / len(found) for kind in kinds})

    def _shared(self, a: Tensor, b: Tensor, kinds: tuple[str, ...]) -> bool:
        """Whether the kernel of two flipped inputs is that of the inputs."""
        plain, turned = (self.model.kernel(u, v, kinds=kinds) for u, v in ((a, b), (a.flip(-1), b.flip(-1))))
        return all(torch.allclose(getattr(plain, k), getattr(turned, k), rtol=1e-8) for k in kinds)

"""A kernel averaged over left-right flips of its inputs: functions that do not tell an image from its mirror image."""

from __future__ import annotations

from dataclasses import dataclass

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
        """Four kernels, averaged; three where the batches are one, of which the mixed ones are transposes."""
        flipped = x1.flip(-1)
        if x2 is None:
            same, other, across = (
                self.model.kernel(x1, None, kinds=kinds),
                self.model.kernel(flipped, None, kinds=kinds),
                self.model.kernel(x1, flipped, kinds=kinds),
            )
            mixed = {kind: getattr(across, kind) + getattr(across, kind).mT for kind in kinds}
        else:
            same, other = (
                self.model.kernel(x1, x2, kinds=kinds),
                self.model.kernel(flipped, x2.flip(-1), kinds=kinds),
            )
            first, second = (
                self.model.kernel(flipped, x2, kinds=kinds),
                self.model.kernel(x1, x2.flip(-1), kinds=kinds),
            )
            mixed = {kind: getattr(first, kind) + getattr(second, kind) for kind in kinds}
        return Kernel(**{kind: (getattr(same, kind) + getattr(other, kind) + mixed[kind]) / 4 for kind in kinds})

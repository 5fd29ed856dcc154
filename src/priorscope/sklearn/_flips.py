"""A kernel averaged over left-right flips of its inputs: functions that do not tell an image from its mirror image."""

from __future__ import annotations

from dataclasses import dataclass, field

from priorscope.contracts import name_of
from priorscope.models import Invariant

__all__ = ["FlipAveraged"]


@dataclass(frozen=True)
class FlipAveraged(Invariant):
    r"""A model averaged over the mirror images of its inputs: ``invariant(model, "mirror")``, chosen by left-out rows.

    It has a name of its own, so that a saved machine tells what was chosen from what was asked for (Lee et al. 2020, arXiv
    2007.15801, Sec. 3.12, "ensembling" over augmentations, at the level of the kernel).

    Example:
        >>> import torch, priorscope as ps
        >>> x = torch.rand(2, 1, 4, 4)
        >>> both = FlipAveraged(ps.models.fcn(1)).kernel(torch.cat([x, x.flip(-1)])).ntk
        >>> torch.allclose(both[:2], both[2:])
        True
    """

    group: str = field(default="mirror", init=False)

    @property
    def name(self) -> str:
        """What it is called in a report."""
        return f"flips of {name_of(self.model)}"

"""Random patterns: points on a sphere whose labels mean nothing, as the jamming papers memorise them."""

from __future__ import annotations

import torch

from priorscope.checks import SEED, checked, whole
from priorscope.data._dataset import Split

__all__ = ["random_patterns"]


@checked(n=whole(), dim=whole(), seed=SEED)
def random_patterns(n: int, dim: int, seed: int = 0) -> Split:
    r"""``n`` points uniform on the sphere of radius :math:`\sqrt d` with random balanced labels ±1, in float64.

    Geiger et al. (2019), "Jamming transition as a paradigm to understand the loss landscape of deep networks", Sec. III.

    Example:
        >>> patterns = random_patterns(6, 3)
        >>> float(patterns.targets.sum())
        0.0
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, dim, generator=generator, dtype=torch.float64)
    x = x / x.norm(dim=1, keepdim=True) * dim**0.5
    y = torch.ones(n, 1, dtype=torch.float64)
    y[1::2] = -1  # points are random, so alternating labels are random balanced ones
    return Split(x, y)

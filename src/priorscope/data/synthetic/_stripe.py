"""The stripe: labels that depend on one direction of many."""

from __future__ import annotations

import torch

from priorscope.checks import SEED, checked, whole
from priorscope.data._dataset import Split

__all__ = ["stripe"]

EDGES = (-0.3, 1.18549)  # in the first coordinate; half of the points lie between them


@checked(n=whole(), dim=whole(), seed=SEED)
def stripe(n: int, dim: int, seed: int = 0) -> Split:
    """``n`` standard Gaussian points with label +1 where the first coordinate lies between -0.3 and 1.18549, −1 elsewhere.

    Both labels are equally likely. In float64. Paccolat et al. (2021), "Geometric compression of invariant manifolds in neural
    networks"; the edges are those of the code of "Landscape and training regimes in deep learning" (2021).

    Example:
        >>> points = stripe(6, 3)
        >>> points.inputs.shape, sorted(set(points.targets.flatten().tolist()))
        (torch.Size([6, 3]), [-1.0, 1.0])
    """
    x = torch.randn(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    inside = (x[:, 0] > EDGES[0]) & (x[:, 0] < EDGES[1])
    return Split(x, torch.where(inside, 1.0, -1.0).double()[:, None])

"""A two-sample test that needs nothing but distances: energy distance with permutations."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from priorscope.checks import SEED, whole
from priorscope.contracts import guarded

__all__ = ["TwoSample", "energy_test"]


@dataclass(frozen=True)
class TwoSample:
    """Energy distance between two samples and its permutation p-value.

    Example:
        >>> x = torch.tensor([[0.0], [0.0], [0.0], [0.0]])
        >>> energy_test(x, x + 1).distance  # 2 E|X - Y|, both spreads being zero
        2.0
    """

    distance: float
    p_value: float


@guarded(permutations=whole(), seed=SEED)
def energy_test(first: Tensor, second: Tensor, *, permutations: int = 999, seed: int = 0) -> TwoSample:
    r"""Do two samples of vectors come from one law? Rows are draws.

    .. math:: \mathcal E = 2 E|X - Y| - E|X - X'| - E|Y - Y'| \ge 0,

    zero exactly when the laws agree (Székely & Rizzo 2004). The p-value is the share of relabellings of the pooled draws whose
    distance is at least as large, the observed one included: valid at any sample size.

    Example:
        >>> x = torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
        >>> energy_test(x[:10], x[10:]).p_value > 0.01, energy_test(x[:10], x[10:] + 5).p_value < 0.01
        (True, True)
    """
    x, y = first.flatten(1).double(), second.flatten(1).double()
    if len(x) < 4 or len(y) < 4 or x.shape[1] != y.shape[1]:
        raise ValueError(
            f"energy_test needs at least 4 draws on each side, of one length; got {tuple(x.shape)} and {tuple(y.shape)}."
        )
    pooled = torch.cat([x, y])
    distances = torch.cdist(pooled, pooled)
    n, m = len(x), len(y)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.rand(permutations, n + m, generator=generator).argsort(1).argsort(1) < n
    labels = torch.cat([(torch.arange(n + m) < n)[None], labels]).double()  # (1 + permutations, n + m)
    other = 1 - labels

    def within(side: Tensor, size: int) -> Tensor:
        return torch.einsum("pi,ij,pj->p", side, distances, side) / (size * (size - 1))

    between = torch.einsum("pi,ij,pj->p", labels, distances, other) / (n * m)
    energy = 2 * between - within(labels, n) - within(other, m)
    return TwoSample(float(energy[0]), float((energy >= energy[0] - 1e-12).double().mean()))

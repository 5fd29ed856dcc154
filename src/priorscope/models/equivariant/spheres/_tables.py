"""Wigner matrices on the grid, computed once per bandwidth, degree and precision."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from priorscope.models.equivariant.spheres._grid import soft_angles, soft_weights
from priorscope.models.equivariant.spheres._wigner import wigner_d

__all__ = ["orders", "table"]


def orders(degrees: int, half: bool) -> list[int]:
    """The orders m of a table: 0 … L-1 where ``half``, else -(L-1) … L-1."""
    return list(range(0 if half else 1 - degrees, degrees))


@lru_cache(maxsize=64)
def table(bandwidth: int, degrees: int, half: bool, sphere: bool, analysis: bool, dtype: torch.dtype) -> Tensor:
    r"""Values :math:`d^l_{mn}(\beta_j)`, one matrix per pair (m, n): (pairs, L, 2b) weighted, for the analysis, or (pairs, 2b, L)
    times 2l+1, for the synthesis; zero where l < max(\|m\|, \|n\|). On the sphere n = 0 alone.
    """
    _, beta = soft_angles(bandwidth)
    rows = orders(degrees, half)
    columns = [0] if sphere else orders(degrees, False)
    found = torch.zeros(len(rows), len(columns), degrees, 2 * bandwidth, dtype=torch.float64)
    for l in range(degrees):
        d = wigner_d(l, beta)  # (2b, 2l+1, 2l+1)
        m = [i for i, order in enumerate(rows) if abs(order) <= l]
        n = [i for i, order in enumerate(columns) if abs(order) <= l]
        block = d[:, [rows[i] + l for i in m]][:, :, [columns[i] + l for i in n]]  # (2b, m, n)
        found[m[0] : m[-1] + 1, n[0] : n[-1] + 1, l] = block.permute(1, 2, 0)
    found = found.flatten(0, 1)
    if analysis:
        return (found * soft_weights(bandwidth)).to(dtype)
    weighted = found * (2 * torch.arange(degrees, dtype=torch.float64) + 1)[:, None]
    return weighted.mT.contiguous().to(dtype)

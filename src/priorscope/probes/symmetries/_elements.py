"""Elements to test a symmetry with: Haar draws that move something."""

from __future__ import annotations

import torch

from priorscope.checks import check, whole
from priorscope.data.groups import Element, Group

__all__ = ["moving_elements"]


def moving_elements(group: Group, n_elements: int, seed: int = 0) -> list[Element]:
    """Haar draws of a group without those that leave every input as it is: the identity proves nothing.

    A flip is the identity one time in four, and a test on it alone would call any system invariant. A group that moves
    nothing at all (permutations of one channel) gives its identity.

    Example:
        >>> from priorscope.data import groups
        >>> x = torch.arange(4.0).reshape(1, 1, 2, 2)
        >>> [bool((g(x) == x).all()) for g in moving_elements(groups.flips((1, 2, 2)), 5)]
        [False, False, False, False, False]
    """
    check("a symmetry", "n_elements", n_elements, whole())
    probe = torch.randn(1, *group.input_shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found: list[Element] = []
    for k in range(64 * n_elements):
        g = group.sample_haar(seed + k)
        if not torch.equal(g(probe), probe):
            found.append(g)
        if len(found) == n_elements:
            return found
    return found or [group.identity()]

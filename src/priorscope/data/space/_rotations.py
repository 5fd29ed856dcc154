"""Rotations of space drawn uniformly."""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.checks import SEED, checked, whole

__all__ = ["random_rotations"]


@checked(n=whole(0), seed=SEED)
def random_rotations(n: int, seed: int = 0) -> Tensor:
    """Rotations (n, 3, 3) from the Haar measure of SO(3), by normal quaternions (Shoemake 1992); float64.

    Example:
        >>> R = random_rotations(5)
        >>> bool(torch.allclose(R @ R.mT, torch.eye(3, dtype=R.dtype).expand(5, 3, 3)))
        True
    """
    q = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    w, x, y, z = torch.nn.functional.normalize(q, dim=1).T
    rows = [
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return torch.stack(rows, 1).reshape(n, 3, 3)

"""The pair of kernels that an architecture gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["KINDS", "Kernel", "check_kinds"]

KINDS = ("nngp", "ntk")


@dataclass(frozen=True, eq=False)
class Kernel:
    """Kernels between two batches: ``nngp`` and ``ntk``, matrices ``(n1, n2)``, None where not asked for.

    Example:
        >>> import torch, priorscope as ps
        >>> ps.models.fcn(depth=1).kernel(torch.eye(2)).ntk.shape
        torch.Size([2, 2])
    """

    nngp: Any = None  # Tensor, or a matrix on disk when ``out=`` was given
    ntk: Any = None


def check_kinds(kinds: tuple[str, ...] | str) -> tuple[str, ...]:
    """Which kernels are wanted, as a tuple."""
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if not kinds or any(kind not in KINDS for kind in kinds):
        raise ValueError(f"kinds must be some of {KINDS}; got {kinds!r}.")
    return kinds

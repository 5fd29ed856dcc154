"""Comparing matrices, and the second moment of a data set."""

from __future__ import annotations

from torch import Tensor

from priorscope.contracts import guarded

__all__ = ["matrix_correlation", "second_moment"]


@guarded()
def matrix_correlation(a: Tensor, b: Tensor) -> float:
    r"""Frobenius cosine :math:`\langle A, B\rangle / (\|A\|\,\|B\|)`.

    Example:
        >>> import torch
        >>> round(matrix_correlation(torch.eye(4), torch.ones(4, 4)), 3)
        0.5
    """
    if a.shape != b.shape:
        raise ValueError(f"matrix_correlation needs matrices of one shape; got {tuple(a.shape)} and {tuple(b.shape)}.")
    a, b = a.double(), b.double()
    norm = float(a.norm() * b.norm())
    return float((a * b).sum()) / norm if norm > 0 else float("nan")


@guarded()
def second_moment(x: Tensor) -> Tensor:
    r""":math:`S = \sum_\mu x_\mu x_\mu^T` (D, D) of inputs (n, *shape), not centred, in float64.

    Example:
        >>> import torch
        >>> second_moment(torch.eye(2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    flat = x.flatten(1).double()
    return flat.mT @ flat

"""What e3nn supplies: real spherical harmonics and the real matrices of rotations; imported on first use, which is slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["e3nn_o3", "real_harmonics", "real_wigner"]


def e3nn_o3() -> ModuleType:
    """The module ``e3nn.o3``, or an error that says how to get it.

    Example:
        >>> e3nn_o3().Irreps("2x1o").dim
        6
    """
    try:
        from e3nn import o3
    except ImportError as error:
        raise ImportError(
            "steerable filters and point clouds need e3nn, which is not installed: pip install 'priorscope[equivariant]'."
        ) from error
    module: ModuleType = o3
    return module


def real_harmonics(degree: int, points: Tensor) -> Tensor:
    r"""Real spherical harmonics (…, 2l+1) of the directions of points (…, 3), with mean square 1 over the components.

    Degree 1 is √3 (x, y, z). At the origin, which has no direction, they are 0 but for degree 0, which is 1.

    Example:
        >>> real_harmonics(1, torch.tensor([[0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]).double()).round(decimals=3).tolist()
        [[0.0, 0.0, 1.732], [0.0, 0.0, 0.0]]
    """
    found: Tensor = e3nn_o3().spherical_harmonics(degree, points, normalize=True, normalization="component")
    if degree == 0:
        return found
    return torch.where(points.norm(dim=-1, keepdim=True) > 0, found, torch.zeros_like(found))


def real_wigner(degree: int, rotation: Tensor) -> Tensor:
    r"""The real orthogonal matrix (2l+1, 2l+1) with :math:`Y^l(Rx) = D^l(R) Y^l(x)`, float64; degree 1 is R itself.

    Solved for from this equation at fixed points: angles of R, from which e3nn makes the matrix, lose half the digits near the
    poles. A mirror R gives the matrix of polar fields, which change sign (-1)^l.

    Example:
        >>> quarter = torch.tensor([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
        >>> bool(torch.allclose(real_wigner(1, quarter), quarter))
        True
    """
    R = rotation.double().cpu()
    if R.shape != (3, 3) or not bool(((R @ R.T - torch.eye(3, dtype=R.dtype)).abs() < 1e-4).all()):
        raise ValueError(f"wanted an orthogonal matrix (3, 3); got shape {tuple(rotation.shape)}.")
    points = torch.randn(4 * degree + 4, 3, generator=torch.Generator().manual_seed(degree), dtype=torch.float64)
    before, after = real_harmonics(degree, points), real_harmonics(degree, points @ R.T)
    solved: Tensor = torch.linalg.lstsq(before, after).solution
    return solved.T

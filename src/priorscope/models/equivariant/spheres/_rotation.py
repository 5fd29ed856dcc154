"""Rotations of space as matrices and as the angles of Z Y Z."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["euler_angles", "rotation_matrix"]


def rotation_matrix(alpha: Tensor, beta: Tensor, gamma: Tensor) -> Tensor:
    r"""The rotation :math:`Z(\alpha) Y(\beta) Z(\gamma)` that acts on column vectors, (…, 3, 3).

    Example:
        >>> quarter = torch.tensor(torch.pi / 2, dtype=torch.float64)
        >>> (rotation_matrix(quarter, 0 * quarter, 0 * quarter) @ torch.tensor([1.0, 0, 0]).double()).round().tolist()
        [0.0, 1.0, 0.0]
    """
    return _about_z(alpha) @ _about_y(beta) @ _about_z(gamma)


def euler_angles(rotation: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    r"""Angles with :math:`R = Z(\alpha) Y(\beta) Z(\gamma)`, β in [0, π]; at the poles, where only α ± γ counts, γ is 0.

    Raises where a matrix is no rotation: not orthogonal to 1e-4, or a mirror.

    Example:
        >>> angles = torch.tensor([0.3, 0.7, -0.2], dtype=torch.float64)
        >>> [round(float(a), 6) for a in euler_angles(rotation_matrix(*angles))]
        [0.3, 0.7, -0.2]
    """
    if rotation.shape[-2:] != (3, 3):
        raise ValueError(f"a rotation of space is a matrix (3, 3); got {tuple(rotation.shape)}.")
    R = rotation.double()
    off = float((R @ R.mT - torch.eye(3, dtype=R.dtype)).abs().max())
    if not off < 1e-4 or bool((torch.linalg.det(R) < 0).any()):
        raise ValueError(
            f"wanted rotations: orthogonal matrices of determinant 1; got one with |R Rᵀ - 1| up to {off:.1e} and determinant "
            f"{float(torch.linalg.det(R).min()):.3g}. Mirrors act on points, not on signals of a sphere here."
        )
    across = (R[..., 0, 2].square() + R[..., 1, 2].square()).sqrt()
    beta = torch.atan2(across, R[..., 2, 2])
    pole = across < 1e-12
    alpha = torch.where(pole, torch.atan2(-R[..., 0, 1], R[..., 1, 1]), torch.atan2(R[..., 1, 2], R[..., 0, 2]))
    gamma = torch.where(pole, torch.zeros_like(alpha), torch.atan2(R[..., 2, 1], -R[..., 2, 0]))
    return alpha, beta, gamma


def _about_z(angle: Tensor) -> Tensor:
    c, s, zero, one = angle.cos(), angle.sin(), torch.zeros_like(angle), torch.ones_like(angle)
    found: Tensor = torch.stack([c, -s, zero, s, c, zero, zero, zero, one], -1).unflatten(-1, (3, 3))
    return found


def _about_y(angle: Tensor) -> Tensor:
    c, s, zero, one = angle.cos(), angle.sin(), torch.zeros_like(angle), torch.ones_like(angle)
    found: Tensor = torch.stack([c, zero, s, zero, one, zero, -s, zero, c], -1).unflatten(-1, (3, 3))
    return found

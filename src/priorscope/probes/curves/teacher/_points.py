"""Where the points of a teacher lie, and the fields it draws there."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from priorscope.checks import SEED, whole
from priorscope.contracts import KernelModel, guarded, kernel_matrix
from priorscope.data import sphere

__all__ = ["gaussian_field", "on_torus", "teacher_points"]

DOMAINS = ("sphere", "torus", "lattice")


def on_torus(angles: Tensor) -> Tensor:
    """Angles (n, d) as points (n, 2d), one unit circle per axis.

    Example:
        >>> on_torus(torch.zeros(1, 2)).tolist()
        [[1.0, 1.0, 0.0, 0.0]]
    """
    return torch.cat([angles.cos(), angles.sin()], 1)


@guarded(n=whole(), dim=whole(), seed=SEED)
def teacher_points(domain: str, dim: int, n: int, *, seed: int = 0) -> Tensor:
    """``n`` points of a ``dim``-dimensional domain in float64.

    "sphere": uniform on S^d in R^{d+1}; "torus": uniform on a product of d unit circles in R^{2d}; "lattice": the regular lattice
    of the torus, n a d-th power of a whole number.

    Example:
        >>> teacher_points("sphere", 2, 5).shape, teacher_points("lattice", 2, 9).shape
        (torch.Size([5, 3]), torch.Size([9, 4]))
    """
    if domain == "sphere":
        return sphere(n, dim + 1, seed=seed, dtype=torch.float64)
    if domain == "torus":
        generator = torch.Generator().manual_seed(seed)
        return on_torus(2 * math.pi * torch.rand(n, dim, generator=generator, dtype=torch.float64))
    if domain != "lattice":
        raise ValueError(f"a domain is one of {', '.join(map(repr, DOMAINS))}; got {domain!r}.")
    side = round(n ** (1 / dim))
    if side**dim != n:
        raise ValueError(f"a lattice in {dim} dimensions has side^{dim} points; got n = {n}. Take {side**dim}.")
    axis = 2 * math.pi * torch.arange(side, dtype=torch.float64) / side
    return on_torus(torch.cartesian_prod(*[axis] * dim).reshape(n, dim))


@guarded(draws=whole(), seed=SEED)
def gaussian_field(kernel: KernelModel, x: Tensor, *, draws: int = 1, seed: int = 0) -> Tensor:
    r"""Draws (n, draws) of the Gaussian field of covariance K at the points, :math:`Z = U\sqrt\lambda\,g` with K = UλU'.

    Rounding below zero among the eigenvalues of a smooth kernel is clipped.

    Example:
        >>> import priorscope as ps
        >>> gaussian_field(ps.models.laplace(1.0), teacher_points("sphere", 2, 6), draws=3).shape
        torch.Size([6, 3])
    """
    K = kernel_matrix(kernel, x).double()
    lam, modes = torch.linalg.eigh((K + K.mT) / 2)
    if float(lam[0]) < -1e-8 * float(lam[-1]):
        raise ValueError(
            f"the covariance of a field must be positive semidefinite; its smallest eigenvalue is {float(lam[0]):.3g}."
        )
    g = torch.randn(len(x), draws, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    found: Tensor = modes @ (lam.clamp(min=0).sqrt()[:, None] * g)
    return found

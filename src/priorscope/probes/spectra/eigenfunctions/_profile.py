"""A kernel as a function of the cosine between its inputs."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray

from priorscope.contracts import KernelModel, is_kernel_model, kernel_matrix

Array = NDArray[np.float64]
Profile = Callable[[Array], Array]


def as_profile(kernel: KernelModel | Profile, dim: int, radius: float, kind: str) -> Profile:
    """``kernel`` itself if it is a function of the cosine, or the profile of an architecture at inputs of that radius."""
    if not is_kernel_model(kernel):
        if not callable(kernel):
            raise ValueError(
                f"a kernel here is a function of the cosine or an Architecture; got {type(kernel).__name__}."
            )
        return lambda t: np.asarray(kernel(np.asarray(t, dtype=np.float64)), dtype=np.float64)

    def profile(t: Array) -> Array:
        flat = np.clip(np.asarray(t, dtype=np.float64).reshape(-1), -1, 1)
        points = torch.zeros(len(flat), dim, dtype=torch.float64)
        points[:, 0] = radius * torch.as_tensor(flat)
        points[:, 1] = radius * torch.as_tensor(np.sqrt(1 - flat**2))
        first = torch.zeros(1, dim, dtype=torch.float64)
        first[0, 0] = radius
        return kernel_matrix(kernel, first, points, kind)[0].numpy().reshape(np.shape(t))

    return profile


def polar_rule(dim: int, nodes: int = 400) -> tuple[Array, Array]:
    r"""Cosines and weights of the angle to a fixed axis for a uniform point in :math:`S^{d-1}`, summing to one.

    Gauss-Legendre in the angle: kernels of networks are analytic in the angle though not in the cosine.
    """
    x, w = np.polynomial.legendre.leggauss(nodes)
    angle = np.pi * (x + 1) / 2
    weights = w * np.sin(angle) ** (dim - 2)
    return np.cos(angle), weights / weights.sum()


def legendre(t: Array, dim: int, degree_max: int) -> Array:
    """Legendre polynomials in ``dim`` dimensions, one at t = 1: (degree_max + 1, *t.shape)."""
    rows = [np.ones_like(t), np.asarray(t)]
    for l in range(1, degree_max):
        rows.append(((2 * l + dim - 2) * t * rows[l] - l * rows[l - 1]) / (l + dim - 2))
    return np.stack(rows[: degree_max + 1])


def cube_radius(dim: int) -> float:
    """Norm of the corners of the cube."""
    return sqrt(dim)

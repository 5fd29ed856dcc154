"""Procedural solids as meshes, and a data set of them seen from the sphere around them."""

from __future__ import annotations

from math import pi

import torch
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE, SEED, checked, whole
from priorscope.data._dataset import Dataset, Split
from priorscope.data._labels import encode_labels
from priorscope.data.space._rays import mesh_on_sphere
from priorscope.data.space._rotations import random_rotations

__all__ = ["SOLIDS", "shapes", "solid"]

_AROUND = 20  # corners of a turned profile


def _turned(profile: list[tuple[float, float]], closed: bool = False) -> tuple[Tensor, Tensor]:
    """A profile of radius and height turned about the z axis; ``closed`` joins its ends (a torus)."""
    angle = torch.arange(_AROUND, dtype=torch.float64) * 2 * pi / _AROUND
    rz = torch.tensor(profile, dtype=torch.float64)
    ring = torch.stack([angle.cos(), angle.sin()], -1)
    xy = rz[:, 0, None, None] * ring  # (profile, around, 2)
    vertices = torch.cat([xy, rz[:, 1, None, None].expand(-1, _AROUND, 1)], -1).reshape(-1, 3)
    faces = []
    rows = len(profile)
    for i in range(rows if closed else rows - 1):
        for k in range(_AROUND):
            here, up = i * _AROUND, (i + 1) % rows * _AROUND
            a, b = k, (k + 1) % _AROUND
            faces += [[here + a, here + b, up + a], [here + b, up + b, up + a]]
    return vertices, torch.tensor(faces)


def _boxes(*corners: tuple[tuple[float, float, float], tuple[float, float, float]]) -> tuple[Tensor, Tensor]:
    """Boxes between two opposite corners each, as one mesh."""
    sides = [[0, 1, 3], [0, 3, 2], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4]]
    sides += [[2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 3, 7], [1, 7, 5]]
    vertices: list[list[float]] = []
    faces: list[list[int]] = []
    for low, high in corners:
        ends = tuple(zip(low, high))
        faces += [[len(vertices) + k for k in side] for side in sides]
        vertices += [[x, y, z] for x in ends[0] for y in ends[1] for z in ends[2]]
    return torch.tensor(vertices, dtype=torch.float64), torch.tensor(faces)


def _arc(start: float, end: float, n: int = 10) -> list[tuple[float, float]]:
    """Points (radius, height) on the unit circle between two angles from the north pole."""
    angles = [start + (end - start) * i / (n - 1) for i in range(n)]
    return [(max(float(torch.tensor(t).sin()), 0.0), float(torch.tensor(t).cos())) for t in angles]


SOLIDS = ("box", "ellipsoid", "cone", "cylinder", "torus", "L-block", "tetrahedron", "capsule")
"""Names of the solids that :func:`solid` makes.

Example:
    >>> len(SOLIDS)
    8
"""


def solid(name: str) -> tuple[Tensor, Tensor]:
    """Vertices (V, 3) and faces (F, 3) of one of SOLIDS.

    Example:
        >>> vertices, faces = solid("tetrahedron")
        >>> vertices.shape, faces.shape
        (torch.Size([4, 3]), torch.Size([4, 3]))
    """
    if name == "box":
        return _boxes(((-1, -1, -1), (1, 1, 1)))
    if name == "ellipsoid":
        return _turned(_arc(0, pi, 14))
    if name == "cone":
        return _turned([(0.0, 1.0), (1.0, -1.0), (0.0, -1.0)])
    if name == "cylinder":
        return _turned([(0.0, 1.0), (1.0, 1.0), (1.0, -1.0), (0.0, -1.0)])
    if name == "torus":
        return _turned([(1 + 0.35 * r, 0.35 * z) for r, z in _circle(12)], closed=True)
    if name == "L-block":
        return _boxes(((-1, -0.4, -1), (-0.2, 0.4, 1)), ((-1, -0.4, -1), (1, 0.4, -0.2)))
    if name == "tetrahedron":
        corners = torch.tensor([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=torch.float64)
        return corners, torch.tensor([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
    if name == "capsule":
        top = [(0.6 * r, 0.6 * z + 0.9) for r, z in _arc(0, pi / 2, 7)]
        bottom = [(0.6 * r, 0.6 * z - 0.9) for r, z in _arc(pi / 2, pi, 7)]
        return _turned(top + bottom)
    raise ValueError(f"there is no solid {name!r}; there are {', '.join(SOLIDS)}.")


def _circle(n: int) -> list[tuple[float, float]]:
    angles = [torch.tensor(2 * pi * i / n) for i in range(n)]
    return [(float(t.cos()), float(t.sin())) for t in angles]


@checked(n_train=whole(8), n_test=whole(), bandwidth=whole(), stretch=NOT_NEGATIVE, seed=SEED)
def shapes(
    n_train: int = 160,
    n_test: int = 80,
    *,
    bandwidth: int = 8,
    stretch: float = 0.3,
    rotate: tuple[str, ...] = ("test",),
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """Eight classes of solids, each stretched at random along its axes, as signals (6, 2b, 2b) on the sphere around them.

    Every axis is stretched by exp(u), u uniform in ±``stretch``; the samples of the splits in ``rotate`` are turned at random.

    Example:
        >>> shapes(8, 8, bandwidth=4).input_shape
        (6, 8, 8)
    """
    if set(rotate) - {"train", "test"}:
        raise ValueError(f"rotate may name 'train' and 'test'; got {rotate!r}.")
    generator = torch.Generator().manual_seed(seed)

    def draw(n: int, turned: bool, draw_seed: int) -> tuple[Tensor, Tensor]:
        labels = torch.arange(n) % len(SOLIDS)
        turns = random_rotations(n, draw_seed)
        found = []
        for i, label in enumerate(labels.tolist()):
            vertices, faces = solid(SOLIDS[label])
            factors = (stretch * (2 * torch.rand(3, generator=generator, dtype=torch.float64) - 1)).exp()
            found.append(mesh_on_sphere(vertices * factors, faces, bandwidth, turns[i] if turned else None))
        return torch.stack(found).to(dtype), labels

    splits, labels = [], []
    for which, n, offset in (("train", n_train, 0), ("test", n_test, 1)):
        x, y = draw(n, which in rotate, 2 * seed + offset)
        splits.append(Split(x, encode_labels(y, "classes", SOLIDS, dtype)))
        labels.append(y)
    return Dataset(splits[0], splits[1], "shapes", SOLIDS, labels[0], labels[1])

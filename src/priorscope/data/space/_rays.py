"""Meshes seen from the sphere around them: where rays to the centre first meet the surface, and at what angle."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from priorscope.checks import checked, whole
from priorscope.data.space._on_sphere import sphere_points

__all__ = ["cast_rays", "mesh_on_sphere"]

_BLOCK = 1 << 19  # pairs of ray and triangle at a time


@checked(bandwidth=whole())
def cast_rays(vertices: Tensor, faces: Tensor, bandwidth: int) -> Tensor:
    r"""Three channels (3, 2b, 2b) of a mesh inside the unit sphere: length of the ray, and |cos|, sin of its angle to the normal.

    Each point x of the SOFT grid sends a ray to the origin; its first meeting with a triangle counts (Möller & Trumbore 1997). A
    ray that meets nothing has length 1 and zeros for the angle (Cohen et al. 2018, section 5.3, and the authors' code).
    ``vertices`` is (V, 3), ``faces`` (F, 3) holds the rows of their corners, in either order.

    Example:
        >>> corners = torch.tensor([[1.0, 1, -1], [-1, 1, -1], [-1, -1, -1], [1, -1, -1]]) * 0.4  # a square below the origin
        >>> length, cosine, sine = cast_rays(corners, torch.tensor([[0, 1, 2], [0, 2, 3]]), 8)
        >>> round(float(length[-1, 0]), 2), float(length[0, 0])  # from the south pole; from the north pole nothing is met
        (0.6, 1.0)
    """
    _check_mesh(vertices, faces)
    origin = sphere_points(bandwidth).reshape(-1, 3)
    a, b, c = (vertices.double()[faces[:, k]] for k in range(3))
    first, second = b - a, c - a
    normal = torch.nn.functional.normalize(torch.linalg.cross(first, second), dim=1)
    found = [_first_hit(rays, a, first, second, normal) for rays in origin.split(max(1, _BLOCK // len(faces)))]
    return torch.cat(found, 1).reshape(3, 2 * bandwidth, 2 * bandwidth)


def _first_hit(origin: Tensor, a: Tensor, first: Tensor, second: Tensor, normal: Tensor) -> Tensor:
    """Length, |cos| and sin (3, rays) at the first triangle that each ray meets."""
    d = -origin[:, None]  # (rays, 1, 3)
    h = torch.linalg.cross(d.expand(-1, len(a), -1), second.expand(len(origin), -1, -1))
    det = (first * h).sum(-1)
    flat = det.abs() < 1e-12  # the ray runs along the triangle
    inverse = 1 / torch.where(flat, torch.ones_like(det), det)
    s = origin[:, None] - a
    u = (s * h).sum(-1) * inverse
    q = torch.linalg.cross(s, first.expand_as(s))
    v = (d * q).sum(-1) * inverse
    t = (second * q).sum(-1) * inverse
    edge = -1e-9
    missed = flat | (u < edge) | (v < edge) | (u + v > 1 - edge) | (t < 0) | (t > 1)
    t = torch.where(missed, torch.full_like(t, torch.inf), t)
    length, which = t.min(1)
    cosine = (normal[which] * origin).sum(1).abs().clamp(max=1)
    sine = (1 - cosine.square()).sqrt()
    hit = length.isfinite()
    zero = torch.zeros_like(cosine)
    return torch.stack([length.where(hit, zero + 1), cosine.where(hit, zero), sine.where(hit, zero)])


@checked(bandwidth=whole())
def mesh_on_sphere(vertices: Tensor, faces: Tensor, bandwidth: int, rotation: Tensor | None = None) -> Tensor:
    """Six channels (6, 2b, 2b): :func:`cast_rays` of the mesh and of its convex hull, centred and scaled into the unit sphere.

    The mean of the vertices goes to the origin and the farthest vertex to radius 0.99; ``rotation`` (3, 3) turns the mesh first.

    Example:
        >>> cube = torch.tensor([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.0, 1)])
        >>> sides = [[0, 1, 3], [0, 3, 2], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4]]
        >>> mesh_on_sphere(cube, torch.tensor([*sides, [1, 3, 7], [1, 7, 5]]), 4).shape
        torch.Size([6, 8, 8])
    """
    from scipy.spatial import ConvexHull

    _check_mesh(vertices, faces)
    x = vertices.double() - vertices.double().mean(0)
    if rotation is not None:
        x = x @ rotation.double().T
    radius = x.norm(dim=1).max()
    if not float(radius) > 0:
        raise ValueError("all vertices of the mesh coincide; wanted a surface.")
    x = 0.99 * x / radius
    hull = torch.from_numpy(np.asarray(ConvexHull(x.numpy()).simplices, dtype=np.int64))
    return torch.cat([cast_rays(x, faces, bandwidth), cast_rays(x, hull, bandwidth)])


def _check_mesh(vertices: Tensor, faces: Tensor) -> None:
    if vertices.ndim != 2 or vertices.shape[1] != 3 or faces.ndim != 2 or faces.shape[1] != 3 or len(faces) == 0:
        raise ValueError(
            f"wanted vertices (V, 3) and at least one face (F, 3); got {tuple(vertices.shape)} and {tuple(faces.shape)}."
        )
    if not bool(vertices.isfinite().all()) or int(faces.min()) < 0 or int(faces.max()) >= len(vertices):
        raise ValueError(f"wanted finite vertices and faces that name rows of them, 0 to {len(vertices) - 1}.")

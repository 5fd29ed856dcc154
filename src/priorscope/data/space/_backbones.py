"""Backbones of made-up proteins, helices and strands put together in six ways, and a data set of them as volumes."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE, POSITIVE, SEED, checked, whole
from priorscope.data._dataset import Dataset, Split
from priorscope.data._labels import encode_labels
from priorscope.data.space._rotations import random_rotations

__all__ = ["ARCHITECTURES", "backbone", "backbone_voxels", "protein_folds"]

ARCHITECTURES = ("bundle", "sandwich", "barrel", "two layers", "three layers", "alpha-beta barrel")
"""Names of the ways in which :func:`backbone` puts helices and strands together.

Example:
    >>> len(ARCHITECTURES)
    6
"""

_Kind: TypeAlias = Literal["helix", "strand"]
_Element: TypeAlias = tuple[_Kind, tuple[float, float, float], tuple[float, float, float]]  # kind, centre in Å, axis
_RISE: dict[_Kind, float] = {"helix": 1.5, "strand": 3.3}  # Å per residue along the axis
_BESIDE = 4.8  # Å between strands of a sheet
_ABOVE = 10.0  # Å between layers
_TWIST = pi / 9  # of a sheet per strand
_ALONG = _TWIST * _ABOVE / _BESIDE  # of helices that follow it


def _course(kind: _Kind, n: int) -> Tensor:
    """Residues (n, 3) along the z axis about the origin: a helix of radius 2.3 Å and 100° per residue, or a zigzag of ±0.9 Å."""
    i = torch.arange(n, dtype=torch.float64)
    z = (i - (n - 1) / 2) * _RISE[kind]
    if kind == "helix":
        turn = i * 100 * pi / 180
        return torch.stack([2.3 * turn.cos(), 2.3 * turn.sin(), z], 1)
    return torch.stack([0.9 * (1 - 2 * (i % 2)), torch.zeros_like(i), z], 1)


def _sheet(n: int, height: float, turn: float = 0.0) -> list[_Element]:
    """Strands side by side along x, each turned against the one before; the whole turned about z."""
    found: list[_Element] = []
    for i in range(n):
        off = i - (n - 1) / 2
        x, y, z = 0.0, cos(off * _TWIST), sin(off * _TWIST)
        axis = (cos(turn) * x - sin(turn) * y, sin(turn) * x + cos(turn) * y, z)
        found.append(("strand", (cos(turn) * off * _BESIDE, sin(turn) * off * _BESIDE, height), axis))
    return found


def _row(n: int, height: float, twist: float = 0.0) -> list[_Element]:
    """Helices side by side along x, straight or each turned against the one before, as the sheet they lie on is."""
    off = [i - (n - 1) / 2 for i in range(n)]
    return [("helix", (o * _ABOVE, 0.0, height), (0.0, cos(o * twist), sin(o * twist))) for o in off]


def _ring(kind: _Kind, n: int, radius: float, tilt: float) -> list[_Element]:
    """Elements around the z axis, each tilted along its tangent."""
    angles = [2 * pi * i / n for i in range(n)]
    return [
        (kind, (radius * cos(t), radius * sin(t), 0.0), (-sin(t) * sin(tilt), cos(t) * sin(tilt), cos(tilt)))
        for t in angles
    ]


def _elements(name: str) -> list[_Element]:
    """Which helices and strands an architecture has, and where."""
    if name == "bundle":
        return _row(3, _ABOVE / 2) + _row(3, -_ABOVE / 2)
    if name == "sandwich":
        return _sheet(6, _ABOVE / 2) + _sheet(6, -_ABOVE / 2, pi / 6)
    if name == "barrel":
        return _ring("strand", 10, 10 * _BESIDE / (2 * pi * cos(pi / 5)), pi / 5)
    if name == "two layers":
        return _sheet(5, -_ABOVE / 2) + _row(3, _ABOVE / 2, _ALONG)
    if name == "three layers":
        return _sheet(5, 0.0) + _row(2, _ABOVE, _ALONG) + _row(2, -_ABOVE, _ALONG)
    if name == "alpha-beta barrel":
        inner = 8 * _BESIDE / (2 * pi * cos(pi / 5))
        return _ring("strand", 8, inner, pi / 5) + _ring("helix", 8, inner + _ABOVE, pi / 9)
    raise ValueError(f"there is no architecture {name!r}; there are {', '.join(ARCHITECTURES)}.")


@checked(residues=whole(40), disorder=NOT_NEGATIVE, seed=SEED)
def backbone(name: str, residues: int = 90, *, disorder: float = 1.0, seed: int = 0) -> Tensor:
    """Positions (about ``residues``, 3) in Å of the Cα atoms of a made-up protein with its mean at the origin; float64.

    Ideal helices and strands without loops, one of ARCHITECTURES. All architectures share the residues among their elements, so
    that size alone does not tell them apart; helices get twice the residues of strands. ``disorder`` scales what is drawn at
    random: 1 Å along each axis for the place of an element, 0.12 rad for its axis, its phase, a quarter of its length, 0.3 Å for
    each residue.

    Example:
        >>> backbone("barrel").shape
        torch.Size([90, 3])
    """
    generator = torch.Generator().manual_seed(seed)
    elements = _elements(name)
    share = torch.tensor([2.0 if kind == "helix" else 1.0 for kind, _, _ in elements], dtype=torch.float64)
    drawn = torch.rand(len(share), generator=generator, dtype=torch.float64)
    share = share * (1 + 0.25 * disorder * (2 * drawn - 1)).clamp(min=0.2)
    ends = (share.cumsum(0) / share.sum() * residues).round().long().tolist()
    parts = []
    for (kind, centre, axis), start, end in zip(elements, [0, *ends[:-1]], ends):
        noise = disorder * torch.randn(7, generator=generator, dtype=torch.float64)
        direction = torch.nn.functional.normalize(torch.tensor(axis, dtype=torch.float64) + 0.12 * noise[:3], dim=0)
        side = torch.linalg.cross(direction, torch.tensor([0.36, 0.48, 0.8], dtype=torch.float64))
        side = torch.nn.functional.normalize(side, dim=0)
        frame = torch.stack([side, torch.linalg.cross(direction, side), direction])  # rows: x, y, z of the element
        phase = float(noise[6]) * pi
        about_z = torch.tensor(
            [[cos(phase), sin(phase), 0], [-sin(phase), cos(phase), 0], [0, 0, 1]], dtype=torch.float64
        )
        course = _course(kind, end - start) @ about_z @ frame
        parts.append(course + torch.tensor(centre, dtype=torch.float64) + noise[3:6])
    found = torch.cat(parts)
    found = found + 0.3 * disorder * torch.randn(found.shape, generator=generator, dtype=torch.float64)
    return found - found.mean(0)


@checked(size=whole(), voxel=POSITIVE)
def backbone_voxels(positions: Tensor, size: int, voxel: float) -> Tensor:
    """Atoms (N, 3) in Å as a volume (1, size, size, size): each a Gaussian with a standard deviation of half a ``voxel`` (in Å).

    Weiler et al. (2018), section 5.4. Atoms beyond the volume leave their tails in it alone.

    Example:
        >>> volume = backbone_voxels(torch.zeros(1, 3), 5, 2.0)
        >>> float(volume[0, 2, 2, 2]), volume.shape
        (1.0, torch.Size([1, 5, 5, 5]))
    """
    if positions.ndim != 2 or positions.shape[1] != 3 or len(positions) == 0:
        raise ValueError(f"wanted positions (N, 3) of at least one atom; got {tuple(positions.shape)}.")
    side = torch.arange(size, dtype=torch.float64) - (size - 1) / 2
    far = side - positions.double()[..., None] / voxel  # (N, 3, size)
    x, y, z = (-2 * far.square()).exp().unbind(1)
    return torch.einsum("na,nb,nc->abc", x, y, z)[None]


@checked(n_train=whole(6), n_test=whole(6), size=whole(), voxel=POSITIVE, disorder=NOT_NEGATIVE, seed=SEED)
def protein_folds(
    n_train: int = 96,
    n_test: int = 96,
    *,
    size: int = 16,
    voxel: float = 3.0,
    disorder: float = 1.0,
    rotate: tuple[str, ...] = ("train", "test"),
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """Six architectures of made-up proteins as volumes (1, size, size, size), in place of CATH's; each of 70 to 110 residues.

    The samples of the splits in ``rotate`` are turned at random. Test samples are the same for all ``n_train`` of a seed, and a
    smaller training set is the beginning of a larger one.

    Example:
        >>> protein_folds(6, 6, size=8, voxel=6.0).input_shape
        (1, 8, 8, 8)
    """
    if set(rotate) - {"train", "test"}:
        raise ValueError(f"rotate may name 'train' and 'test'; got {rotate!r}.")
    splits, labels = [], []
    for which, n in (("train", n_train), ("test", n_test)):
        label = torch.arange(n) % len(ARCHITECTURES)
        volumes = []
        for i in range(n):
            draw = 2_000_003 * seed + 2 * i + (which == "test")  # of its own, whatever n is
            residues = int(torch.randint(70, 111, (1,), generator=torch.Generator().manual_seed(draw)))
            atoms = backbone(ARCHITECTURES[int(label[i])], residues, disorder=disorder, seed=draw)
            atoms = atoms @ random_rotations(1, draw)[0].T if which in rotate else atoms
            volumes.append(backbone_voxels(atoms, size, voxel))
        splits.append(Split(torch.stack(volumes).to(dtype), encode_labels(label, "classes", ARCHITECTURES, dtype)))
        labels.append(label)
    return Dataset(splits[0], splits[1], "protein folds", ARCHITECTURES, labels[0], labels[1])

"""Moves of the whole image by a given mean displacement: shifts, turns and zooms, to set beside deformations."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE, checked
from priorscope.data.deformations._deform import check_images, check_tensor, image_side
from priorscope.data.deformations._interpolation import Interpolation, displaced

__all__ = ["RigidMove", "Shift", "Turn", "Zoom"]


@dataclass(frozen=True)
class RigidMove(ABC):
    """Moves every image of a batch at random, pixels by ``delta`` in the root mean square; edges are repeated outwards.

    Example:
        >>> import torch
        >>> x = torch.rand(4, 1, 9, 9)
        >>> [tuple(move(x, seed=0).shape) == (4, 1, 9, 9) for move in (Shift(1.0), Turn(1.0), Zoom(1.0))]
        [True, True, True]
    """

    delta: float = 1.0
    interpolation: Interpolation = "bilinear"

    @abstractmethod
    def displacement(self, random: Tensor, size: int) -> Tensor:
        """Displacements (N, 2, size, size) in pixels from uniform random numbers (N,)."""

    def __call__(self, images: Tensor, seed: int | torch.Generator | None = None) -> Tensor:
        """The moved images: (n, n), (C, n, n) or (N, C, n, n), each image of a batch by a move of its own."""
        check_tensor(images)
        n = image_side(tuple(images.shape), 1)
        check_images(images)
        batch = images[(None,) * (4 - images.ndim)]
        work = batch if batch.dtype in (torch.float32, torch.float64) else batch.float()
        generator = seed if isinstance(seed, torch.Generator) or seed is None else torch.Generator().manual_seed(seed)
        random = torch.rand(len(work), generator=generator, dtype=work.dtype).to(work.device)
        return displaced(work, self.displacement(random, n), self.interpolation).to(images.dtype).reshape(images.shape)


@checked(delta=NOT_NEGATIVE)
@dataclass(frozen=True)
class Shift(RigidMove):
    """Shifts by ``delta`` pixels in a random direction.

    Example:
        >>> import torch
        >>> Shift(2.0).displacement(torch.zeros(1), 3)[0, :, 0, 0].tolist()
        [2.0, 0.0]
    """

    def displacement(self, random: Tensor, size: int) -> Tensor:
        angle = 2 * math.pi * random
        arrow = self.delta * torch.stack([angle.cos(), angle.sin()], 1)
        return arrow[:, :, None, None].expand(-1, -1, size, size)


@checked(delta=NOT_NEGATIVE)
@dataclass(frozen=True)
class Turn(RigidMove):
    r"""Turns about the centre, to the left or to the right, by the angle θ at which pixels move by ``delta`` on average.

    :math:`\delta = 2\sin(\theta/2)\,r` with :math:`r^2 = (n^2 - 1)/6` the mean square distance of a pixel from the centre.

    Example:
        >>> import torch
        >>> moved = Turn(0.5).displacement(torch.zeros(1), 9)
        >>> round(moved.square().sum(1).mean().sqrt().item(), 4)
        0.5
    """

    def displacement(self, random: Tensor, size: int) -> Tensor:
        most = 2 * _radius(size)
        if self.delta > most:
            raise ValueError(
                f"a turn moves pixels of a {size} × {size} image by {most:.3g} at most; got {self.delta:g}."
            )
        angle = 2 * math.asin(self.delta / most) * torch.where(random < 0.5, -1.0, 1.0).to(random)[:, None, None]
        u, v = _from_centre(size, random)
        c, s = angle.cos(), angle.sin()
        return torch.stack([u - (c * u - s * v), v - (s * u + c * v)], 1)


@checked(delta=NOT_NEGATIVE)
@dataclass(frozen=True)
class Zoom(RigidMove):
    r"""Enlarges or shrinks about the centre, by the factor at which pixels move by ``delta`` on average.

    The factor is :math:`1 \mp \delta/r` with :math:`r^2 = (n^2 - 1)/6` as for :class:`Turn`.

    Example:
        >>> import torch
        >>> moved = Zoom(0.5).displacement(torch.zeros(1), 9)
        >>> round(moved.square().sum(1).mean().sqrt().item(), 4)
        0.5
    """

    def displacement(self, random: Tensor, size: int) -> Tensor:
        factor = self.delta / _radius(size) * torch.where(random < 0.5, -1.0, 1.0).to(random)[:, None, None]
        u, v = _from_centre(size, random)
        return torch.stack([factor * u, factor * v], 1)


def _radius(size: int) -> float:
    """Root mean square distance of a pixel from the centre."""
    return math.sqrt((size**2 - 1) / 6)


def _from_centre(size: int, like: Tensor) -> tuple[Tensor, Tensor]:
    line = torch.arange(size, dtype=like.dtype, device=like.device) - (size - 1) / 2
    return line.expand(size, size), line[:, None].expand(size, size)

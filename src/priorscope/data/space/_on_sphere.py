"""Images put on the sphere by stereographic projection."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from priorscope.checks import SEED, checked, whole
from priorscope.data._dataset import Dataset, Split
from priorscope.data.space._rotations import random_rotations

__all__ = ["on_sphere", "project_images", "sphere_points"]


@checked(bandwidth=whole())
def sphere_points(bandwidth: int) -> Tensor:
    r"""Points (2b, 2b, 3) of the SOFT grid on the unit sphere, axes β and α: what spherical networks are sampled on.

    .. math:: \alpha_i = \frac{2\pi i}{2b}, \qquad \beta_j = \frac{\pi(2j+1)}{4b}

    (Kostelec & Rockmore 2008.)

    Example:
        >>> sphere_points(4).shape
        torch.Size([8, 8, 3])
    """
    step = torch.arange(2 * bandwidth, dtype=torch.float64)
    beta, alpha = torch.meshgrid(
        (2 * step + 1) * torch.pi / (4 * bandwidth), step * torch.pi / bandwidth, indexing="ij"
    )
    return torch.stack([beta.sin() * alpha.cos(), beta.sin() * alpha.sin(), beta.cos()], -1)


@checked(bandwidth=whole())
def project_images(images: Tensor, bandwidth: int, rotations: Tensor | None = None) -> Tensor:
    r"""Images (n, channels, h, w) on the northern hemisphere, sampled on the grid of a bandwidth: (n, channels, 2b, 2b).

    A point (x, y, z) shows the place (x, y)/(1 + z) of an image that fills the square [-1, 1]², by bilinear interpolation; the
    southern hemisphere is zero (stereographic projection, as Cohen et al. 2018, section 5.2). Each image is turned by its own of
    ``rotations`` (n, 3, 3), before it is sampled: nothing is interpolated twice.

    Example:
        >>> project_images(torch.ones(1, 1, 4, 4), 3)[0, 0, :, 0].tolist()  # from the north pole to the south pole
        [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    """
    if images.ndim != 4 or images.shape[2] != images.shape[3]:
        raise ValueError(f"wanted square images (n, channels, side, side); got {tuple(images.shape)}.")
    n = len(images)
    points = sphere_points(bandwidth).reshape(1, -1, 3)
    if rotations is not None:
        if rotations.shape != (n, 3, 3):
            raise ValueError(f"wanted one rotation per image, ({n}, 3, 3); got {tuple(rotations.shape)}.")
        points = points @ rotations.double()  # R⁻¹ x
    x, y, z = points.expand(n, -1, 3).unbind(-1)
    north = z > 1e-9
    scale = 1 / (1 + z.clamp(min=0))
    at = torch.stack([x * scale, y * scale], -1).unflatten(1, (2 * bandwidth, 2 * bandwidth))
    sampled = torch.nn.functional.grid_sample(
        images, at.to(images.dtype), mode="bilinear", padding_mode="border", align_corners=False
    )
    found: Tensor = sampled * north.unflatten(1, (2 * bandwidth, 2 * bandwidth))[:, None]
    return found


@checked(bandwidth=whole(), seed=SEED)
def on_sphere(data: Dataset, bandwidth: int, *, rotate: tuple[str, ...] = (), seed: int = 0) -> Dataset:
    """A data set of images as signals on the sphere; ``rotate`` names the splits whose samples are turned at random, one by one.

    Example:
        >>> import priorscope as ps
        >>> on_sphere(ps.data.digits().subset(20), 6, rotate=("test",)).input_shape
        (1, 12, 12)
    """
    if not isinstance(data, Dataset):
        raise TypeError(
            f"on_sphere takes a data set, such as ps.data.digits(); got {type(data).__name__}. For a batch of images there is "
            "project_images."
        )
    if set(rotate) - {"train", "test"}:
        raise ValueError(f"rotate may name 'train' and 'test'; got {rotate!r}.")

    def moved(split: Split, name: str, draw: int) -> Split:
        turns = random_rotations(len(split), draw) if name in rotate else None
        return Split(project_images(split.inputs, bandwidth, turns), split.targets)

    train, test = moved(data.train, "train", 2 * seed), moved(data.test, "test", 2 * seed + 1)
    return replace(data, train=train, test=test, name=f"{data.name} on the sphere")

"""Spherical networks that learning systems take, and the planar network they are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import torch
from torch import nn

from priorscope.checks import checked, each, number, whole
from priorscope.models.architectures.zoo import FiniteModel
from priorscope.models.equivariant.spheres._correlation import S2Correlation, SO3Correlation
from priorscope.models.equivariant.spheres._filters import local_filter, ring_filter
from priorscope.models.equivariant.spheres._grid import bandwidth_of
from priorscope.models.equivariant.spheres._pooling import SO3Integral, SO3Max
from priorscope.models.equivariant.spheres._residual import SphericalResidual

__all__ = ["planar_cnn", "spherical_cnn", "spherical_resnet"]

FILTERS = ("local", "ring")
POOLS = {"integral": SO3Integral, "max": SO3Max}


@checked(bandwidths=each(whole()), channels=each(whole()), reach=number(above=0, below=pi + 1e-9))
def spherical_cnn(
    bandwidths: Sequence[int] = (10, 6),
    channels: Sequence[int] = (20, 40),
    *,
    filters: str = "local",
    reach: float = pi / 8,
    pool: str = "integral",
    normalise: bool = False,
) -> FiniteModel:
    """Correlation on the sphere, then on SO(3), each with ReLU; a pool over SO(3), which makes it invariant; a linear readout.

    Inputs are (channels, 2b, 2b) on the SOFT grid (:func:`priorscope.data.on_sphere` makes them of images). ``bandwidths`` and
    ``channels`` are those after each correlation; at another ``width`` than the first of ``channels`` all are scaled.
    ``filters`` is "local" (three rings within ``reach`` of the identity, in radians) or "ring" (2b points on the equator);
    ``pool`` "integral" or "max"; ``normalise`` puts batch normalisation after each correlation and after the pool, which
    trains far faster. The defaults are the network for spherical MNIST of Cohen et al. (2018), section 5.2.

    Example:
        >>> net = spherical_cnn().network((1, 60, 60), width=20, outputs=10)
        >>> sum(p.numel() for p in net.parameters())  # published: about 58 thousand
        58550
    """
    if len(bandwidths) != len(channels):
        raise ValueError(f"wanted one bandwidth and one number of channels per layer; got {bandwidths} and {channels}.")
    if filters not in FILTERS or pool not in POOLS:
        raise ValueError(
            f"filters is one of {', '.join(FILTERS)} and pool one of {', '.join(POOLS)}; got {filters!r}, {pool!r}."
        )

    def build(shape: tuple[int, ...], width: int, outputs: int) -> nn.Module:
        b = _of_sphere("spherical_cnn", shape)
        layers: list[nn.Module] = []
        sizes = _scaled(channels, width)
        ins, bands = [shape[0], *sizes[:-1]], [b, *bandwidths[:-1]]
        for i, (c_in, c_out, b_in, b_out) in enumerate(zip(ins, sizes, bands, bandwidths, strict=True)):
            kind = SO3Correlation if i else S2Correlation
            points = ring_filter(2 * b_in) if filters == "ring" else local_filter(turns=3 if i else 1, max_beta=reach)
            layers += [kind(c_in, c_out, b_in, b_out, points=points)]
            layers += [nn.BatchNorm3d(c_out)] if normalise else []
            layers += [nn.ReLU()]
        layers += [POOLS[pool](), *([nn.BatchNorm1d(sizes[-1], affine=False)] if normalise else [])]
        return nn.Sequential(*layers, nn.Linear(sizes[-1], outputs))

    return FiniteModel("spherical_cnn", build, width=channels[0])


@checked(bandwidths=each(whole()), channels=each(whole()))
def spherical_resnet(
    bandwidths: Sequence[int] = (10, 8, 6, 4, 2), channels: Sequence[int] = (20, 40, 60, 80, 160)
) -> FiniteModel:
    """Residual blocks, the first on the sphere, the integral over SO(3), a linear readout.

    The defaults are the blocks of Cohen et al. (2018), section 5.4, for molecules.

    Example:
        >>> net = spherical_resnet((4, 2), (4, 8)).network((5, 8, 8), width=4, outputs=1)
        >>> net(torch.zeros(2, 5, 8, 8)).shape
        torch.Size([2, 1])
    """
    if len(bandwidths) != len(channels):
        raise ValueError(f"wanted one bandwidth and one number of channels per block; got {bandwidths} and {channels}.")

    def build(shape: tuple[int, ...], width: int, outputs: int) -> nn.Module:
        b, sizes = _of_sphere("spherical_resnet", shape), _scaled(channels, width)
        ins, bands = [shape[0], *sizes[:-1]], [b, *bandwidths[:-1]]
        blocks = [
            SphericalResidual(c_in, c_out, b_in, b_out, sphere=i == 0)
            for i, (c_in, c_out, b_in, b_out) in enumerate(zip(ins, sizes, bands, bandwidths, strict=True))
        ]
        return nn.Sequential(*blocks, SO3Integral(), nn.Linear(sizes[-1], outputs))

    return FiniteModel("spherical_resnet", build, width=channels[0])


@checked(kernel_size=whole(), stride=whole())
def planar_cnn(kernel_size: int = 5, stride: int = 3) -> FiniteModel:
    """Two convolutions with ReLU and a dense readout on the (β, α) picture: the planar control of Cohen et al. (2018), sec. 5.2.

    Example:
        >>> net = planar_cnn().network((1, 60, 60), outputs=10)
        >>> sum(p.numel() for p in net.parameters())  # published: about 68 thousand
        68106
    """

    def build(shape: tuple[int, ...], width: int, outputs: int) -> nn.Module:
        """Two convolutions, flattened, and a dense layer of the size that is left."""
        side = shape[-1]
        for _ in range(2):
            side = (side - kernel_size) // stride + 1
        if len(shape) != 3 or shape[1] != shape[2] or side < 1:
            raise ValueError(
                f"planar_cnn needs square images that two convolutions of {kernel_size} with stride {stride} fit into; got "
                f"{shape}."
            )
        return nn.Sequential(
            nn.Conv2d(shape[0], width, kernel_size, stride),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, kernel_size, stride),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(2 * width * side**2, outputs),
        )

    return FiniteModel("planar_cnn", build, width=32)


def _of_sphere(who: str, shape: tuple[int, ...]) -> int:
    if len(shape) != 3:
        raise ValueError(
            f"{who} needs signals (channels, 2b, 2b) on the sphere; got {shape}. See priorscope.data.on_sphere."
        )
    return bandwidth_of(torch.empty(shape, device="meta"), 2)


def _scaled(channels: Sequence[int], width: int) -> list[int]:
    return [max(1, round(c * width / channels[0])) for c in channels]

"""LeNet and VGG for small images."""

from __future__ import annotations

import torch
from torch import nn

from priorscope.models.architectures.zoo._finite import FiniteModel, Shape
from priorscope.models.architectures.zoo._parts import activation_layer, check_image, image_norm

__all__ = ["lenet", "vgg11"]

VGG11 = (
    1,
    0,
    2,
    0,
    4,
    4,
    0,
    8,
    8,
    0,
    8,
    8,
    0,
)  # channels in units of the width; 0 is a pool. Simonyan & Zisserman (2015), A


def lenet(activation: str = "relu", normalisation: bool | str = False, pooling: str = "average") -> FiniteModel:
    """LeNet-5 (LeCun et al. 1998) with "average" (or "max") pools, padded first layer and adaptive size: images of 8×8 and up.

    Default width 6, the paper's channels of the first layer; the others keep its proportions (16, 120, 84).

    Example:
        >>> lenet().name
        'lenet'
    """

    if pooling not in ("average", "max"):
        raise ValueError(f"lenet pools by 'average' or 'max'; got {pooling!r}.")
    pool = nn.AvgPool2d if pooling == "average" else nn.MaxPool2d

    def build(shape: Shape, width: int, outputs: int) -> nn.Module:
        """The network for one input shape."""
        check_image("lenet", shape, 8)
        second, third, fourth = (round(width * c / 6) for c in (16, 120, 84))
        features = nn.Sequential(
            nn.Conv2d(shape[0], width, 5, padding=2),
            image_norm(normalisation, width),
            activation_layer(activation),
            pool(2),
            nn.Conv2d(width, second, 5, padding=0 if min(shape[1:]) >= 16 else 2),
            image_norm(normalisation, second),
            activation_layer(activation),
            pool(2),
            nn.Flatten(),
        )
        with torch.no_grad():
            size = features.eval()(torch.zeros(1, *shape)).shape[1]
        features.train()
        return nn.Sequential(
            *features,
            nn.Linear(size, third),
            activation_layer(activation),
            nn.Linear(third, fourth),
            activation_layer(activation),
            nn.Linear(fourth, outputs),
        )

    return FiniteModel("lenet", build, 6)


def vgg11(activation: str = "relu", normalisation: bool | str = True) -> FiniteModel:
    """VGG-11 (Simonyan & Zisserman 2015) with one linear layer on the mean over the remaining pixels.

    Default width 64, the paper's. A pool that would leave less than one pixel is skipped, so images of 8×8 work.
    ``normalisation`` True is BatchNorm; use "group" for ensembles.

    Example:
        >>> vgg11().width
        64
    """

    def build(shape: Shape, width: int, outputs: int) -> nn.Module:
        check_image("vgg11", shape, 4)
        layers: list[nn.Module] = []
        channels, size = shape[0], min(shape[1:])
        for step in VGG11:
            if step:
                layers += [nn.Conv2d(channels, step * width, 3, padding=1), image_norm(normalisation, step * width)]
                layers.append(activation_layer(activation))
                channels = step * width
            elif size >= 2:
                layers.append(nn.MaxPool2d(2))
                size //= 2
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, outputs))

    return FiniteModel("vgg11", build, 64)

"""Two small networks in torch's own parametrisation: dense, and residual with global pooling."""

from __future__ import annotations

from math import prod

from torch import Tensor, nn

from priorscope.models.architectures.zoo._finite import FiniteModel, Shape
from priorscope.models.architectures.zoo._parts import check_image

__all__ = ["mlp", "small_resnet"]


def mlp() -> FiniteModel:
    """Two hidden layers with GELU, torch's own law of weights; default width 100. For a kernel in closed form, take ``fcn``.

    Example:
        >>> import torch
        >>> mlp().network((1, 8, 8), width=16, outputs=2)(torch.zeros(3, 1, 8, 8)).shape
        torch.Size([3, 2])
    """

    def build(shape: Shape, width: int, outputs: int) -> nn.Module:
        hidden = [nn.Flatten(), nn.Linear(prod(shape), width), nn.GELU(), nn.Linear(width, width), nn.GELU()]
        return nn.Sequential(*hidden, nn.Linear(width, outputs))

    return FiniteModel("mlp", build, width=100)


def small_resnet() -> FiniteModel:
    """Three convolutions with GELU, two of them around shortcuts, and global average pooling; default width 8.

    A stand-in for ResNet18 where that is too large or too slow to train: images of 4×4 and up, no normalisation.

    Example:
        >>> import torch
        >>> net = small_resnet().network((1, 8, 8), outputs=2)
        >>> net(torch.zeros(3, 1, 8, 8)).shape, sum(p.numel() for p in net.parameters())
        (torch.Size([3, 2]), 1266)
    """

    def build(shape: Shape, width: int, outputs: int) -> nn.Module:
        check_image("small_resnet", shape, 4)
        return _SmallResnet(outputs, shape[0], width)

    return FiniteModel("small_resnet", build, width=8)


class _SmallResnet(nn.Module):
    """Three convolutions with GELU, the last two around shortcuts and before pools, then the mean over pixels."""

    def __init__(self, outputs: int, channels: int, width: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(channels, width, 3, padding=1)
        self.second, self.third = (nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.readout = nn.Linear(width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        act, pool = nn.functional.gelu, nn.functional.avg_pool2d
        h = act(self.stem(x))
        h = pool(h + act(self.second(h)), 2)
        h = pool(h + act(self.third(h)), 2)
        found: Tensor = self.readout(h.mean((2, 3)))
        return found

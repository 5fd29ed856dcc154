"""Convolutional networks as people build them, for images and for series: batch normalisation, ReLU, pools between stages."""

from __future__ import annotations

from torch import nn

from priorscope.checks import SHAPE, checked, whole
from priorscope.contracts import Shape

__all__ = ["convolutional_network"]

_FIRST = (
    16  # pixels per side, or 4 times as many places of a series, that the first stage looks at: larger ones are strided
)
_LAST = 3  # no stage looks at fewer

_IMAGE = (nn.Conv2d, nn.BatchNorm2d, nn.MaxPool2d, nn.AdaptiveAvgPool2d)
_SERIES = (nn.Conv1d, nn.BatchNorm1d, nn.MaxPool1d, nn.AdaptiveAvgPool1d)


@checked(input_shape=SHAPE, outputs=whole(), width=whole())
def convolutional_network(input_shape: Shape, outputs: int, *, width: int = 32, pooling: bool = True) -> nn.Sequential:
    """Stages of two convolutions (3×3, or 5 places of a series), each normalised by its batch; a stage halves the sides.

    Channels begin at ``width`` and double by stage, up to 4 times. ``pooling`` takes the mean over all places before the
    readout; without it the places of the last stage are kept, at most 4 per side. Takes images (channels, h, w) of 6
    pixels per side and more, and series (channels, time) of 8 times and more.

    Example:
        >>> import torch
        >>> net = convolutional_network((3, 32, 32), 10)
        >>> net(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 10])
        >>> convolutional_network((2, 50), 4, pooling=False)(torch.zeros(2, 2, 50)).shape
        torch.Size([2, 4])
    """
    axes, side = len(input_shape) - 1, min(input_shape[1:], default=0)
    if axes not in (1, 2) or side < (8 if axes == 1 else 6):
        raise ValueError(
            "convolutional_network takes images (channels, h, w) of at least 6 pixels per side, or series (channels, time) "
            f"of at least 8 times; got {tuple(input_shape)}. For flat features take a dense network."
        )
    conv, norm, pool, mean = _IMAGE if axes == 2 else _SERIES
    reach = 3 if axes == 2 else 5
    layers: list[nn.Module] = []
    channels, largest = input_shape[0], max(input_shape[1:])

    def step(wide: int, stride: int = 1) -> list[nn.Module]:
        size = max(reach, 2 * stride - 1)
        return [conv(channels, wide, size, stride, size // 2, bias=False), norm(wide), nn.ReLU()]

    stride = 1
    while largest / stride > (_FIRST if axes == 2 else 4 * _FIRST) and side / stride >= 2 * _LAST:
        stride *= 2
    side = -(-side // stride)
    for stage in range(3):
        wide = width * min(2**stage, 4)
        for i in range(2):
            layers += step(wide, stride if stage == i == 0 else 1)
            channels = wide
        if stage == 2 or side // 2 < _LAST:
            break
        layers.append(pool(2))
        side //= 2
    places = 1 if pooling else min(side, 4)
    return nn.Sequential(*layers, mean(places), nn.Flatten(), nn.Linear(channels * places**axes, outputs))

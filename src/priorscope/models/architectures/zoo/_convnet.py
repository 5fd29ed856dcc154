"""Plain and residual convolutional networks that differ in one thing at a time, and dense ones, for small images."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from torch import Tensor, nn

from priorscope.checks import checked, whole
from priorscope.models.architectures.zoo._finite import FiniteModel, Shape
from priorscope.models.architectures.zoo._parts import activation_layer, check_image, image_norm

__all__ = ["convnet", "dense"]

POOLINGS = ("max", "average", "stride", "none")


class _Around(nn.Module):
    """A body with a shortcut around it."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = x + self.body(x)
        return found


@checked(depth=whole(), width=whole())
def dense(depth: int = 4, width: int = 64, activation: str = "relu") -> FiniteModel:
    """A fully connected network in torch's own parametrisation; defaults are FullConn-L4 of Petrini et al. (2021): 4 × 64.

    Example:
        >>> sum(p.numel() for p in dense().network((3, 32, 32), outputs=10).parameters())
        209802
    """

    def build(shape: Shape, width: int, outputs: int) -> nn.Module:
        sizes = [prod(shape), *[width] * depth]
        layers: list[nn.Module] = [nn.Flatten()]
        for n_in, n_out in pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), activation_layer(activation)]
        return nn.Sequential(*layers, nn.Linear(width, outputs))

    return FiniteModel(f"dense-{depth}", build, width)


@checked(stages=whole(), depth=whole())
def convnet(
    stages: int = 3,
    depth: int = 1,
    pooling: str = "max",
    normalisation: bool | str = False,
    skips: bool = False,
    readout: str = "flatten",
    activation: str = "relu",
) -> FiniteModel:
    """``stages`` of a 3×3 convolution that doubles the channels and ``depth`` − 1 more, each stage halving the image.

    ``pooling`` "max" or "average" halves the image at the end of a stage, "stride" at its beginning, "none" leaves it; ``skips``
    puts shortcuts around all but the first convolution of a stage; ``normalisation`` as for :func:`lenet`; ``readout``
    "flatten" or "mean" over the pixels that are left. Default width 8 channels in the first stage, ours, for sweeps over
    architectures on a laptop.

    Example:
        >>> import torch
        >>> convnet(2, pooling="stride").network((1, 8, 8), width=4, outputs=3)(torch.zeros(2, 1, 8, 8)).shape
        torch.Size([2, 3])
    """
    if pooling not in POOLINGS:
        raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}; got {pooling!r}.")
    if readout not in ("flatten", "mean"):
        raise ValueError(f"readout must be 'flatten' or 'mean'; got {readout!r}.")
    pools = {"max": nn.MaxPool2d, "average": nn.AvgPool2d}

    def step(n_in: int, n_out: int, stride: int = 1) -> list[nn.Module]:
        bias = normalisation is False
        conv = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=bias)
        return [conv, image_norm(normalisation, n_out), activation_layer(activation)]

    def build(shape: Shape, width: int, outputs: int) -> nn.Module:
        """Stage after stage, keeping count of channels and sides for the readout."""
        check_image("convnet", shape, 2**stages)
        layers: list[nn.Module] = []
        channels, side = shape[0], shape[1:]
        for k in range(stages):
            layers += step(channels, width << k, 2 if pooling == "stride" else 1)
            channels = width << k
            for _ in range(depth - 1):
                more = nn.Sequential(*step(channels, channels))
                layers.append(_Around(more) if skips else more)
            if pooling in pools:
                layers.append(pools[pooling](2))
            side = tuple(-(-s // 2) if pooling == "stride" else s // 2 if pooling in pools else s for s in side)
        if readout == "mean":
            return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, outputs))
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * prod(side), outputs))

    return FiniteModel("convnet", build, 8)

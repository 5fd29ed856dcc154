"""ResNet-18 for small images."""

from __future__ import annotations

from torch import Tensor, nn

from priorscope.models.architectures.zoo._finite import FiniteModel, Shape
from priorscope.models.architectures.zoo._parts import activation_layer, check_image, image_norm

__all__ = ["resnet18"]


class Block(nn.Module):
    """Two 3×3 convolutions and a shortcut."""

    def __init__(self, n_in: int, n_out: int, stride: int, activation: str, normalisation: bool | str) -> None:
        """Two convolutions beside a shortcut, which is a convolution where shapes change."""
        super().__init__()
        bias = normalisation is False
        self.body = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, stride, 1, bias=bias),
            image_norm(normalisation, n_out),
            activation_layer(activation),
            nn.Conv2d(n_out, n_out, 3, 1, 1, bias=bias),
            image_norm(normalisation, n_out),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or n_in != n_out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(n_in, n_out, 1, stride, bias=bias), image_norm(normalisation, n_out)
            )
        self.activation = activation_layer(activation)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.activation(self.shortcut(x) + self.body(x))
        return found


def resnet18(activation: str = "relu", normalisation: bool | str = True) -> FiniteModel:
    """ResNet-18 (He et al. 2016) in its small-image form: 3×3 first layer, no first pool; images of 4×4 and up.

    Default width 64, the paper's. ``normalisation`` True is BatchNorm; use "group" for ensembles.

    Example:
        >>> resnet18().name
        'resnet18'
    """

    def build(shape: Shape, width: int, outputs: int) -> nn.Module:
        check_image("resnet18", shape, 4)
        layers: list[nn.Module] = [
            nn.Conv2d(shape[0], width, 3, 1, 1, bias=normalisation is False),
            image_norm(normalisation, width),
            activation_layer(activation),
        ]
        channels = width
        for stage, stride in enumerate((1, 2, 2, 2)):
            wide = width * 2**stage
            layers += [Block(channels, wide, stride, activation, normalisation)]
            layers += [Block(wide, wide, 1, activation, normalisation)]
            channels = wide
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, outputs))

    return FiniteModel("resnet18", build, 64)

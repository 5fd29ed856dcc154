"""What the papers on input geometry share: small models, their measured geometry, and training on directional data."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from priorscope.data import Dataset
from priorscope.probes import AverageGeometry, average_geometry
from priorscope.probes._geometry._draws import Draws
from priorscope.probes._geometry._training import accuracy, train_stacked

__all__: list[str] = []

NOTE = "Reduced: 1×8×8 inputs; convolutional networks of one or three stages in place of LeNet and ResNet18"


class ConvNet(torch.nn.Module):
    """Convolutions with GELU, average pooling in between, flattened (LeNet-like) or averaged (ResNet-like) at the end."""

    def __init__(self, residual: bool, outputs: int = 1, channels: int = 1, width: int = 16, size: int = 8) -> None:
        super().__init__()
        nn = torch.nn
        self.stem = nn.Conv2d(channels, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.third = nn.Conv2d(width, width, 3, padding=1)
        self.residual = residual
        self.pool = nn.AvgPool2d(2)
        self.readout = nn.Linear(width if residual else width * (size // 4) ** 2, outputs)

    def forward(self, x: Tensor) -> Tensor:
        act = torch.nn.functional.gelu
        h = act(self.stem(x))
        if self.residual:
            h = self.pool(h + act(self.second(h)))
            h = self.pool(h + act(self.third(h)))
            return self.readout(h.mean((2, 3)))
        h = self.pool(act(self.second(self.pool(h))))
        return self.readout(h.flatten(1))


def build(name: str, outputs: int = 1, channels: int = 1, size: int = 8) -> Any:
    """The module of a name: mlp (2 × 64), lenet (small), resnet (small)."""
    if name == "mlp":
        nn = torch.nn
        layers = [nn.Flatten(), nn.Linear(channels * size**2, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU()]
        return nn.Sequential(*layers, nn.Linear(64, outputs))
    if name not in ("lenet", "resnet"):
        raise ValueError(f"models here are mlp, lenet and resnet; got {name!r}.")
    return ConvNet(name == "resnet", outputs, channels, size=size)


def geometry(name: str, n_models: int, channels: int = 1, size: int = 8) -> AverageGeometry:
    """G of the model with weak probes, the least noisy for GELU."""
    shape = (channels, size, size)
    return average_geometry(
        build(name, 1, channels, size), shape, n_models=n_models, n_probes=4, probe_std=1e-3, seed=7
    )


def train(
    name: str, sets: list[Dataset], *, seed: int, outputs: int = 1, **options: Any
) -> tuple[Any, dict[str, Tensor]]:
    """One network a data set (all of one size), trained together; the template and the trained parameters."""
    shape = sets[0].input_shape
    draws = Draws(build(name, outputs, shape[0], shape[1]), shape, seed)
    x, y = _stack(sets, "train", outputs)
    return draws.template, train_stacked(draws.template, draws(len(sets)), x, y, seed=seed, **options)


def accuracies(
    template: Any, params: dict[str, Tensor], sets: list[Dataset], outputs: int = 1, which: str = "test"
) -> list[float]:
    """Accuracy of network i on data set i."""
    x, y = _stack(sets, which, outputs)
    return accuracy(template, params, x, y).tolist()


def _stack(sets: list[Dataset], which: str, outputs: int) -> tuple[Tensor, Tensor]:
    splits = [getattr(s, which) for s in sets]
    x = torch.stack([s.inputs for s in splits])
    if outputs == 1:
        return x, torch.stack([s.targets[:, 0] for s in splits])
    return x, torch.stack([getattr(s, f"{which}_labels") for s in sets])

"""What the papers on input geometry share: small models, their measured geometry, and training on directional data."""

from __future__ import annotations

from collections.abc import Callable
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


def build(name: str, outputs: int = 1, channels: int = 1, size: int = 8, width: int = 16) -> Any:
    """The module of a name: mlp (two layers of 4 · width), lenet (small), resnet (small)."""
    if name == "mlp":
        nn = torch.nn
        units = 4 * width
        layers = [nn.Flatten(), nn.Linear(channels * size**2, units), nn.GELU(), nn.Linear(units, units), nn.GELU()]
        return nn.Sequential(*layers, nn.Linear(units, outputs))
    if name not in ("lenet", "resnet"):
        raise ValueError(f"models here are mlp, lenet and resnet; got {name!r}.")
    return ConvNet(name == "resnet", outputs, channels, width, size)


def geometry(name: str, n_models: int, channels: int = 1, size: int = 8, width: int = 16) -> AverageGeometry:
    """G of the model with weak probes, the least noisy for GELU."""
    shape = (channels, size, size)
    module = build(name, 1, channels, size, width)
    return average_geometry(module, shape, n_models=n_models, n_probes=4, probe_std=1e-3, seed=7)


def images(kind: str, n: int, seed: int) -> Dataset:
    """Two-class images (1, 8, 8), standardised, with half as many test images: cifar2 (grey) or digits by parity."""
    if kind == "cifar2":
        from priorscope.data import cifar2

        return cifar2(n // 2, n // 4, size=8, channels=1, seed=seed).standardised()
    from priorscope.data import digits

    return digits("parity").subset(n, seed=seed, n_test=min(n // 2, 350)).standardised()


def train(
    name: str,
    sets: list[Dataset],
    *,
    seed: int,
    outputs: int = 1,
    width: int = 16,
    watch: Callable[[Any, dict[str, Tensor]], None] | None = None,
    **options: Any,
) -> tuple[Any, dict[str, Tensor]]:
    """One network a data set (all of one size), trained together; the template and the trained parameters."""
    shape = sets[0].input_shape
    draws = Draws(build(name, outputs, shape[0], shape[1], width), shape, seed)
    x, y = _stack(sets, "train", outputs)
    call = None if watch is None else (lambda epoch, params, loss: watch(draws.template, params))
    return draws.template, train_stacked(draws.template, draws(len(sets)), x, y, seed=seed, watch=call, **options)


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

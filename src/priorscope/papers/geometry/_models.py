"""What the papers on input geometry share: the models and their sizes, their measured geometry, and training."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from priorscope.data import Dataset
from priorscope.papers.geometry._sizes import WIDTHS
from priorscope.probes import AverageGeometry, average_geometry
from priorscope.probes.geometry._draws import Draws
from priorscope.probes.geometry._training import accuracy, train_stacked

__all__: list[str] = []


class Residual(torch.nn.Module):
    """Three convolutions with GELU, the last two around shortcuts and before pools, then the mean over pixels."""

    def __init__(self, outputs: int, channels: int, width: int) -> None:
        super().__init__()
        nn = torch.nn
        self.stem = nn.Conv2d(channels, width, 3, padding=1)
        self.second, self.third = (nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.readout = nn.Linear(width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        act, pool = torch.nn.functional.gelu, torch.nn.functional.avg_pool2d
        h = act(self.stem(x))
        h = pool(h + act(self.second(h)), 2)
        h = pool(h + act(self.third(h)), 2)
        return self.readout(h.mean((2, 3)))


def build(name: str, outputs: int = 1, channels: int = 1, size: int = 8, width: int | None = None) -> Any:
    """The module of a name, with GELU and without normalisation: mlp (two layers), lenet, resnet (ResNet18), residual."""
    from priorscope import models

    if name not in WIDTHS:
        raise ValueError(f"models here are {', '.join(WIDTHS)}; got {name!r}.")
    width = WIDTHS[name] if width is None else width
    if name == "mlp":
        nn = torch.nn
        layers = [nn.Flatten(), nn.Linear(channels * size**2, width), nn.GELU(), nn.Linear(width, width), nn.GELU()]
        return nn.Sequential(*layers, nn.Linear(width, outputs))
    if name == "residual":
        return Residual(outputs, channels, width)
    model = models.lenet(activation="gelu") if name == "lenet" else models.resnet18("gelu", normalisation=False)
    return model.network((channels, size, size), width=width, outputs=outputs)


@lru_cache(maxsize=8)
def geometry(name: str, n_models: int, channels: int = 1, size: int = 8, width: int | None = None) -> AverageGeometry:
    """G of the model with weak probes, the least noisy for GELU; kept for the next point of this process."""
    shape = (channels, size, size)
    module = build(name, 1, channels, size, width)
    return average_geometry(module, shape, n_models=n_models, n_probes=4, probe_std=1e-3, seed=7)


def spaced_ranks(first: int, dim: int, n: int) -> list[int]:
    """``n`` ranks from ``first`` to the last of ``dim``, evenly spaced."""
    return [round(first + (dim - 1 - first) * i / (n - 1)) for i in range(n)]


def images(kind: str, n: int, seed: int, size: int = 8, n_test: int = 2000) -> Dataset:
    """Two-class grey images, standardised: cifar2 (animal or not) or the digits by parity."""
    return _all_images(kind, size).subset(n, seed=seed, n_test=min(n_test, 350 if kind == "digits" else 4000))


@lru_cache(maxsize=1)
def _all_images(kind: str, size: int) -> Dataset:
    from priorscope.data import cifar2, digits

    whole = digits("parity") if kind == "digits" else cifar2(5000, 2000, size=size, channels=1)
    return whole.standardised()


def train(
    name: str,
    sets: list[Dataset],
    *,
    seed: int,
    outputs: int = 1,
    width: int | None = None,
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

"""What the papers on input geometry share: the models and their sizes, their measured geometry, and training."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import priorscope.models as models
from priorscope.data import Dataset
from priorscope.inference import stacked_accuracy, train_stacked
from priorscope.papers.geometry._sizes import WIDTHS
from priorscope.probes import AverageGeometry, average_geometry

if TYPE_CHECKING:
    from torch import nn

__all__: list[str] = []


def build(name: str, outputs: int = 1, channels: int = 1, size: int = 8, width: int | None = None) -> nn.Module:
    """The module of a name, with GELU: mlp (two layers), lenet, resnet (ResNet18), residual.

    ``normalised`` is ResNet18 with group normalisation; the others have none.
    """
    if name not in WIDTHS:
        raise ValueError(f"models here are {', '.join(WIDTHS)}; got {name!r}.")
    makers: dict[str, Callable[[], models.FiniteModel]] = {
        "mlp": models.mlp,
        "lenet": lambda: models.lenet("gelu"),
        "resnet": lambda: models.resnet18("gelu", normalisation=False),
        "residual": models.small_resnet,
        "normalised": lambda: models.resnet18("gelu", normalisation="group"),
    }
    width = WIDTHS[name] if width is None else width
    return makers[name]().network((channels, size, size), width=width, outputs=outputs)


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
    **options: Any,
) -> tuple[nn.Module, dict[str, Tensor]]:
    """One network per data set (all of one size), trained together; the template and the trained parameters."""
    (shape,) = {s.input_shape for s in sets}
    template = build(name, outputs, shape[0], shape[1], width).eval()
    start = models.Redrawing.of(template).stacked(len(sets), torch.Generator().manual_seed(seed))
    x, y = _stack(sets, "train", outputs)
    return template, train_stacked(template, start, x, y, seed=seed, **options)


def accuracies(
    template: nn.Module, params: dict[str, Tensor], sets: list[Dataset], outputs: int = 1, which: str = "test"
) -> list[float]:
    """Accuracy of network i on data set i."""
    x, y = _stack(sets, which, outputs)
    return stacked_accuracy(template, params, x, y).tolist()


def _stack(sets: list[Dataset], which: str, outputs: int) -> tuple[Tensor, Tensor]:
    splits = [getattr(s, which) for s in sets]
    x = torch.stack([s.inputs for s in splits])
    if outputs == 1:
        return x, torch.stack([s.targets[:, 0] for s in splits])
    return x, torch.stack([getattr(s, f"{which}_labels") for s in sets])

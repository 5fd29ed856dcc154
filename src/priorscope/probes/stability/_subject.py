"""Which networks and which images a probe of stability looks at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from priorscope.checks import no_options
from priorscope.contracts import (
    LabelledData,
    Member,
    NetworkFamily,
    Predictor,
    is_kernel_model,
    is_network_family,
    missing,
    name_of,
)
from priorscope.models import from_factory

__all__ = ["Subject", "images_of", "networks_of"]

Subject: TypeAlias = "nn.Module | Sequence[nn.Module] | NetworkFamily | Member | Any"


class _Predictor(nn.Module):
    """Anything with ``predict`` as a module."""

    def __init__(self, fitted: Any) -> None:
        super().__init__()
        self.fitted = fitted

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.fitted.predict(x)
        return found


def networks_of(
    model: Subject, input_shape: tuple[int, ...], outputs: int, n_seeds: int, seed: int, **network: Any
) -> tuple[str, list[nn.Module]]:
    """A name, and one network per draw: the module itself each time, the modules of a list, or fresh ones of a family."""
    if not is_network_family(model):
        no_options("stability", network, "settings such as width go to architectures only")
    if isinstance(model, nn.Module):
        return name_of(model), [model] * n_seeds
    if isinstance(model, list | tuple):
        if not model or not all(isinstance(part, nn.Module) for part in model):
            raise TypeError("a list of models must hold torch.nn.Modules, one at least.")
        return name_of(model[0]), list(model)
    if is_network_family(model):
        return name_of(model), [
            model.network(input_shape, outputs=outputs, seed=seed + s, **network) for s in range(n_seeds)
        ]
    if not missing(model, Predictor) and not is_kernel_model(model):
        return name_of(model), [_Predictor(model)] * n_seeds
    if callable(model):
        made = [from_factory(model, input_shape, outputs, seed + s) for s in range(n_seeds)]
        for one in made:
            if not isinstance(one, nn.Module):
                raise TypeError(f"a factory must give a torch.nn.Module; it gave a {type(one).__name__}.")
        return name_of(model), made
    raise TypeError(
        f"stability needs a torch.nn.Module, a list of them, an architecture, a factory or something with predict; got "
        f"{type(model).__name__}."
    )


def images_of(data: LabelledData | Tensor, n_images: int, seed: int) -> tuple[Tensor, int]:
    """Up to ``n_images`` inputs in random order and the number of outputs: of the test split where there is one."""
    if isinstance(data, Tensor):
        x, outputs = data, 1
    else:
        test, train = data.test.inputs, data.inputs
        x, outputs = (test if len(test) >= 2 else train), data.n_outputs
    if x.ndim < 2 or len(x) < 2:
        raise ValueError(f"stability compares images and needs two at least, (n, *shape); got {tuple(x.shape)}.")
    if not x.is_floating_point():
        raise ValueError(
            f"stability needs floating-point inputs; got {x.dtype}. Use priorscope.data.from_arrays(x, y)."
        )
    if not bool(torch.isfinite(x).all()):
        raise ValueError("stability needs finite inputs; some are NaN or infinite.")
    rows = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))[:n_images]
    return x[rows], outputs

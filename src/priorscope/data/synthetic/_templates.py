"""Classes that are deformations of templates: the simplest images whose labels survive deformations by construction."""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE, SEED, checked, number, whole
from priorscope.data._dataset import Dataset, Split
from priorscope.data._labels import encode_labels
from priorscope.data.deformations._deform import deform

__all__ = ["deformed_templates"]


@checked(
    n_train=whole(2),
    n_test=whole(),
    size=whole(3),
    n_classes=whole(2),
    temperature=NOT_NEGATIVE,
    cutoff=number(least=1),
    noise=NOT_NEGATIVE,
    seed=SEED,
)
def deformed_templates(
    n_train: int = 1000,
    n_test: int = 500,
    *,
    size: int = 20,
    n_classes: int = 40,
    temperature: float = 0.03,
    cutoff: float = 2,
    noise: float = 0.5,
    seed: int = 0,
) -> Dataset:
    """Images (1, size, size): the class's white Gaussian template, deformed at random, plus white noise of this deviation.

    Fields are those of :func:`priorscope.data.deform` at ``temperature`` and ``cutoff``. Templates follow from the seed alone, so
    that data of the same seed and other sizes share their classes.

    Example:
        >>> data = deformed_templates(20, 10, size=8, n_classes=3)
        >>> data.input_shape, data.n_outputs
        ((1, 8, 8), 3)
    """
    generator = torch.Generator().manual_seed(seed)
    templates = torch.randn(n_classes, 1, size, size, generator=generator)

    def draw(n: int) -> tuple[Tensor, Tensor]:
        labels = torch.randint(n_classes, (n,), generator=generator)
        moved = deform(templates[labels], temperature, cutoff, seed=generator, folds="allow")
        return moved + noise * torch.randn(moved.shape, generator=generator), labels

    (x, y), (x_test, y_test) = draw(n_train), draw(n_test)
    names = tuple(f"template {k}" for k in range(n_classes))
    splits = [Split(a, encode_labels(b, "classes", names, a.dtype)) for a, b in ((x, y), (x_test, y_test))]
    return Dataset(splits[0], splits[1], "deformed templates", names, y, y_test)

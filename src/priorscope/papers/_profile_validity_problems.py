"""Problems to try the profile on: made for one architecture each, parts of published image sets, tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from priorscope import data

__all__ = ["DEVELOPMENT", "HELD_OUT", "Problem", "draw"]

SIDE = 8  # of all images: pooled kernels cost the fourth power of it


@dataclass(frozen=True)
class Problem:
    """How to draw samples; ``known`` is the family the problem was made for (None: nobody knows); ``seed`` fixes its function."""

    make: Callable[..., tuple[Tensor, Tensor]]
    options: dict[str, Any]
    seed: int = 0
    known: str | None = None
    table: bool = False


def _images(n: int, channels: int, smooth: bool, g: torch.Generator) -> Tensor:
    x = torch.randn(n, channels, SIDE, SIDE, generator=g)
    if smooth:
        x = x + x.roll(1, 2) + x.roll(1, 3) + x.roll((1, 1), (2, 3))
    return x / x.std()


def _responses(x: Tensor, filters: Tensor) -> Tensor:
    k = filters.shape[-1]
    return F.conv2d(F.pad(x, (0, k - 1, 0, k - 1), mode="circular"), filters)  # (n, filters, side, side)


def products(
    n: int, g: torch.Generator, *, channels: int = 1, size: int = 2, smooth: bool = True, anywhere: bool = True
) -> tuple[Tensor, Tensor]:
    """Product of two local filters, averaged over places, or with a weight of its own at each place."""
    w = torch.randn(2, channels, size, size, generator=g)
    weight = torch.ones(SIDE, SIDE) if anywhere else torch.randn(SIDE, SIDE, generator=g)
    x = _images(n, channels, smooth, g)
    return x, (_responses(x, w).prod(1) * weight).mean((1, 2))


def pattern(n: int, g: torch.Generator, *, size: int = 3, amplitude: float = 6.0) -> tuple[Tensor, Tensor]:
    """Which of two small patterns lies somewhere in the noise: labels ±1."""
    p = torch.randn(2, 1, size, size, generator=g)
    p = amplitude * p / p.flatten(1).norm(dim=1)[:, None, None, None]
    x = torch.randn(n, 1, SIDE, SIDE, generator=g)
    label = torch.randint(0, 2, (n,), generator=g)
    for i, (a, b) in enumerate(torch.randint(0, SIDE, (n, 2), generator=g).tolist()):
        x[i] += F.pad(p[label[i]], (0, SIDE - size, 0, SIDE - size)).roll((a, b), (1, 2))
    return x, label


def neighbours(n: int, g: torch.Generator, *, sites: int = 16, smooth: bool = True) -> tuple[Tensor, Tensor]:
    """Products of pixels side by side at some places, each with a weight of its own."""
    weight = torch.randn(SIDE * SIDE, generator=g)
    weight[torch.randperm(SIDE * SIDE, generator=g)[sites:]] = 0
    x = _images(n, 1, smooth, g)
    return x, (x * x.roll(1, 3))[:, 0].mul(weight.view(SIDE, SIDE)).sum((1, 2))


def polynomial(n: int, g: torch.Generator, *, directions: int = 1, quadratic: float = 0.5) -> tuple[Tensor, Tensor]:
    r""":math:`\sum_k u_k + c(u_k^2 - 1)` of projections u on random directions: no pixel is next to another."""
    w = torch.randn(directions, SIDE * SIDE, generator=g)
    x = _images(n, 1, False, g)
    u = x.flatten(1) @ (w / w.norm(dim=1, keepdim=True)).T
    return x, (u + quadratic * (u * u - 1)).sum(1)


def published(
    n: int, g: torch.Generator, *, name: str, positive: list[int], negative: list[int]
) -> tuple[Tensor, Tensor]:
    """Some classes against others of a published image set, at 8 × 8 pixels."""
    whole = data.digits() if name == "digits" else getattr(data, name)(size=SIDE)
    assert whole.train_labels is not None
    assert whole.test_labels is not None
    x = torch.cat([whole.inputs, whole.test.inputs])
    label = torch.cat([whole.train_labels, whole.test_labels])
    inside = torch.isin(label, torch.tensor(positive + negative)).nonzero().flatten()
    rows = inside[torch.randperm(len(inside), generator=g)[:n]]
    return x[rows], torch.isin(label[rows], torch.tensor(positive)).long()


def bundled(n: int, g: torch.Generator, *, name: str) -> tuple[Tensor, Tensor]:
    """All rows of a table that comes with scikit-learn, shuffled."""
    from sklearn import datasets

    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = torch.randperm(len(x), generator=g)
    target = torch.as_tensor(y)
    return torch.as_tensor(x).float()[rows], (target.float() if target.is_floating_point() else target.long())[rows]


def friedman(n: int, g: torch.Generator, *, noise: float = 1.0) -> tuple[Tensor, Tensor]:
    """A table for development: Friedman's first function (1991) of ten numbers."""
    x = torch.rand(440, 10, generator=g)
    y = 10 * (torch.pi * x[:, 0] * x[:, 1]).sin() + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, y + noise * torch.randn(440, generator=g)


def _pair(name: str, positive: list[int], negative: list[int], seed: int) -> Problem:
    return Problem(published, {"name": name, "positive": positive, "negative": negative}, seed)


HELD_OUT: dict[str, Problem] = {
    "local product anywhere": Problem(products, {"channels": 3}, 9001, "gap"),
    "pattern somewhere": Problem(pattern, {"amplitude": 5.0}, 9003, "gap"),
    "local product by place": Problem(products, {"anywhere": False}, 9004, "vec"),
    "neighbours at 24 places": Problem(neighbours, {"sites": 24}, 9005, "vec"),
    "polynomial of one direction": Problem(polynomial, {"quadratic": 0.7}, 9006, "fcn"),
    "polynomial of two directions": Problem(polynomial, {"directions": 2, "quadratic": 0.3}, 9007, "fcn"),
    "digits with loops": _pair("digits", [0, 6, 8, 9], [1, 2, 3, 4, 5, 7], 9008),
    "MNIST 3 or 5": _pair("mnist", [3], [5], 9009),
    "Fashion pullover or coat": _pair("fashion_mnist", [2], [4], 9010),
    "CIFAR automobile or horse": _pair("cifar10", [1], [7], 9011),
    "diabetes": Problem(bundled, {"name": "diabetes"}, 9013, table=True),
    "wine": Problem(bundled, {"name": "wine"}, 9014, table=True),
    "breast cancer": Problem(bundled, {"name": "breast_cancer"}, 9015, table=True),
    "iris": Problem(bundled, {"name": "iris"}, 9016, table=True),
}
DEVELOPMENT: dict[str, Problem] = {
    "dev product anywhere": Problem(products, {"channels": 2}, 101, "gap"),
    "dev pattern": Problem(pattern, {"amplitude": 5.5}, 102, "gap"),
    "dev product by place": Problem(products, {"size": 1, "anywhere": False}, 103, "vec"),
    "dev polynomial": Problem(polynomial, {}, 104, "fcn"),
    "dev digits": _pair("digits", [1, 2, 7], [0, 3, 4, 5, 6, 8, 9], 105),
    "dev MNIST": _pair("mnist", [2], [7], 106),
    "dev Fashion": _pair("fashion_mnist", [0], [6], 107),
    "dev CIFAR": _pair("cifar10", [6], [9], 108),
    "dev table": Problem(friedman, {}, 109, table=True),
}


def draw(name: str, n_train: int, n_test: int, split: int = 0) -> data.Dataset:
    """Training and test split of a problem; tables give 4/5 of their rows to training, another 4/5 at each ``split``."""
    problem = (HELD_OUT | DEVELOPMENT)[name]
    x, y = problem.make(n_train + n_test, torch.Generator().manual_seed(problem.seed), **problem.options)
    if problem.table:
        turn = torch.randperm(len(x), generator=torch.Generator().manual_seed(split))
        x, y = x[turn], y[turn]
        n_train = min(n_train, 4 * (len(x) // 5))
    classes = None if y.is_floating_point() else ("parity" if len(y.unique()) == 2 else "classes")
    if classes is None:
        y = (y - y[:n_train].mean()) / y[:n_train].std()
    rest = (x[n_train:], y[n_train:].numpy())
    return data.from_arrays(x[:n_train], y[:n_train].numpy(), test=rest, classes=classes, name=name).standardised()

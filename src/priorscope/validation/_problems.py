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


@dataclass(frozen=True)
class Problem:
    """How to draw samples; ``known`` is the family the problem was made for (None: nobody knows); ``seed`` fixes its function."""

    make: Callable[..., tuple[Tensor, Tensor]]
    options: dict[str, Any]
    seed: int = 0
    known: str | None = None
    table: bool = False


def _images(n: int, channels: int, side: int, smooth: bool, g: torch.Generator) -> Tensor:
    x = torch.randn(n, channels, side, side, generator=g)
    if smooth:
        x = x + x.roll(1, 2) + x.roll(1, 3) + x.roll((1, 1), (2, 3))
    return x / x.std()


def _responses(x: Tensor, filters: Tensor) -> Tensor:
    k = filters.shape[-1]
    return F.conv2d(F.pad(x, (0, k - 1, 0, k - 1), mode="circular"), filters)  # (n, filters, side, side)


def products(
    n: int,
    g: torch.Generator,
    side: int,
    *,
    channels: int = 1,
    size: int = 2,
    smooth: bool = True,
    anywhere: bool = True,
) -> tuple[Tensor, Tensor]:
    """Product of two local filters, averaged over places, or with a weight of its own at each place."""
    w = torch.randn(2, channels, size, size, generator=g)
    weight = torch.ones(side, side) if anywhere else torch.randn(side, side, generator=g)
    x = _images(n, channels, side, smooth, g)
    return x, (_responses(x, w).prod(1) * weight).mean((1, 2))


def pattern(n: int, g: torch.Generator, side: int, *, size: int = 3, amplitude: float = 6.0) -> tuple[Tensor, Tensor]:
    """Which of two small patterns lies somewhere in the noise: labels ±1."""
    p = torch.randn(2, 1, size, size, generator=g)
    p = amplitude * p / p.flatten(1).norm(dim=1)[:, None, None, None]
    x = torch.randn(n, 1, side, side, generator=g)
    label = torch.randint(0, 2, (n,), generator=g)
    for i, (a, b) in enumerate(torch.randint(0, side, (n, 2), generator=g).tolist()):
        x[i] += F.pad(p[label[i]], (0, side - size, 0, side - size)).roll((a, b), (1, 2))
    return x, label


def neighbours(n: int, g: torch.Generator, side: int, *, sites: int = 16, smooth: bool = True) -> tuple[Tensor, Tensor]:
    """Products of pixels side by side at some places, each with a weight of its own."""
    weight = torch.randn(side * side, generator=g)
    weight[torch.randperm(side * side, generator=g)[sites:]] = 0
    x = _images(n, 1, side, smooth, g)
    return x, (x * x.roll(1, 3))[:, 0].mul(weight.view(side, side)).sum((1, 2))


def polynomial(
    n: int, g: torch.Generator, side: int, *, directions: int = 1, quadratic: float = 0.5
) -> tuple[Tensor, Tensor]:
    r""":math:`\sum_k u_k + c(u_k^2 - 1)` of projections u on random directions: no pixel is next to another."""
    w = torch.randn(directions, side * side, generator=g)
    x = _images(n, 1, side, False, g)
    u = x.flatten(1) @ (w / w.norm(dim=1, keepdim=True)).T
    return x, (u + quadratic * (u * u - 1)).sum(1)


def published(
    n: int, g: torch.Generator, side: int, *, name: str, positive: list[int], negative: list[int]
) -> tuple[Tensor, Tensor]:
    """Some classes against others of a published image set, averaged to a few pixels."""
    whole = data.digits() if name == "digits" else getattr(data, name)(size=max(side, 8))
    assert whole.train_labels is not None
    assert whole.test_labels is not None
    x = torch.cat([whole.inputs, whole.test.inputs])
    label = torch.cat([whole.train_labels, whole.test_labels])
    inside = torch.isin(label, torch.tensor(positive + negative)).nonzero().flatten()
    rows = inside[torch.randperm(len(inside), generator=g)[:n]]
    return F.adaptive_avg_pool2d(x[rows], side), torch.isin(label[rows], torch.tensor(positive)).long()


def bundled(n: int, g: torch.Generator, side: int, *, name: str) -> tuple[Tensor, Tensor]:
    """All rows of a table that comes with scikit-learn, shuffled."""
    from sklearn import datasets

    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = torch.randperm(len(x), generator=g)
    target = torch.as_tensor(y)
    return torch.as_tensor(x).float()[rows], (target.float() if target.is_floating_point() else target.long())[rows]


def generated(n: int, g: torch.Generator, side: int, *, name: str, noise: float) -> tuple[Tensor, Tensor]:
    """A table that scikit-learn generates: Friedman's second or third function (1991) of four numbers, 1,000 rows."""
    from sklearn import datasets

    state = int(torch.randint(0, 2**31, (1,), generator=g))
    x, y = getattr(datasets, f"make_{name}")(n_samples=1000, noise=noise, random_state=state)
    return torch.as_tensor(x).float(), torch.as_tensor(y).float()


def friedman(n: int, g: torch.Generator, side: int, *, noise: float = 1.0) -> tuple[Tensor, Tensor]:
    """A table for development: Friedman's first function (1991) of ten numbers."""
    x = torch.rand(440, 10, generator=g)
    y = 10 * (torch.pi * x[:, 0] * x[:, 1]).sin() + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, y + noise * torch.randn(440, generator=g)


def _pair(name: str, positive: list[int], negative: list[int], seed: int) -> Problem:
    return Problem(published, {"name": name, "positive": positive, "negative": negative}, seed)


HELD_OUT: dict[str, Problem] = {
    "local product anywhere": Problem(products, {"channels": 3, "size": 3}, 9501, "gap"),
    "pattern somewhere": Problem(pattern, {"amplitude": 4.6}, 9502, "gap"),
    "local product by place": Problem(products, {"channels": 2, "size": 3, "anywhere": False}, 9503, "vec"),
    "neighbours at 20 places": Problem(neighbours, {"sites": 20}, 9504, "vec"),
    "polynomial of one direction": Problem(polynomial, {"quadratic": 0.8}, 9505, "fcn"),
    "polynomial of six directions": Problem(polynomial, {"directions": 6, "quadratic": 0.35}, 9506, "fcn"),
    "digits a multiple of three or not": _pair("digits", [0, 3, 6, 9], [1, 2, 4, 5, 7, 8], 9507),
    "digits with an e or not": _pair("digits", [0, 1, 3, 5, 7, 8, 9], [2, 4, 6], 9508),
    "MNIST 0 or 6": _pair("mnist", [0], [6], 9509),
    "MNIST 0, 2, 6 or 4, 8, 9": _pair("mnist", [0, 2, 6], [4, 8, 9], 9510),
    "Fashion pullover or shirt": _pair("fashion_mnist", [2], [6], 9511),
    "Fashion bag or boot": _pair("fashion_mnist", [8], [9], 9512),
    "CIFAR frog or horse": _pair("cifar10", [6], [7], 9513),
    "CIFAR ship or truck": _pair("cifar10", [8], [9], 9514),
    "diabetes": Problem(bundled, {"name": "diabetes"}, 9515, table=True),
    "wine": Problem(bundled, {"name": "wine"}, 9516, table=True),
    "breast cancer": Problem(bundled, {"name": "breast_cancer"}, 9517, table=True),
    "iris": Problem(bundled, {"name": "iris"}, 9518, table=True),
    "impedance (Friedman 2)": Problem(generated, {"name": "friedman2", "noise": 100.0}, 9519, table=True),
    "phase (Friedman 3)": Problem(generated, {"name": "friedman3", "noise": 0.18}, 9520, table=True),
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


def draw(name: str, n_train: int, n_test: int, side: int, split: int = 0) -> data.Dataset:
    """Training and test split of a problem; tables give 4/5 of their rows to training, another 4/5 at each ``split``."""
    problem = (HELD_OUT | DEVELOPMENT)[name]
    x, y = problem.make(n_train + n_test, torch.Generator().manual_seed(problem.seed), side, **problem.options)
    if problem.table:
        turn = torch.randperm(len(x), generator=torch.Generator().manual_seed(split))
        x, y = x[turn], y[turn]
        n_train = min(n_train, 4 * (len(x) // 5))
    classes = None if y.is_floating_point() else ("parity" if len(y.unique()) == 2 else "classes")
    if classes is None:
        y = (y - y[:n_train].mean()) / y[:n_train].std()
    rest = (x[n_train:], y[n_train:].numpy())
    return data.from_arrays(x[:n_train], y[:n_train].numpy(), test=rest, classes=classes, name=name).standardised()

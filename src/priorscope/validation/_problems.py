"""Problems to try the profile on: made for one architecture each, parts of published image sets, tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from priorscope import data
from priorscope.data import friedman_table, hidden_pattern, local_products, neighbour_products, random_polynomial
from priorscope.lab import Point

__all__ = ["DEVELOPMENT", "HELD_OUT", "Problem", "draw"]


@dataclass(frozen=True)
class Problem:
    """How to draw samples; ``known`` is the family the problem was made for (None: nobody knows); ``seed`` fixes its function."""

    make: Callable[..., tuple[Tensor, Tensor]]
    options: Point
    seed: int = 0
    known: str | None = None
    table: bool = False


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


def friedman(n: int, g: torch.Generator, side: int) -> tuple[Tensor, Tensor]:
    """A table for development: Friedman's first function (1991) of ten numbers, 440 rows."""
    return friedman_table(440, g)


def _pair(name: str, positive: list[int], negative: list[int], seed: int) -> Problem:
    return Problem(published, {"name": name, "positive": positive, "negative": negative}, seed)


HELD_OUT: dict[str, Problem] = {
    "local product anywhere": Problem(local_products, {"channels": 3, "size": 3}, 9501, "gap"),
    "pattern somewhere": Problem(hidden_pattern, {"amplitude": 4.6}, 9502, "gap"),
    "local product by place": Problem(local_products, {"channels": 2, "size": 3, "anywhere": False}, 9503, "vec"),
    "neighbours at 20 places": Problem(neighbour_products, {"sites": 20}, 9504, "vec"),
    "polynomial of one direction": Problem(random_polynomial, {"quadratic": 0.8}, 9505, "fcn"),
    "polynomial of six directions": Problem(random_polynomial, {"directions": 6, "quadratic": 0.35}, 9506, "fcn"),
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
    "dev product anywhere": Problem(local_products, {"channels": 2}, 101, "gap"),
    "dev pattern": Problem(hidden_pattern, {"amplitude": 5.5}, 102, "gap"),
    "dev product by place": Problem(local_products, {"size": 1, "anywhere": False}, 103, "vec"),
    "dev polynomial": Problem(random_polynomial, {}, 104, "fcn"),
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

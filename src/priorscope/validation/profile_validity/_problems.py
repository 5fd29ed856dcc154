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
    """How to draw samples; ``known`` is the family the problem was made for (None: nobody knows); ``seed`` fixes its function.

    ``real``: measured by somebody, not made by a formula; ``image``: inputs have positions, and kernels cost more.
    """

    make: Callable[..., tuple[Tensor, Tensor]]
    options: Point
    seed: int = 0
    known: str | None = None
    real: bool = False
    image: bool = True


def published(n: int, g: torch.Generator, side: int, *, name: str, classes: list[int]) -> tuple[Tensor, Tensor]:
    """Some classes of a published image set, averaged to a few pixels; labels count the classes in the order given."""
    whole = data.digits() if name == "digits" else getattr(data, name)(size=max(side, 8))
    assert whole.train_labels is not None
    assert whole.test_labels is not None
    x = torch.cat([whole.inputs, whole.test.inputs])
    label = torch.cat([whole.train_labels, whole.test_labels])
    inside = torch.isin(label, torch.tensor(classes)).nonzero().flatten()
    rows = inside[torch.randperm(len(inside), generator=g)[:n]]
    named = (label[rows, None] == torch.tensor(classes)).long().argmax(1)
    return F.adaptive_avg_pool2d(x[rows], side), named


def keel(n: int, g: torch.Generator, side: int, *, name: str) -> tuple[Tensor, Tensor]:
    """Rows of a table of the KEEL repository, shuffled."""
    whole = data.keel(name)
    assert whole.train_labels is not None
    assert whole.test_labels is not None
    x = torch.cat([whole.inputs, whole.test.inputs])
    label = torch.cat([whole.train_labels, whole.test_labels])
    rows = torch.randperm(len(x), generator=g)[:n]
    return x[rows], label[rows]


def generated(n: int, g: torch.Generator, side: int, *, name: str, noise: float) -> tuple[Tensor, Tensor]:
    """A table that scikit-learn generates: Friedman's second or third function (1991) of four numbers."""
    from sklearn import datasets

    state = int(torch.randint(0, 2**31, (1,), generator=g))
    x, y = getattr(datasets, f"make_{name}")(n_samples=n, noise=noise, random_state=state)
    return torch.as_tensor(x).float(), torch.as_tensor(y).float()


def friedman(n: int, g: torch.Generator, side: int) -> tuple[Tensor, Tensor]:
    """A table for development: Friedman's first function (1991) of ten numbers."""
    return friedman_table(n, g)


def _images(name: str, classes: list[int], seed: int) -> Problem:
    return Problem(published, {"name": name, "classes": classes}, seed, real=True)


def _table(name: str, seed: int) -> Problem:
    return Problem(keel, {"name": name}, seed, real=True, image=False)


HELD_OUT: dict[str, Problem] = {
    "local product anywhere": Problem(local_products, {"channels": 3, "size": 3}, 9701, "gap"),
    "pattern somewhere": Problem(hidden_pattern, {"amplitude": 4.8}, 9702, "gap"),
    "local product by place": Problem(local_products, {"channels": 2, "size": 3, "anywhere": False}, 9703, "vec"),
    "neighbours at 18 places": Problem(neighbour_products, {"sites": 18}, 9704, "vec"),
    "polynomial of two directions": Problem(random_polynomial, {"directions": 2, "quadratic": 0.7}, 9705, "fcn"),
    "polynomial of five directions": Problem(random_polynomial, {"directions": 5, "quadratic": 0.4}, 9706, "fcn"),
    "phase (Friedman 3)": Problem(generated, {"name": "friedman3", "noise": 0.15}, 9707, image=False),
    "MNIST, ten classes": _images("mnist", list(range(10)), 9708),
    "MNIST 3, 5, 8 or 9": _images("mnist", [3, 5, 8, 9], 9709),
    "Fashion, ten classes": _images("fashion_mnist", list(range(10)), 9710),
    "Fashion, four tops": _images("fashion_mnist", [0, 2, 4, 6], 9711),
    "CIFAR, four vehicles": _images("cifar10", [0, 1, 8, 9], 9712),
    "CIFAR, six animals": _images("cifar10", [2, 3, 4, 5, 6, 7], 9713),
    "chess": _table("chess", 9714),
    "segment": _table("segment", 9715),
    "contraceptive": _table("contraceptive", 9716),
    "yeast1": _table("yeast1", 9717),
    "magic": _table("magic", 9718),
    "marketing": _table("marketing", 9719),
    "mushroom": _table("mushroom", 9720),
    "optdigits": _table("optdigits", 9721),
    "phoneme": _table("phoneme", 9722),
    "texture": _table("texture", 9723),
    "page-blocks0": _table("page-blocks0", 9724),
    "winequality-red-4": _table("winequality-red-4", 9725),
    "abalone, 20 against 8 to 10": _table("abalone-20_vs_8-9-10", 9726),
    "cars, very good or not": _table("car-vgood", 9727),
}
DEVELOPMENT: dict[str, Problem] = {
    "dev product anywhere": Problem(local_products, {"channels": 2}, 101, "gap"),
    "dev pattern": Problem(hidden_pattern, {"amplitude": 5.5}, 102, "gap"),
    "dev product by place": Problem(local_products, {"size": 1, "anywhere": False}, 103, "vec"),
    "dev polynomial": Problem(random_polynomial, {}, 104, "fcn"),
    "dev digits": _images("digits", list(range(10)), 105),
    "dev MNIST": _images("mnist", [2, 7], 106),
    "dev Fashion": _images("fashion_mnist", [1, 3, 5, 7], 107),
    "dev CIFAR": _images("cifar10", [3, 6, 9], 108),
    "dev Friedman": Problem(friedman, {}, 109, image=False),
    "dev banana": _table("banana", 110),
    "dev ring": _table("ring", 111),
    "dev twonorm": _table("twonorm", 112),
}


def draw(name: str, n_train: int, n_test: int, side: int) -> data.Dataset:
    """Training and test split of a problem; where rows are too few for both, the test set is what is left."""
    problem = (HELD_OUT | DEVELOPMENT)[name]
    x, y = problem.make(n_train + n_test, torch.Generator().manual_seed(problem.seed), side, **problem.options)
    rest = (x[n_train:], y[n_train:].numpy())
    classes = None if y.is_floating_point() else "classes"
    return data.from_arrays(x[:n_train], y[:n_train].numpy(), test=rest, classes=classes, name=name).standardised()

"""Problems to try the profile on: made for one architecture each, parts of published image sets, tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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


def rtable(
    n: int, g: torch.Generator, side: int, *, name: str, target: str, without: Sequence[str]
) -> tuple[Tensor, Tensor]:
    """Rows of a table that comes with a package of R, shuffled."""
    whole = data.rdatasets(name, target, without=tuple(without))
    rows = torch.randperm(len(whole.train), generator=g)[:n]
    known = whole.targets[:, 0] if whole.train_labels is None else whole.train_labels
    return whole.inputs[rows], known[rows]


def noisy(
    n: int, g: torch.Generator, side: int, *, make: Callable[..., tuple[Tensor, Tensor]], share: float, **options: Any
) -> tuple[Tensor, Tensor]:
    """Samples of a formula with Gaussian noise on the numbers to be predicted, a share of their variance."""
    x, y = make(n, g, side, **options)
    return x, y + (share * y.var()).sqrt() * torch.randn(y.shape, generator=g)


def friedman(n: int, g: torch.Generator, side: int) -> tuple[Tensor, Tensor]:
    """A table for development: Friedman's first function (1991) of ten numbers."""
    return friedman_table(n, g)


def _images(name: str, classes: list[int], seed: int) -> Problem:
    return Problem(published, {"name": name, "classes": classes}, seed, real=True)


def _table(name: str, seed: int) -> Problem:
    return Problem(keel, {"name": name}, seed, real=True, image=False)


def _made(make: Callable[..., tuple[Tensor, Tensor]], options: Point, seed: int, known: str | None) -> Problem:
    """A formula of ours whose numbers have some noise, a tenth of their variance."""
    return Problem(noisy, {"make": make, "share": 0.1, **options}, seed, known)


def _r(name: str, target: str, seed: int, *without: str) -> Problem:
    return Problem(rtable, {"name": name, "target": target, "without": without}, seed, real=True, image=False)


HELD_OUT: dict[str, Problem] = {
    "local product anywhere": _made(local_products, {"channels": 2, "size": 2}, 9901, "gap"),
    "pattern somewhere": Problem(hidden_pattern, {"amplitude": 5.2}, 9902, "gap"),
    "neighbours at 12 places": _made(neighbour_products, {"sites": 12}, 9903, "vec"),
    "polynomial of three directions": _made(random_polynomial, {"directions": 3, "quadratic": 0.6}, 9904, "fcn"),
    "MNIST 1, 4, 7 or 9": _images("mnist", [1, 4, 7, 9], 9905),
    "MNIST 0, 2, 3, 5, 6 or 8": _images("mnist", [0, 2, 3, 5, 6, 8], 9906),
    "Fashion, three shoes": _images("fashion_mnist", [5, 7, 9], 9907),
    "Fashion, five clothes": _images("fashion_mnist", [0, 1, 2, 3, 4], 9908),
    "CIFAR, bird, deer, frog or horse": _images("cifar10", [2, 4, 6, 7], 9909),
    "CIFAR, ten classes": _images("cifar10", list(range(10)), 9910),
    "price of computers": _r("Ecdat/Computers", "price", 9911),
    "wages, US": _r("Ecdat/Wages", "lwage", 9912),
    "wages, Belgium": _r("Ecdat/Bwages", "wage", 9913),
    "share of food, Italy": _r("Ecdat/BudgetItaly", "wfood", 9914, "whouse", "wmisc"),
    "share of food, UK": _r("Ecdat/BudgetUK", "wfood", 9915, "wfuel", "wcloth", "walc", "wtrans", "wother"),
    "wages of young men": _r("Ecdat/Males", "wage", 9916, "nr"),
    "other income of households": _r("Ecdat/Workinghours", "income", 9917),
    "wages, Ontario": _r("car/SLID", "wages", 9918),
    "nitrogen oxides": _r("robustbase/NOxEmissions", "LNOx", 9919),
    "magnitude of earthquakes": _r("datasets/quakes", "mag", 9920),
    "language test": _r("MASS/nlschools", "lang", 9921, "class"),
    "returns to schooling": _r("Ecdat/Schooling", "lwage76", 9922, "wage76"),
    "mathematics test": _r("Ecdat/Star", "tmathssk", 9923, "treadssk", "schidkn"),
    "spending on food, Vietnam": _r("Ecdat/VietNamH", "lnrlfood", 9924, "commune"),
    "employment of firms": _r("plm/Snmesp", "n", 9925, "firm"),
    "sales of cigarettes": _r("Ecdat/Cigar", "sales", 9926, "state"),
    "size of spruces": _r("geepack/spruce", "logsize", 9927, "id"),
    "light chains in serum": _r("survival/flchain", "lambda", 9928),
    "spending of municipalities": _r("Ecdat/MunExp", "expend", 9929, "id"),
    "radar image": _r("robustbase/radarImage", "Band.1", 9930),
    "mortgages denied": _r("Ecdat/Hdma", "deny", 9931),
    "plebiscite in Chile": _r("car/Chile", "vote", 9932),
    "turnout at elections": _r("Zelig/turnout", "vote", 9933),
    "unemployment benefits": _r("Ecdat/Benefits", "ui", 9934, "stateur", "statemb", "state"),
    "mode of fishing": _r("Ecdat/Fishing", "mode", 9935),
    "election in Mexico": _r("Zelig/mexico", "vote88", 9936),
    "relapse of Wilms' tumour": _r("survival/nwtco", "rel", 9937, "seqno", "edrel"),
    "choice of yogurt": _r("Ecdat/Yogurt", "choice", 9938, "id"),
    "choice of ketchup": _r("Ecdat/Catsup", "choice", 9939, "id"),
    "personality and gender": _r("psych/bfi", "gender", 9940),
    "health insurance, Australia": _r("Ecdat/DoctorAUS", "insurance", 9941),
    "health insurance of wives": _r("Ecdat/HI", "hhi", 9942),
    "choice of crackers": _r("Ecdat/Cracker", "choice", 9943, "id"),
    "who is trained": _r("Ecdat/Treatment", "treat", 9944),
    "german": _table("german", 9945),
    "vowel": _table("vowel", 9946),
    "yeast3": _table("yeast3", 9947),
    "segment, one against the rest": _table("segment0", 9948),
    "king and rook, drawn or not": _table("kr-vs-k-zero-one_vs_draw", 9949),
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

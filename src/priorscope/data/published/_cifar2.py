"""CIFAR-2: CIFAR-10 with two classes, animal or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from priorscope.checks import SEED, checked, whole
from priorscope.data._dataset import Dataset, Split
from priorscope.data.published._published import cifar10

__all__ = ["cifar2"]

ANIMALS = (2, 3, 4, 5, 6, 7)  # bird, cat, deer, dog, frog, horse


@checked(n_per_class=whole(), n_test_per_class=whole(0), size=whole(), channels=whole(), seed=SEED)
def cifar2(
    n_per_class: int = 5000,
    n_test_per_class: int = 2000,
    *,
    folder: str | Path | None = None,
    size: int = 32,
    channels: int = 3,
    seed: int = 0,
) -> Dataset:
    """``n_per_class`` random animals (+1) and as many other images (−1) of CIFAR-10.

    Default 5,000 per class, from the geometric invariance hypothesis paper, Sec. 3. Arguments as for ``cifar10``.

    Example:
        >>> cifar2(folder="nowhere")
        Traceback (most recent call last):
        FileNotFoundError: no folder nowhere with the .bin files of cifar10.
    """
    whole = cifar10(folder=folder, size=size, channels=channels)
    assert whole.train_labels is not None
    assert whole.test_labels is not None
    generator = torch.Generator().manual_seed(seed)
    train = _balanced(whole.train_labels, n_per_class, generator)
    test = _balanced(whole.test_labels, n_test_per_class, generator)
    chosen = whole.take(train, test)
    splits, labels = [], []
    for split, label in ((chosen.train, chosen.train_labels), (chosen.test, chosen.test_labels)):
        assert label is not None
        animal = torch.isin(label, torch.tensor(ANIMALS))
        splits.append(Split(split.inputs, torch.where(animal, 1.0, -1.0)[:, None]))
        labels.append(animal.long())
    return replace(
        chosen,
        train=splits[0],
        test=splits[1],
        name="cifar2",
        classes=("thing", "animal"),
        train_labels=labels[0],
        test_labels=labels[1],
    )


def _balanced(labels: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """Row numbers of ``n`` random animals and ``n`` random things, shuffled together."""
    animal = torch.isin(labels, torch.tensor(ANIMALS))
    rows = []
    for group in (torch.nonzero(animal)[:, 0], torch.nonzero(~animal)[:, 0]):
        if n > len(group):
            raise ValueError(f"cifar2 has at most {len(group)} images of this kind; got {n} a class.")
        rows.append(group[torch.randperm(len(group), generator=generator)[:n]])
    joined = torch.cat(rows)
    return joined[torch.randperm(len(joined), generator=generator)]

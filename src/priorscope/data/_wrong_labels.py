"""Labels made wrong on purpose, to see what a learning system does about it."""

from __future__ import annotations

from dataclasses import replace

import torch

from priorscope.checks import SEED, checked, number
from priorscope.data._dataset import Dataset, Split

__all__ = ["with_wrong_labels"]


@checked(share=number(least=0, below=1), seed=SEED)
def with_wrong_labels(data: Dataset, share: float, *, seed: int = 0, test: bool = False) -> Dataset:
    """The data set with this share of its training labels, drawn at random, replaced by another class at random.

    Every class is as probable as any other that is not the true one, and targets change with the labels. The test split stays
    as it is, or with ``test`` is changed at the same rate: what new samples of the same source would look like.

    Example:
        >>> from priorscope.data import digits
        >>> clean = digits().subset(100, seed=0)
        >>> noisy = with_wrong_labels(clean, 0.2)
        >>> int((noisy.train_labels != clean.train_labels).sum()), bool((noisy.test_labels == clean.test_labels).all())
        (20, True)
    """
    labels = data.train_labels
    if labels is None or len(labels.unique()) < 2:
        raise ValueError(
            "with_wrong_labels needs labels of two classes or more; this data set has none, or one class only. "
            "Take a classification data set."
        )
    kinds, first = labels.unique(), []
    for c in kinds:
        first.append(int((labels == c).nonzero()[0]))
    rows = data.train.targets[first]  # the target of each class
    if not bool((data.train.targets == rows[torch.searchsorted(kinds, labels)]).all()):
        raise ValueError("with_wrong_labels needs one target per class; here samples of one class have several.")
    generator = torch.Generator().manual_seed(seed)

    def changed(split: Split, given: torch.Tensor) -> tuple[Split, torch.Tensor]:
        n = round(share * len(given))
        chosen = torch.randperm(len(given), generator=generator)[:n]
        shift = torch.randint(1, len(kinds), (n,), generator=generator)
        place = torch.searchsorted(kinds, given)
        place[chosen] = (place[chosen] + shift) % len(kinds)
        return Split(split.inputs, rows[place]), kinds[place]

    train, train_labels = changed(data.train, labels)
    found = replace(data, train=train, train_labels=train_labels)
    if not test:
        return found
    if data.test_labels is None or not bool(torch.isin(data.test_labels, kinds).all()):
        raise ValueError("with_wrong_labels(test=True) needs test labels of the classes of the training split.")
    split, test_labels = changed(data.test, data.test_labels)
    return replace(found, test=split, test_labels=test_labels)

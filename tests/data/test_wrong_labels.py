"""Labels made wrong on purpose: as many as asked for, never the true class, targets with them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from priorscope.data import digits, gaussian_clusters, with_wrong_labels


def test_the_share_is_exact_and_targets_follow_the_labels():
    clean = digits().subset(200, seed=0, n_test=100)
    noisy = with_wrong_labels(clean, 0.3, seed=1)
    wrong = noisy.train_labels != clean.train_labels
    assert int(wrong.sum()) == 60
    assert (noisy.targets.argmax(1) == noisy.train_labels).all()
    assert torch.equal(noisy.targets[~wrong], clean.targets[~wrong])
    assert torch.equal(noisy.inputs, clean.inputs)
    assert torch.equal(noisy.test_labels, clean.test_labels)
    assert not torch.equal(with_wrong_labels(clean, 0.3, seed=2).train_labels, noisy.train_labels)


def test_every_other_class_is_equally_probable():
    clean = gaussian_clusters(6000, classes=4, components=1, dim=2)
    noisy = with_wrong_labels(clean, 0.5, seed=0)
    wrong = noisy.train_labels != clean.train_labels
    shift = (noisy.train_labels - clean.train_labels)[wrong] % 4
    counts = torch.bincount(shift, minlength=4).double()
    assert counts[0] == 0
    assert ((counts[1:] - 1000).abs() < 5 * (3000 * 2 / 9) ** 0.5).all()  # five standard deviations of a binomial


def test_parity_targets_and_the_test_split_may_change_too():
    clean = digits(classes="parity").subset(100, seed=0, n_test=100)
    noisy = with_wrong_labels(clean, 0.2, test=True)
    assert int((noisy.test_labels != clean.test_labels).sum()) == 20
    assert ((noisy.test.targets[:, 0] > 0) == (noisy.test_labels % 2 == 0)).all()


def test_what_has_no_classes_is_refused():
    numbers = digits(classes="real").subset(20, seed=0, n_test=0)
    numbers = replace(numbers, train_labels=None, classes=None, task="regression")
    with pytest.raises(ValueError, match="labels of two classes or more"):
        with_wrong_labels(numbers, 0.1)
    clean = digits().subset(60, seed=0, n_test=10)
    with pytest.raises(ValueError, match="one target per class"):
        with_wrong_labels(replace(clean, train=replace(clean.train, targets=torch.rand(60, 10))), 0.1)
    with pytest.raises(ValueError, match="share"):
        with_wrong_labels(clean, 1.0)

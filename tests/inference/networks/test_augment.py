"""Augmentation in gradient descent: every batch is changed before it is used, reproducibly."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from priorscope.data import Deform, deformed_templates
from priorscope.inference import GradientDescent
from priorscope.models import dense


def test_training_on_changed_inputs_is_training_on_changed_data():
    x = torch.randn(12, 3, generator=torch.Generator().manual_seed(0))
    y = x[:, :1]
    net = torch.nn.Linear(3, 1)
    moved = GradientDescent(0.1, 20, batch_size=4, augment=lambda b: 2 * b).fit(
        net, SimpleNamespace(inputs=x, targets=y)
    )
    other = GradientDescent(0.1, 20, batch_size=4).fit(net, SimpleNamespace(inputs=2 * x, targets=y))
    assert torch.equal(moved.params, other.params)
    whole = GradientDescent(0.1, 20, augment=lambda b: 2 * b).fit(net, SimpleNamespace(inputs=x, targets=y))
    assert not torch.equal(whole.params, GradientDescent(0.1, 20).fit(net, SimpleNamespace(inputs=x, targets=y)).params)
    with pytest.raises(ValueError, match="augment changes inputs, whose first outputs centre=True has stored"):
        GradientDescent(augment=lambda b: b, centre=True)


def test_random_augmentation_follows_the_seed():
    data = deformed_templates(40, 10, size=8, n_classes=3, seed=1)
    descent = GradientDescent(1e-2, 5, batch_size=16, loss="logistic", augment=Deform(0.7, 2))
    net = dense(1, 8).network(data.input_shape, outputs=3)
    first, again, other = (descent.fit(net, data, seed=s).params for s in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_templates_are_their_classes():
    data = deformed_templates(60, 40, size=10, n_classes=4, temperature=0.0, noise=0.0, seed=2)
    for k in range(4):
        images = torch.cat([data.inputs[data.train_labels == k], data.test.inputs[data.test_labels == k]])
        assert (images == images[0]).all()
    moved = deformed_templates(60, 40, size=10, n_classes=4, seed=2)
    assert (moved.inputs - data.inputs).std() > 0.3
    with pytest.raises(ValueError, match="n_classes >= 2"):
        deformed_templates(n_classes=1)

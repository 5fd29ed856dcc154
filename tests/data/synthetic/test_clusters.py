"""Gaussian clusters: centres of unit length, the deviation asked for, the same centres in both splits."""

from __future__ import annotations

import pytest
import torch

from priorscope.data import gaussian_clusters


def test_without_spread_there_are_as_many_points_as_clusters():
    data = gaussian_clusters(60, 30, classes=3, components=2, dim=7, spread=0.0, seed=3)
    both = torch.cat([data.inputs, data.test.inputs])
    assert len(both.unique(dim=0)) == 6
    torch.testing.assert_close(both.norm(dim=1), torch.ones(90, dtype=torch.float64))
    assert data.train_labels.bincount().tolist() == [20, 20, 20]
    for point in both.unique(dim=0):  # all samples of a cluster have one label
        assert len(data.train_labels[(data.inputs == point).all(1)].unique()) == 1


def test_the_deviation_has_the_length_asked_for():
    still = gaussian_clusters(4000, classes=2, components=1, dim=10, spread=0.0, seed=1)
    moved = gaussian_clusters(4000, classes=2, components=1, dim=10, spread=0.5, seed=1)
    square = (moved.inputs - still.inputs).square().sum(1)
    assert abs(float(square.mean()) - 0.25) < 5 * float(square.std()) / 4000**0.5
    assert float(square.mean()) == pytest.approx(0.25, rel=0.05)

"""Boundaries of functions whose zeros are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from priorscope.probes import boundary_distance, boundary_shift


def test_two_planes():
    x = torch.randn(400, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    w = torch.tensor([[2.0], [1.0], [2.0]], dtype=torch.float64)  # norm 3
    found = boundary_distance(lambda v: v @ w - 0.6, lambda v: v @ w, x)
    between = ((x @ w)[:, 0] > 0) & ((x @ w)[:, 0] < 0.6)
    assert len(found.shift) == int(between.sum()) > 10
    np.testing.assert_allclose(found.shift, 0.2)  # the planes are 0.6 / 3 apart everywhere
    assert found.estimate == pytest.approx(0.2)
    np.testing.assert_allclose(found.crossing, found.linear, rtol=1e-6)  # a plane is its own first order
    np.testing.assert_allclose(found.crossing, (0.6 - (x @ w)[between, 0]).numpy() / 3, rtol=1e-6)
    assert found.disagreement == len(found.shift) / 400
    assert list(found.table()) == ["shift", "linear", "crossing"]
    assert found.chart().to_dict()


def test_a_curved_boundary_is_found_where_it_is_and_none_where_there_is_none():
    x = torch.tensor([[2.0], [0.1]], dtype=torch.float64)
    found = boundary_distance(lambda v: v**2 - 1, lambda v: -torch.ones_like(v), x)  # zero at 1, from 2 one away
    np.testing.assert_allclose(found.crossing, [1.0], rtol=1e-6)
    np.testing.assert_allclose(found.linear, [0.75])
    never = boundary_distance(lambda v: v**2 + 1, lambda v: -torch.ones_like(v), x)
    assert np.isnan(never.crossing).all()
    same = boundary_distance(lambda v: v, lambda v: v, x)
    assert np.isnan(same.distance)
    assert same.disagreement == 0


def test_messages():
    with pytest.raises(ValueError, match="one output"):
        boundary_distance(lambda v: v, lambda v: v, torch.ones(2, 3))
    with pytest.raises(ValueError, match=r"gradients \(n, d\)"):
        boundary_shift(np.ones(3), np.ones(3), np.ones(3))


def test_where_the_gradient_vanishes_no_boundary_is_near():
    shift, estimate = boundary_shift(np.array([-1.0, -1.0]), np.array([[0.0], [2.0]]), np.array([1.0, 1.0]))
    assert np.isnan(shift[0])  # was infinite, with a warning of a division by zero
    assert shift[1] == 1.0
    assert np.isfinite(estimate)
    x = torch.tensor([[-1.0], [0.5], [2.0]])
    found = boundary_distance(lambda v: torch.relu(v) - 1, lambda v: v + 3, x)  # off at -1
    assert found.undefined == 1
    assert np.isnan([found.shift[0], found.linear[0], found.crossing[0]]).all()
    assert found.distance == pytest.approx(4.0)
    assert found.crossing[1] == pytest.approx(0.5, abs=1e-4)

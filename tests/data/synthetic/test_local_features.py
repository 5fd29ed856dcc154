"""The labels are local, shift-invariant, balanced, and not invariant to what they should not be."""

from __future__ import annotations

import pytest
import torch

from priorscope.data import groups, local_features
from priorscope.data.synthetic._local_features import _local_product


def test_labels_are_a_shift_invariant_local_function() -> None:
    data = local_features(300, 200, seed=1)
    assert abs(float(data.targets.mean())) < 0.2
    filters = torch.randn(2, 3, 2, 2, generator=torch.Generator().manual_seed(0))
    value = _local_product(data.inputs, filters)
    shift = groups.translations((3, 8, 8)).sample_haar(seed=3)
    torch.testing.assert_close(_local_product(shift(data.inputs), filters), value, atol=1e-4, rtol=1e-4)
    rotated = groups.shared_orthogonal((3, 8, 8)).sample_haar(seed=3)(data.inputs)
    assert float((_local_product(rotated, filters) - value).abs().mean()) > 0.1  # control
    noisy = local_features(300, 200, seed=1, noise=0.3)
    assert 0.2 < float((noisy.targets != data.targets).double().mean()) < 0.4
    assert torch.equal(noisy.test.targets, data.test.targets)


def test_sizes_are_those_asked_for() -> None:
    data = local_features(6, 4, size=5, channels=2)
    assert data.input_shape == (2, 5, 5)
    assert (len(data.train), len(data.test)) == (6, 4)


def test_errors() -> None:
    with pytest.raises(ValueError, match="n_train >= 2; got 1"):
        local_features(1, 5)

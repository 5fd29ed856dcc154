"""Data made ready for a pilot: everything is in the units of the training samples."""

from __future__ import annotations

import numpy as np
import torch

from priorscope.data import from_arrays
from priorscope.probes.curves.pilot import prepare


def test_targets_of_training_and_test_are_in_the_unit_of_the_training_ones() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)), 7 + 40 * rng.normal(size=60)
    data = from_arrays(x[:40], y[:40], test=(x[40:], y[40:]), dtype=torch.float64)
    ready = prepare(data)
    mean, std = y[:40].mean(), y[:40].std(ddof=1)
    np.testing.assert_allclose(ready.data.targets[:, 0], (y[:40] - mean) / std)
    np.testing.assert_allclose(ready.data.test.targets[:, 0], (y[40:] - mean) / std)
    np.testing.assert_allclose(ready.unit, std)
    np.testing.assert_allclose(ready.original.targets[:, 0], y[:40])


def test_classes_keep_their_targets() -> None:
    rng = np.random.default_rng(0)
    data = from_arrays(rng.normal(size=(40, 3)), rng.integers(0, 2, 40))
    ready = prepare(data, 20)
    assert torch.equal(ready.data.targets, data.targets)
    assert (ready.unit, ready.pilot) == (None, 20)

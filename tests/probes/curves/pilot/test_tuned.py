"""The best ridge at every training size: against regressions done one by one, and against the hump it removes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.probes.curves.pilot import prepare, ridge_grid, tuned_regression


def _noisy_line(n: int, dim: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A linear kernel in ``dim`` dimensions (and a little of the identity), a linear target and noise as large."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, dim))
    y = x @ rng.standard_normal((dim, 1)) / dim**0.5 + rng.standard_normal((n, 1))
    return x @ x.T / dim + 1e-3 * np.eye(n), y


def test_last_size_is_the_best_of_regressions_that_leave_one_out() -> None:
    gram, y = _noisy_line(24, 5, 0)
    nested, ridges = tuned_regression(gram, y, np.array([6, 12]))
    by_hand = []
    for ridge in ridge_grid(gram):
        errors = []
        for i in range(24):
            rest = np.delete(np.arange(24), i)
            weights = np.linalg.solve(gram[np.ix_(rest, rest)] + ridge * np.eye(23), y[rest])
            errors.append(float(((gram[i, rest] @ weights - y[i]) ** 2)[0]))
        by_hand.append(np.mean(errors))
    assert nested.loss[-1].mean() == pytest.approx(min(by_hand), rel=1e-8)
    assert ridges[-1] == ridge_grid(gram)[int(np.argmin(by_hand))]
    assert ridges[-1] > 0  # the control: with this much noise a ridge is needed


def test_tuned_ridge_removes_the_hump() -> None:
    gram, y = _noisy_line(160, 40, 1)
    split = ps.data.Split(torch.arange(160.0)[:, None], torch.as_tensor(y))
    data = ps.data.Dataset(split, split, task="regression")
    bare = ps.probes.learning_curve(data, gram)
    tuned = ps.probes.learning_curve(data, gram, ridge="tuned")
    null = float((y**2).mean())
    at_hump = int(np.abs(bare.sizes - 40).argmin())
    assert bare.error[at_hump] > 2 * null  # as many samples as dimensions
    assert tuned.error[at_hump] < 1.05 * null
    assert (tuned.error <= bare.error * 1.1).all()  # fewer orderings are averaged, so not exactly below at all sizes
    assert ps.forecast(data, gram, 640, ridge="tuned").error[0] <= tuned.error[-1] * (1 + 1e-9)
    with pytest.raises(ValueError, match="no time"):
        ps.forecast(data, gram, 640, ridge="tuned", time=1.0)
    with pytest.raises(ValueError, match="'tuned'"):
        ps.forecast(data, gram, 640, ridge="best")


@pytest.mark.parametrize("length, wanted", [(40, 40), (64, 64), (256, 64)])
def test_signals_longer_than_kernels_can_afford_are_averaged_and_shorter_ones_stay(length, wanted):
    x = torch.randn(30, 1, length, generator=torch.Generator().manual_seed(0))
    data = ps.data.from_arrays(x, torch.arange(30) % 2, layout="channels_first", test_fraction=0)
    ready = prepare(data, 20)
    assert tuple(ready.data.input_shape) == (1, wanted)

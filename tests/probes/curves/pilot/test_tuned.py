"""The best ridge at every training size: against regressions done one by one, and against the hump it removes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.probes.curves.pilot import _tuned, prepare, ridge_grid, tuned_regression
from priorscope.probes.curves.pilot._nested import Nested


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


def test_pure_noise_is_forecast_to_stay_noise() -> None:
    """Nobody predicts labels drawn at random: the best is the null error, and nine of ten are wrong, at any size."""
    rng = np.random.default_rng(0)
    x, label = torch.as_tensor(rng.normal(size=(200, 12))).float(), torch.as_tensor(rng.integers(0, 10, 200))
    found = ps.forecast(ps.data.from_arrays(x, label, test_fraction=0.0), ps.models.fcn(1), 1600, ridge="tuned")
    null = 0.09  # one of ten classes, less the mean
    assert found.curve.error[-1] == pytest.approx(null, rel=0.02)  # the largest ridge leaves 1 + O(1/30) of it
    assert found.error[0] == pytest.approx(null, rel=0.02)
    assert 0.8 < found.misclassification(1600).value <= 1.0


def test_a_low_error_at_few_samples_is_no_promise_for_many() -> None:
    """The forecast goes on from the last error on the pilot, not from the lowest before it."""
    gram = np.eye(60) + 0.5  # every sample is alike: with few of them the mean is predicted, and nothing more is learnt
    y = np.where(np.arange(60) % 2, 1.0, -1.0)[:, None]
    split = ps.data.Split(torch.arange(60.0)[:, None], torch.as_tensor(y))
    found = ps.forecast(ps.data.Dataset(split, split, task="regression"), gram, 480, pilot=60, ridge="tuned")
    lowest, last = float(found.curve.error.min()), float(found.curve.error[-1])
    assert found.error[0] <= last * (1 + 1e-9)
    beyond = found.combined[found.grid > found.curve.sizes[-1]]
    first = found.estimators_at(float(found.grid[found.grid > found.curve.sizes[-1]][0]))
    assert beyond[0] >= min(first.values()) * (1 - 1e-6)  # between its own estimators, whatever came before
    assert lowest <= last


def test_each_size_takes_everything_from_its_own_best_ridge(monkeypatch: pytest.MonkeyPatch) -> None:
    gram, y = _noisy_line(12, 3, 0)
    grid = ridge_grid(gram)

    def made(*_: object, ridge: float, **__: object) -> Nested:
        k = int(np.argmin(np.abs(grid - ridge)))
        errors = np.array([abs(k - 1), abs(k - 3)]) + 1.0  # the second ridge at the first size, the fourth at the other
        rows = np.full((2, 12), 10.0 * k)
        return Nested(
            np.array([4, 8]), errors[:, None] * np.ones((2, 12)), rows, 2 * np.ones((2, 12)), rows[:, 0], rows[:, 1], k
        )

    monkeypatch.setattr(_tuned, "nested_regression", made)
    monkeypatch.setattr(_tuned, "with_folds", lambda part, *_, **__: part)
    found, ridges = tuned_regression(gram, y, np.array([4, 8]), labels=np.zeros(12, dtype=np.int64))
    assert ridges.tolist() == [grid[1], grid[3]]
    assert found.sizes.tolist() == [4, 8]
    assert found.loss.tolist() == np.ones((2, 12)).tolist()
    for values in (found.wrong[:, 0], found.kappa, found.quadratic):
        assert values.tolist() == [10.0, 30.0]
    assert found.jitter == 3
    assert tuned_regression(gram, y, np.array([4, 8]))[0].wrong is None


def test_images_are_averaged_along_each_side_that_is_too_long() -> None:
    x = torch.randn(12, 2, 12, 5, generator=torch.Generator().manual_seed(0))
    y = torch.stack([torch.arange(12.0), torch.arange(12.0) ** 2], 1)
    data = ps.data.from_arrays(x, y, layout="channels_first", test_fraction=0.25)
    ready = prepare(data, 10, resize=6)
    assert tuple(ready.data.input_shape) == (2, 6, 5)
    pooled = data.inputs.reshape(9, 2, 6, 2, 5).mean(3)
    mean, std = pooled.mean((0, 2, 3), keepdim=True), pooled.std((0, 2, 3), correction=0, keepdim=True)
    torch.testing.assert_close(ready.data.inputs, (pooled - mean) / std)
    torch.testing.assert_close(ready.data.test.inputs, (data.test.inputs.reshape(3, 2, 6, 2, 5).mean(3) - mean) / std)
    assert any("averaged from 12×5 to 6×5" in note for note in ready.notes)
    centred = (data.targets - data.targets.mean(0)) / data.targets.std(0)
    torch.testing.assert_close(ready.data.targets, centred)
    assert ready.unit is None  # of two targets
    assert ready.pilot == 9
    one = prepare(ps.data.from_arrays(x, y[:, 1], layout="channels_first", test_fraction=0.0), 10, resize=6)
    assert one.unit == pytest.approx(float(y[:, 1].std()))
    assert tuple(one.data.test.inputs.shape) == (0, 2, 6, 5)
    wide = prepare(ps.data.from_arrays(x.mT, y[:, 1], layout="channels_first", test_fraction=0.0), 10, resize=6)
    assert tuple(wide.data.test.inputs.shape) == (0, 2, 5, 6)
    for call, words in (
        (lambda: prepare(data, 9), "at least 10 samples"),
        (lambda: prepare(ps.data.from_arrays(torch.ones(12, 2) * 3, y[:, 0], test_fraction=0.0)), "are the same"),
    ):
        with pytest.raises(ValueError, match=words):
            call()

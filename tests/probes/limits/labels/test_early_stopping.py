"""When to stop: the flow against small steps, folds against refitting, a minimum that theory knows."""

from __future__ import annotations

import numpy as np
import pytest

from priorscope.probes import early_stopping
from priorscope.probes.limits.labels._early_stopping import _flow


def laplace(x, z):
    return np.exp(-np.sqrt(((x[:, None] - z) ** 2).sum(-1)))


def problem(n, seed, noise):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    clean = np.where(x[:, :1] > 0, 1.0, -1.0)
    given = clean * np.where(rng.random((n, 1)) < noise, -1.0, 1.0)
    return laplace(x, x), given, clean


def test_the_flow_is_that_of_small_steps():
    K, y, _ = problem(12, 0, 0.2)
    train, apart = _flow(K, y, K[:3], np.array([2.0]))
    f = np.zeros_like(y)
    for _ in range(20_000):
        f = f - 1e-4 * K @ (f - y) / 12
    np.testing.assert_allclose(train[0], f, atol=1e-4)
    np.testing.assert_allclose(apart[0], f[:3], atol=1e-4)


def test_noise_asks_for_an_earlier_stop_and_makes_the_end_harmful():
    stops = [early_stopping(*problem(240, 1, noise)[:2]) for noise in (0.0, 0.2, 0.4)]
    assert stops[0].time.value > stops[1].time.value > stops[2].time.value
    assert stops[2].worth_it
    assert stops[2].harm.value > stops[1].harm.value > stops[0].harm.value
    assert "Stop training early" in stops[2].sentence()


def test_the_interval_holds_the_best_time_on_fresh_samples():
    hits, flat = 0, 0
    for seed in range(10):
        rng = np.random.default_rng([seed, 9])
        x = rng.normal(size=(2150, 3))
        clean = np.where(x[:, :1] > 0, 1.0, -1.0)
        given = clean * np.where(rng.random((2150, 1)) < 0.3, -1.0, 1.0)
        K = laplace(x, x[:150])
        found = early_stopping(K[:150], given[:150])
        mean = given[:150].mean(0)
        _, apart = _flow(K[:150], given[:150] - mean, K[150:], found.times)
        fresh = ((apart + mean - given[150:]) ** 2).sum(2).mean(1)  # labels with the same noise
        best = found.times[fresh.argmin()]
        hits += found.time.low <= best * 1.5 and best <= 1.5 * found.time.high
        flat += bool(np.interp(np.log(found.time.value), np.log(found.times), fresh) < 1.1 * fresh.min())
    assert hits >= 8
    assert flat >= 8  # within 10 %: two standard errors of 150 losses are 13 %


def test_labels_that_are_learnt_from_nothing_ask_for_no_training():
    found = early_stopping(np.eye(60), np.tile([1.0, -1.0], 30)[:, None])
    assert found.harm.value == pytest.approx(0.0, abs=1e-9)  # left-out outputs stay at the mean whatever the time
    assert not found.worth_it
    assert "no need to stop" in found.sentence()


def test_steps_table_chart_and_numbers():
    K, y, _ = problem(60, 2, 0.3)
    found = early_stopping(K, y)
    steps = found.steps(0.5)
    assert steps.value == pytest.approx(found.time.value / 0.5)
    assert 0.5 <= found.met <= 1
    assert list(found.table().columns) == ["time", "left_out", "train", "fitted"]
    assert len(found.chart().to_dict()["layer"]) == 3
    numbers = early_stopping(K, y + np.linspace(0, 1, 60)[:, None])
    assert numbers.met is None
    assert list(numbers.table().columns) == ["time", "left_out", "train"]


def test_wrong_arguments_are_told():
    with pytest.raises(ValueError, match=r"finite kernel \(12, 12\)"):
        early_stopping(np.eye(3), np.ones(12))
    with pytest.raises(ValueError, match="at least 10 samples"):
        early_stopping(np.eye(6), np.ones(6))
    with pytest.raises(ValueError, match="this one vanishes"):
        early_stopping(np.zeros((20, 20)), np.ones(20))
    with pytest.raises(ValueError, match="learning_rate"):
        early_stopping(*problem(60, 2, 0.3)[:2]).steps(0.0)

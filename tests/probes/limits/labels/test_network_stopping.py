"""When to stop a network: kernels between outputs against steps, and the forecast against a run."""

from __future__ import annotations

import numpy as np
import pytest
from torch import nn

from priorscope.data import gaussian_clusters, with_wrong_labels
from priorscope.inference import GradientDescent
from priorscope.models import OneHiddenLayer
from priorscope.probes import early_stopping, empirical_ntk, network_stopping, ntk_operator
from priorscope.probes.limits.labels import _network_stopping
from priorscope.probes.limits.labels._early_stopping import _flow


def problem(n=60, seed=0, rate=0.4, n_test=0):
    clean = gaussian_clusters(n, n_test, classes=3, components=2, dim=10, spread=0.5, seed=seed)
    return clean, with_wrong_labels(clean, rate, seed=seed, test=bool(n_test))


def test_outputs_that_do_not_meet_are_so_many_problems_of_one_kernel():
    _, data = problem()
    x, y = data.inputs.numpy(), data.targets.numpy()
    K = np.exp(-((x[:, None] - x) ** 2).sum(-1))
    full = K[:, :, None, None] * np.eye(3)
    one, all_three = early_stopping(K, y), early_stopping(full, y)
    np.testing.assert_allclose(all_three.loss, one.loss, rtol=1e-8)
    assert all_three.time.value == pytest.approx(one.time.value)
    summed = early_stopping(3 * K, y)
    assert summed.time.value == pytest.approx(
        one.time.value / 3
    )  # control: a sum over outputs is as many times too fast


def test_the_flow_between_outputs_is_that_of_small_steps():
    rng = np.random.default_rng(0)
    J = rng.normal(size=(8 * 2, 30))
    K, y = J @ J.T, rng.normal(size=(16, 1))
    train, apart = _flow(K, y, K[:4], np.array([0.2]), 2)
    f = np.zeros_like(y)
    for _ in range(20_000):
        f = f - 1e-5 * K @ (f - y) / 8  # eight samples of two outputs
    np.testing.assert_allclose(train[0], f, atol=1e-3)
    np.testing.assert_allclose(apart[0], f[:4], atol=1e-3)


def test_a_run_that_stops_there_is_close_to_the_best_it_could_do():
    _, noisy = problem(120, seed=1, n_test=1500)
    net = OneHiddenLayer(10, 300, 3, activation="relu", seed=1)
    rate = 1 / float(ntk_operator(net, noisy.inputs).top(1)[0][0])
    found = network_stopping(net, noisy.inputs, noisy.targets)
    assert found.worth_it
    assert found.n_train == 96
    assert 0.4 < found.met < 0.9  # centred one-hot targets are classes; 60 % of the labels given are right
    fitted = GradientDescent(rate, 600, centre=True, record=40, keep=("params",)).fit(net, noisy)
    steps = (fitted.trajectory.times / rate).numpy()[1:]
    loss = [
        float((fitted.predict_with(w, noisy.test.inputs)[0] - noisy.test.targets).square().sum(1).mean())
        for w in fitted.trajectory.params[1:]
    ]
    stop = found.steps(rate)
    at = float(np.interp(np.log(stop.value), np.log(steps), loss))
    assert at < 1.05 * min(loss)
    assert loss[-1] > 1.2 * min(loss)  # and it matters: trained to the end it is a fifth worse
    assert stop.low <= steps[int(np.argmin(loss))] <= stop.high


def test_directions_that_are_rounding_errors_are_never_learnt():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    y = np.sign(x[:, :1])
    exact = x @ x.T + 1  # four directions, all others zero
    noisy = exact + 1e-6 * (lambda e: e + e.T)(rng.normal(size=(60, 60)))
    clean, rounded = early_stopping(exact, y), early_stopping(noisy, y)
    last = np.searchsorted(rounded.times, clean.times[-1])
    assert rounded.loss[min(last, len(rounded.loss) - 1)] == pytest.approx(clean.loss[-1], rel=0.05)
    assert rounded.loss.max() < 2  # a flow along rounding errors would grow without bound
    assert rounded.time.value == pytest.approx(clean.time.value, rel=0.3)


def test_many_outputs_take_the_mean_of_their_kernels(monkeypatch):
    _, data = problem()
    net = OneHiddenLayer(10, 50, 3, seed=0)
    monkeypatch.setattr(_network_stopping, "LARGEST", 10)
    mean = empirical_ntk(net, data.inputs).detach().numpy() / 3
    found = network_stopping(net, data.inputs, data.targets)
    assert found.time == early_stopping(mean, data.targets.numpy()).time


def test_the_sentence_says_at_how_many_samples_and_what_is_wrong_is_refused():
    _, data = problem()
    net = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 3)).double()
    assert "48 training samples" in network_stopping(net, data.inputs, data.targets).sentence()
    with pytest.raises(ValueError, match="one target per input"):
        network_stopping(net, data.inputs, data.targets[:10])
    with pytest.raises(ValueError, match=r"\(60, 60, 3, 3\) between all outputs"):
        early_stopping(np.ones((60, 60, 2, 2)), data.targets.numpy())

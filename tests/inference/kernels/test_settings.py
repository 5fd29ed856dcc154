"""Kernels that are no kernels, ridges next to nothing, weights, and flows of many networks in windows."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.inference import FeatureMachine, GradientFlow, RidgePath, Schedule, Spectral
from priorscope.inference.kernels._feature_machine import _solve
from priorscope.inference.kernels._feature_plan import Learning
from priorscope.inference.kernels._kernel_regression import _trajectory
from priorscope.inference.ridge import solved

RNG = np.random.default_rng(0)
A = RNG.normal(size=(8, 5))
X = torch.from_numpy(RNG.normal(size=(8, 3)))
Y = RNG.normal(size=(8, 2))


def bordered(K, w, ridge):
    n = len(K)
    M = np.block([[K + ridge * np.diag(1 / w), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    found = np.linalg.solve(M, np.vstack([Y, np.zeros((1, 2))]))
    return found[:n], found[n]


def test_weighted_solutions_and_ridges_next_to_nothing():
    K, w = A @ A.T + np.eye(8), RNG.uniform(0.5, 3, 8)
    found = solved(K, Y, w, 0.3)
    alpha, b = bordered(K, w, 0.3)
    np.testing.assert_allclose(found.coefficients, alpha, rtol=1e-9)
    np.testing.assert_allclose(found.offset, b, rtol=1e-9)
    np.testing.assert_allclose(Y - (K @ alpha + b), 0.3 * alpha / w[:, None], atol=1e-9)  # as the docstring says
    H = np.eye(8) - np.outer(np.ones(8), w) / w.sum()
    root = np.sqrt(w)
    least = 1e-10 * np.trace(root[:, None] * (H @ K @ H.T) * root) / 7
    assert solved(K, Y, w, 0.0).ridge == pytest.approx(least, rel=0.3)
    assert solved(100 * K, Y, w, 0.0).ridge == pytest.approx(100 * solved(K, Y, w, 0.0).ridge)
    assert solved(K, Y, w, 0.3).ridge == 0.3
    with pytest.raises(np.linalg.LinAlgError, match="is not positive"):
        solved(-K, Y, w, 1e-3)


def test_the_error_of_a_weighted_fit_is_that_of_its_predictions():
    w = RNG.uniform(0.5, 3, 8)
    model = ps.models.fcn(1)
    learning = Learning(model, "ntk", X, Y, w)
    found, error = _solve(learning, learning, model, 0.1)
    K = model.kernel(X).ntk.numpy()
    missed = K @ found.coefficients + found.offset - Y
    assert error == pytest.approx(float((missed**2).mean()))
    few, rough = _solve(learning, learning.part(np.arange(5)), model, 0.1)
    missed = K[:, :5] @ few.coefficients + few.offset - Y
    assert rough == pytest.approx(float((missed**2).mean()))


def test_what_is_surely_better_weighs_rows():
    y = np.zeros((40, 1))
    plain, learnt = np.ones((40, 1)), np.ones((40, 1))
    learnt[:20] = 0.5 + 0.1 * RNG.normal(size=(20, 1))
    learnt[20:] = 1.3 + 0.1 * RNG.normal(size=(20, 1))
    heavy = np.repeat([5.0, 0.2], 20)
    better = Learning(ps.models.fcn(1), "ntk", torch.zeros(40, 1), y, heavy)
    worse = Learning(ps.models.fcn(1), "ntk", torch.zeros(40, 1), y, heavy[::-1].copy())
    assert better.surely_better(learnt, plain)
    assert not worse.surely_better(learnt, plain)
    assert better.error(learnt) == pytest.approx(float((learnt[:, 0] ** 2) @ heavy / heavy.sum()))


def test_seeds_and_weights_of_features_count():
    data = SimpleNamespace(inputs=torch.from_numpy(RNG.normal(size=(40, 3))), targets=None)
    data.targets = torch.sin(2 * data.inputs[:, :1])
    machine = FeatureMachine(rounds=1, power=0.5, diagonal=False, bandwidth=1.0, ridge=1e-3, landmarks=15)
    fits = [machine.fit(ps.models.laplace(1.0), data, seed) for seed in (0, 0, 1)]
    assert torch.equal(fits[0].predict(data.inputs), fits[1].predict(data.inputs))
    assert not torch.allclose(fits[0].predict(data.inputs), fits[2].predict(data.inputs))
    heavy = np.where(np.arange(40) < 20, 30.0, 0.1)
    weighed = machine.fit(ps.models.laplace(1.0), data, 0, weights=heavy)
    missed = [(f.predict(data.inputs) - data.targets).square()[:20].mean() for f in (weighed, fits[0])]
    assert missed[0] < missed[1]


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (4,), (2, 4, 4)])
def test_kernels_that_are_not_square(shape):
    with pytest.raises(ValueError, match="must be square"):
        Spectral(torch.ones(shape, dtype=torch.float64))
    with pytest.raises(ValueError, match="square|samples|kernel"):
        RidgePath.of_kernel(np.ones(shape))


def test_durations():
    assert Schedule().endless
    assert Schedule(time=math.inf).endless
    assert not Schedule(time=3.0).endless
    assert not Schedule(learning_rate=0.1, steps=5).endless
    assert [s.duration for s in (Schedule(), Schedule(time=3.0), Schedule(learning_rate=0.1, steps=5))] == [
        math.inf,
        3.0,
        0.5,
    ]
    for bad in ({"learning_rate": 0.1}, {"steps": 3}, {"time": 1.0, "learning_rate": 0.1, "steps": 3}):
        with pytest.raises(ValueError, match="finite-step training needs both|not both"):
            Schedule(**bad)
    lam = torch.tensor([2.0, 1.0], dtype=torch.float64)
    with pytest.raises(ValueError, match="diverges"):
        Schedule(learning_rate=2.0, steps=3).learned(lam, 2)  # 2 · 2 / 2 = 2, the edge
    torch.testing.assert_close(Schedule(learning_rate=1.9, steps=3).learned(lam, 2), 1 - (1 - 0.95 * lam) ** 3)


def test_trajectories_have_as_many_times_as_told():
    spectral = Spectral(torch.diag(torch.tensor([4.0, 2.0], dtype=torch.float64)), ridge=0.0)
    found = _trajectory(spectral, torch.tensor([[1.0], [-1.0]]), Schedule(time=5.0), count=7)
    assert len(found.times) == 8
    assert float(found.times[-1]) == pytest.approx(5.0)
    want = (torch.exp(-found.times[:, None] * torch.tensor([4.0, 2.0]) / 2) ** 2).sum(1) / 4
    torch.testing.assert_close(found.loss, want)


def test_two_rows_are_enough_for_a_path():
    found = RidgePath.of_kernel(np.eye(2))
    np.testing.assert_allclose(found.leave_one_out([[0.0], [1.0]], [0.5])[0], [[1.0], [0.0]])
    with pytest.raises(ValueError, match="at least|2"):
        RidgePath.of_kernel(np.eye(1))


def test_many_networks_in_windows_flow_as_each_alone(monkeypatch):
    """Forty networks, sixteen in a window at most: the same ends as one by one."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(6, 3, generator=g, dtype=torch.float64)
    data = SimpleNamespace(inputs=x, targets=torch.randn(6, 1, generator=g, dtype=torch.float64))
    arch = ps.models.fcn(1, activation="erf", bias_variance=0.3)
    flow = GradientFlow(time=3.0, max_turn=1e-3, stop=0.05, dtype=torch.float64)
    made = {"width": 3, "dtype": torch.float64}
    whole = flow.fit(arch.ensemble((3,), seeds=range(40), **made), data)
    monkeypatch.setattr("priorscope.inference.networks._flow_term.CACHE", 1)
    parts = flow.fit(arch.ensemble((3,), seeds=range(40), **made), data)
    torch.testing.assert_close(parts.params, whole.params, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(parts.times, whole.times)
    for k in (0, 17, 39):
        alone = flow.fit(arch.network((3,), seed=k, **made), data)
        torch.testing.assert_close(alone.params[0], whole.params[k], rtol=1e-6, atol=1e-8)
        torch.testing.assert_close(alone.times[0], whole.times[k])

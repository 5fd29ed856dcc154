"""Spectral bias where the flow is known in closed form, and where the theory only bounds it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.inference import FourthOrderFlow
from priorscope.probes import circle_modes, mode_budget, spectral_bias
from priorscope.probes.spectra.bias import identity_error


def linear_system(n_test_only=0):
    """A linear model trained on its own test inputs: a constant kernel, so every formula is exact."""
    torch.manual_seed(0)
    x = torch.randn(40, 3) * torch.tensor([2.0, 1.0, 0.5])
    y = x @ torch.tensor([[1.0], [2.0], [-1.0]])
    split = ps.data.Split(x, y)
    data = ps.data.Dataset(split, split, task="regression")
    network = nn.Linear(3, 1, bias=False)
    return ps.System(data, network, ps.inference.GradientFlow())


def circle_system(width, n_train=200):
    def target(x):
        angle = torch.atan2(x[:, 1], x[:, 0])
        return 0.5 + torch.cos(angle) + torch.sin(angle) / 2 + torch.cos(3 * angle) / 4

    angles = 2 * torch.pi * torch.arange(240, dtype=torch.float64) / 240
    grid = torch.stack([angles.cos(), angles.sin()], 1)
    x = ps.data.sphere(n_train, 2, seed=5, dtype=torch.float64)
    train = ps.data.Split(x, target(x)[:, None])
    data = ps.data.Dataset(train, ps.data.Split(grid, target(grid)[:, None]), "circle")
    arch = ps.models.fcn(1, "erf", weight_variance=1.5, bias_variance=0.1)
    return ps.System(data, arch, ps.inference.GradientFlow(), width=width, initialisation="antisymmetric")


def test_a_linear_model_on_its_own_points_follows_the_ideal_flow_exactly():
    result = spectral_bias(linear_system(), k=3)
    np.testing.assert_allclose(result.projections, result.ideal, atol=1e-5 * np.abs(result.projections).max())
    np.testing.assert_allclose(result.rates, result.eigenvalues, rtol=1e-4)
    x = linear_system().data.inputs.double().numpy()
    np.testing.assert_allclose(result.eigenvalues, np.linalg.eigvalsh(x.T @ x / 40)[::-1], rtol=1e-6)
    assert result.kernel_distance == 0
    assert result.kernel_change.max() < 1e-12
    assert result.total_deviation.max() < 1e-8
    wrong = result.projections[0] * np.exp(-result.times[:, None] * result.eigenvalues / 2)
    assert np.abs(result.projections - wrong).max() > 0.05


def test_a_wide_network_learns_fourier_modes_at_their_rates_and_obeys_the_bound():
    system = circle_system(width=128)
    modes = circle_modes(system.model, degree_max=6)
    result = spectral_bias(system, k=3, modes=modes, n_times=8, time=2.0 / modes.eigenvalues[2])
    np.testing.assert_allclose(result.eigenvalues, modes.eigenvalues[:3])
    later = result.times > 0
    assert (result.deviations[later] <= result.bounds[later] + result.epsilon * result.times[later, None] ** 2).all()
    largest, distance = 2 * float(system.data.test.targets.abs().max()), result.kernel_distance
    shares = (1 - np.exp(-result.eigenvalues * result.times[:, None])) / result.eigenvalues
    np.testing.assert_allclose(result.bounds, (shares * largest * distance) ** 2, rtol=1e-9)  # Theorem 1, epsilon = 0
    np.testing.assert_allclose(result.total_bound, (result.times * largest * distance) ** 2, rtol=1e-9)
    moved = ~np.isnan(result.rates)
    assert moved.sum() >= 3
    assert np.abs(result.rates[moved] / result.eigenvalues[moved] - 1).max() < 0.35  # width 128, 200 samples
    assert np.abs(result.rates[moved] / result.eigenvalues[moved][::-1] - 1).max() > 0.5
    np.testing.assert_allclose(result.test_error[0], (system.data.test.targets**2).mean(), rtol=1e-9)  # f_0 = 0
    assert len(result.table()) == 27
    assert "hconcat" in result.chart().to_dict()


def test_the_residual_identity_holds_on_and_off_the_training_set():
    system = circle_system(width=32, n_train=20)
    flow = FourthOrderFlow(system.network(0), system.data.inputs, system.data.targets, largest=5.0)
    flow.advance(1.0)
    for points in (system.data.inputs, system.data.test.inputs[::8]):
        assert identity_error(flow, points) < 1e-5
    assert flow.time == pytest.approx(1.0)
    flow.y = flow.y * 1.0
    scaled = FourthOrderFlow(flow.network, flow.x, flow.y, largest=5.0)
    scaled.gradient = lambda: [2 * g for g in FourthOrderFlow.gradient(scaled)]  # a flow twice as fast breaks it
    assert identity_error(scaled, system.data.inputs) > 0.5


def test_planning_numbers_and_bad_input():
    result = spectral_bias(linear_system(), k=2, n_times=2)
    assert result.budget(2, 0.1) == mode_budget(result.eigenvalues[1], 0.1, result.target_bound)
    with pytest.raises(ValueError, match="fewer than k = 4 eigenvalues"):
        spectral_bias(linear_system(), k=4)
    with pytest.raises(ValueError, match="an epsilon below target_bound"):
        mode_budget(1.0, 2.0)
    system = linear_system()
    x, y = system.data.inputs, system.data.targets
    two = ps.data.Split(x, torch.cat([y, y], 1))
    with pytest.raises(ValueError, match="one output"):
        spectral_bias(replace(system, data=ps.data.Dataset(two, two, task="regression")))
    untested = ps.data.Dataset(system.data.train, ps.data.Split(x[:0], y[:0]), task="regression")
    with pytest.raises(ValueError, match="held-out points"):
        spectral_bias(replace(system, data=untested))


def test_a_central_difference_errs_with_the_square_of_its_step():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    flow = FourthOrderFlow(net, torch.eye(2).double(), torch.ones(2).double(), largest=5.0)
    points = torch.tensor([[1.0, 2.0], [0.5, -1.0]]).double()
    coarse, fine = (identity_error(flow, points, fraction=f) for f in (1.0, 0.5))
    assert coarse / fine == pytest.approx(4, rel=0.2)

"""Kernel change, lazy limit and crossover: statements that hold for every network, and the frozen kernel."""

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.inference import GradientFlow
from priorscope.probes import Regime, regime, stacked_ntk
from priorscope.testing import dense_ntk


@pytest.fixture(scope="module")
def system():
    data = ps.data.digits(classes="parity").subset(12, seed=0, n_test=30)
    return ps.System(data, ps.models.fcn(1, activation="erf", weight_variance=1.0), GradientFlow(), width=24)


@pytest.fixture(scope="module")
def measured(system):
    flow = GradientFlow(loss="soft-hinge", time=2.0, max_turn=1e-3, record=20)
    return regime(system, (0.01, 0.1, 1.0, 1e3, 1e4), seeds=2, flow=flow)


def test_stacked_kernels_are_explicit_jacobians(system):
    data = system.data
    ensemble = system.model.ensemble(tuple(data.input_shape), width=6, outputs=1, seeds=range(2))
    fitted = GradientFlow(time=1e-3).fit(ensemble, data)
    got = stacked_ntk(fitted, fitted.initial, data.inputs)
    for i in range(2):
        torch.testing.assert_close(got[i], dense_ntk(ensemble.network(i).double(), data.inputs.double()))


def test_large_scales_are_lazy(measured):
    change = measured.kernel_change.mean(1)
    assert change[-1] < 1e-3
    assert change[0] > 30 * change[-2]
    slope = np.log(change[-1] / change[-2]) / np.log(10)
    assert slope == pytest.approx(-1, abs=0.05)  # lazy: the change goes like one over alpha
    weights = measured.weight_change.mean(1)
    assert np.log(weights[-1] / weights[-2]) / np.log(10) == pytest.approx(-1, abs=0.05)
    np.testing.assert_allclose(
        measured.half_time[-1], measured.half_time[-2], rtol=1e-2
    )  # time does not depend on alpha
    assert len(measured.table()) == 10
    assert measured.chart().to_dict()


def test_crossover_by_hand():
    ones = np.ones((3, 1))
    known = Regime(16, np.array([0.1, 1.0, 10.0]), np.array([[100.0], [10.0], [0.1]]), ones, ones, ones, 0.01)
    assert known.crossover == pytest.approx(10**0.5)
    assert known.name == "feature"
    assert known.rescaled == (16.0, pytest.approx(0.04))
    assert np.isnan(Regime(16, known.alphas, 0.1 * ones, ones, ones, ones, 1.0).crossover)


def test_messages(system):
    with pytest.raises(TypeError, match="regime needs an architecture"):
        regime(ps.System(system.data, torch.nn.Linear(64, 1), GradientFlow()))

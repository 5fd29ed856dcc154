"""Kernel change, lazy limit and crossover: statements that hold for every network, and the frozen kernel."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.inference import GradientFlow
from priorscope.probes import JammingPoint, Regime, frozen_training, label_projection, regime, stacked_ntk
from priorscope.probes.regimes._frozen import frozen_flows
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
        torch.testing.assert_close(got[i], dense_ntk(ensemble.member(i).double(), data.inputs.double()))


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


def test_the_systems_own_scale_and_its_place(measured, system):
    assert measured.alpha in measured.alphas
    activations = measured.activation_change.mean(1)
    assert np.log(activations[-1] / activations[-2]) / np.log(10) == pytest.approx(
        -1, abs=0.05
    )  # lazy, like the weights
    assert activations[0] > 10 * measured.weight_change.mean(1)[-1]
    assert measured.n_weights == 64 * 24 + 24
    assert measured.n_star == pytest.approx(12 / 2.85)
    assert not measured.star_measured
    assert measured.distance_to_jamming == pytest.approx(1560 * 2.85 / 12)
    assert measured.star_width == 1  # one neuron has 65 weights already
    assert "output scale 1 the network" in measured.words
    assert "estimated as that of random labels" in measured.words


def test_rounds_close_in_on_the_crossover_and_the_jamming_point_is_taken_over(system):
    flow = GradientFlow(loss="soft-hinge", time=2.0, max_turn=1e-2, record=20)
    point = JammingPoint((2, 8), (130, 520), (0.0, 1.0), 12, 3)
    found = regime(system, (0.01, 100.0), seeds=1, flow=flow, rounds=2, jamming=point)
    assert len(found.alphas) == 3 + 2 * 3
    inside = np.flatnonzero(found.alphas < found.crossover)[-1]
    assert found.alphas[inside + 1] / found.alphas[inside] < 100 ** (1 / 2 / 4) * 1.01
    level = np.log(found.kernel_change[:, 0])
    assert level[inside] >= 0 > level[inside + 1]
    assert found.star_measured
    assert found.n_star == pytest.approx(260)
    assert found.star_width == pytest.approx(4)  # 65 weights a neuron
    assert {"activation_change", "fitted"} <= set(found.table())
    assert len(found.chart().to_dict()["hconcat"]) == 2


def test_words_say_which_way():
    ones = np.ones((2, 1))
    lazy = Regime(
        16, np.array([0.1, 10.0]), np.array([[10.0], [0.01]]), ones, ones, ones, 10.0, n_weights=30, n_star=20.0
    )
    assert lazy.name == "lazy"
    assert "features stay as drawn" in lazy.words
    assert "times smaller" in lazy.words
    assert "near jamming" in lazy.words
    cut = replace(lazy, fitted=np.zeros((2, 1)))
    assert "lazy so far, which may not last" in cut.words
    assert "cut off before they met" in cut.words
    errors = np.array([[0.1, 0.11], [0.3, 0.31]])
    two = Regime(16, lazy.alphas, lazy.kernel_change, ones, ones, errors, 0.1)
    assert "times larger" in two.words
    assert "the smaller one does better" in two.words
    assert (
        "no difference beyond"
        in Regime(16, lazy.alphas, lazy.kernel_change, ones, ones, errors[:1].repeat(2, 0), 1.0).words
    )


def test_quick_is_one_seed_on_few_samples():
    data = ps.data.digits(classes="classes").subset(60, seed=0, n_test=20)
    system = ps.System(data, ps.models.fcn(1, activation="erf"), GradientFlow(), width=8)
    found = regime(system, quick=True, flow=GradientFlow(loss="soft-hinge", time=0.2, max_turn=1e-2))
    assert found.kernel_change.shape == (3, 1)
    assert found.n_trained == 32
    assert found.n_star == pytest.approx(60 * 10 / 2.85)  # of the whole data, one constraint an output
    assert 0 <= found.test_error.min() <= found.test_error.max() <= 1


@pytest.fixture(scope="module")
def trained():
    """One feature and one lazy member with their parameters along training."""
    data = ps.data.digits(classes="parity").subset(14, seed=0, n_test=20)
    ensemble = ps.models.fcn(1, activation="erf", weight_variance=1.0).ensemble((1, 8, 8), 16, 1, seeds=[0, 0])
    flow = GradientFlow([0.01, 1e4], loss="soft-hinge", stop="fitted", time=1e6, max_turn=1e-2)
    flow = replace(flow, record=[1e-4, 1e-2, 1.0, 1e2, 1e4], keep=("params",))
    return flow, flow.fit(ensemble, data), data


def test_labels_move_onto_the_first_components_in_the_feature_regime(trained):
    _, fitted, data = trained
    found = label_projection(fitted, data.inputs, data.targets, top=14)
    np.testing.assert_allclose(found.projection.sum(2), 1)
    K = stacked_ntk(fitted, fitted.params, data.inputs)[0]
    y = data.targets.double()
    assert found.alignment[-1, 0] == pytest.approx(float((y.mT @ K @ y) / (y.square().sum() * K.norm())))
    assert (np.diff(found.eigenvalues, axis=2) <= 1e-9).all()
    gain = found.share(2)[-1] - found.share(2)[0]
    assert gain[0] > 0.1
    assert abs(gain[1]) < 1e-2  # lazy: nothing moves
    assert len(found.table()) == len(found.times) * 2 * 14
    assert found.chart().to_dict()
    with pytest.raises(ValueError, match="the flow kept none"):
        label_projection(GradientFlow(time=1e-3).fit(torch.nn.Linear(64, 1), flat(data)), data.inputs.flatten(1), y)


def flat(data):
    return SimpleNamespace(inputs=data.inputs.flatten(1), targets=data.targets)


def test_kernels_frozen_at_the_start_the_end_and_between(trained):
    flow, fitted, data = trained
    short = replace(flow, keep=(), record=1)
    x, truth = data.test.inputs, fitted.predict(data.test.inputs)
    start, end = (frozen_training(fitted, data, time=t, flow=short) for t in (0, None))
    distance = {}
    for name, frozen in (("start", start), ("end", end)):
        distance[name] = [float((a - b).norm() / b.norm()) for a, b in zip(frozen.predict(x), truth)]
    assert distance["start"][1] < 2e-2  # a lazy network is its initial kernel
    assert distance["start"][0] > 5 * distance["start"][1]  # a feature network is not
    between = frozen_training(fitted, data, time=0.5, flow=short)
    assert between.time == 1e-2
    torch.testing.assert_close(between.params, fitted.trajectory.params[2])


def test_flows_of_several_kernels_are_those_of_linear_networks_on_their_roots():
    """Kernels of different sizes, one with zero modes, so that flows end at different times; to round-off."""
    g = torch.Generator().manual_seed(0)
    features = [
        scale * torch.randn(6, d, generator=g, dtype=torch.float64) for d, scale in ((9, 0.2), (12, 3.0), (4, 0.2))
    ]
    y = torch.tensor([[1.0], [-1.0], [1.0], [1.0], [-1.0], [-1.0]], dtype=torch.float64)
    flow = GradientFlow(loss="soft-hinge", stop="fitted", max_turn=1e-3, time=3.0)
    fits = frozen_flows(torch.stack([A @ A.mT for A in features]), y, flow)
    assert [fit.finished for fit in fits] == [False, True, False]
    for A, fit in zip(features, fits):
        linear = torch.nn.Linear(A.shape[1], 1, bias=False).double()
        torch.nn.init.zeros_(linear.weight)
        alone = flow.fit(linear, SimpleNamespace(inputs=A, targets=y))
        assert fit.time == pytest.approx(float(alone.times), rel=1e-6)
        torch.testing.assert_close(A.mT @ fit.coefficients, alone.params[0][:, None], rtol=1e-5, atol=1e-7)
    assert fits[1].time < fits[0].time == 3.0


def test_crossover_by_hand():
    ones = np.ones((3, 1))
    known = Regime(16, np.array([0.1, 1.0, 10.0]), np.array([[100.0], [10.0], [0.1]]), ones, ones, ones, 0.01)
    assert known.crossover == pytest.approx(10**0.5)
    assert known.name == "feature"
    assert known.rescaled == (16.0, pytest.approx(0.04))
    assert np.isnan(Regime(16, known.alphas, 0.1 * ones, ones, ones, ones, 1.0).crossover)


def test_messages(system):
    with pytest.raises(TypeError, match="wanted an architecture.*which has no network, ensemble"):
        regime(ps.System(system.data, torch.nn.Linear(64, 1), GradientFlow()))

"""Kernel machines, forecasts and systems take models averaged over groups, by name and as objects, and keep them in files."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import priorscope as ps


@pytest.fixture(scope="module")
def turned():
    """Digits 1 and 7, each turned by a random number of quarters: a label that quarter turns keep."""
    data = ps.data.digits()
    labels = data.targets.argmax(1)
    keep = ((labels == 1) | (labels == 7)).nonzero().flatten()[:160]
    source = torch.Generator().manual_seed(0)
    turns = torch.randint(4, (len(keep),), generator=source).tolist()
    x = torch.stack([data.inputs[i].rot90(k, (-2, -1)) for i, k in zip(keep, turns)])
    return x.flatten(1).numpy(), (labels[keep] == 7).long().numpy()


def test_a_machine_by_name_learns_from_fewer_samples_and_survives_its_file(turned, tmp_path):
    X, y = turned
    scores = {}
    for name in ("fcn-2", "fcn-2/p4"):
        machine = ps.KernelMachine(name, input_shape=(1, 8, 8), whiten=False, flips=False, kind="ntk")
        machine.fit(X[:40], y[:40])
        scores[name] = machine.score(X[40:], y[40:])
    assert scores["fcn-2/p4"] > scores["fcn-2"] + 0.03
    again = ps.KernelMachine.load(machine.save(tmp_path / "machine.npz"))
    assert again.model_.name == "fcn/p4"
    np.testing.assert_allclose(again.predict_proba(X[40:]), machine.predict_proba(X[40:]))
    whole = X[40:44].reshape(-1, 1, 8, 8)
    turn = np.rot90(whole, 1, (2, 3)).reshape(4, -1)
    np.testing.assert_allclose(again.decision_function(turn), again.decision_function(X[40:44]), rtol=1e-5, atol=1e-6)


def test_a_machine_with_an_object_survives_its_file(turned, tmp_path):
    X, y = turned
    model = ps.models.invariant(ps.models.gap(1, bias_variance=0.1), "p4")
    machine = ps.KernelMachine(model, input_shape=(1, 8, 8), whiten=False, flips=False).fit(X[:40], y[:40])
    again = ps.KernelMachine.load(machine.save(tmp_path / "machine.npz"))
    assert again.model_ == model
    own = ps.models.invariant(ps.models.gap(1), ps.data.groups.quarter_turns((1, 8, 8)))
    machine = ps.KernelMachine(own, input_shape=(1, 8, 8), whiten=False, flips=False).fit(X[:40], y[:40])
    file = machine.save(tmp_path / "own.npz")
    with pytest.raises(ValueError, match="kernel of your own, .*: pass it, load"):
        ps.KernelMachine.load(file)
    np.testing.assert_array_equal(ps.KernelMachine.load(file, arch=own).predict(X[40:]), machine.predict(X[40:]))


def test_names_are_refused_with_their_reason():
    with pytest.raises(ValueError, match="there is no group 'p7'"):
        ps.KernelMachine("fcn-1/p7", input_shape=(1, 8, 8)).fit(np.eye(64)[:8], [0, 1] * 4)
    with pytest.raises(ValueError, match="p4 moves inputs"):
        ps.KernelMachine("fcn-1/p4").fit(np.eye(8), [0, 1] * 4)


def test_systems_and_forecasts_take_them(turned):
    X, y = turned
    data = ps.data.from_arrays(torch.tensor(X).reshape(-1, 1, 8, 8), y)
    arch = ps.models.load("fcn/p4", depth=2)
    assert ps.System(data, arch, ps.inference.KernelRegression(ridge=1e-2)).run().test_accuracy > 0.8
    ahead = {name: ps.forecast(data, ps.models.load(name, depth=2), 320) for name in ("fcn", "fcn/p4")}
    assert ahead["fcn/p4"].error[0] < ahead["fcn"].error[0]
    trained = ps.System(data, arch, ps.inference.GradientFlow(time=1.0), width=32).run()
    torch.testing.assert_close(
        trained.predict(data.inputs.rot90(1, (-2, -1))), trained.predict(data.inputs), rtol=1e-3, atol=1e-3
    )

"""Gradient descent against torch's own optimisers, one-by-one training, and descent in closed form."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.inference import GradientDescent, KernelRegression


@pytest.fixture(scope="module")
def data():
    x = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return SimpleNamespace(inputs=x, targets=torch.sign(x[:, :1] * x[:, 1:2] + 0.1))


def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)).double()


@pytest.mark.parametrize(
    ("settings", "optimiser"),
    [
        ({}, lambda p: torch.optim.SGD(p, lr=0.05)),
        (
            {"momentum": 0.9, "weight_decay": 0.01},
            lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
        ),
        ({"optimiser": "adam"}, lambda p: torch.optim.Adam(p, lr=0.05)),
        ({"optimiser": "adam", "weight_decay": 0.01}, lambda p: torch.optim.Adam(p, lr=0.05, weight_decay=0.01)),
    ],
)
@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_updates_are_torchs(data, settings, optimiser, schedule):
    ours = GradientDescent(learning_rate=0.05, steps=40, schedule=schedule, **settings).fit(net(), data)
    theirs = net()
    opt = optimiser(theirs.parameters())
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 40) if schedule == "cosine" else None
    for _ in range(40):
        opt.zero_grad()
        ((theirs(data.inputs) - data.targets).square().sum(1).mean() / 2).backward()
        opt.step()
        if decay:
            decay.step()
    torch.testing.assert_close(ours.predict(data.inputs), theirs(data.inputs).detach(), rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(
        ours.network()(data.inputs).detach(), theirs(data.inputs).detach(), rtol=1e-9, atol=1e-10
    )


def test_linear_descent_in_closed_form(data):
    linear = SimpleNamespace(kernel=lambda a, b=None, kinds=(): SimpleNamespace(ntk=a @ (a if b is None else b).T))
    want = KernelRegression(learning_rate=0.1, steps=30).fit(linear, data).predict(data.inputs)
    got = GradientDescent(learning_rate=0.1, steps=30, centre=True).fit(nn.Linear(3, 1, bias=False).double(), data)
    torch.testing.assert_close(got.predict(data.inputs), want, rtol=1e-9, atol=1e-10)
    assert got.trajectory.times[-1] == pytest.approx(3.0)


@pytest.mark.parametrize(
    "settings",
    [
        {"batch_size": 6, "momentum": 0.5},
        {"optimiser": "adam", "stop": 0.2},
        {"mixup": 0.4, "batch_size": 7, "centre": True},
        {"loss": "quadratic-hinge", "stop": "fitted", "batch_size": 10},
    ],
)
def test_an_ensemble_equals_one_by_one(data, settings):
    ensemble = ps.models.fcn(2, activation="erf").ensemble((3,), width=8, outputs=1, seeds=range(3))
    method = GradientDescent(learning_rate=0.02, steps=150, dtype=torch.float64, keep=("params",), **settings)
    together = method.fit(ensemble, data, seed=5)
    for i in range(3):
        alone = method.fit(ensemble.member(i), data, seed=5)
        torch.testing.assert_close(alone.params[0], together.params[i], rtol=1e-9, atol=1e-10)
        assert bool(alone.finished) == bool(together.finished[i])
        assert int(alone.steps) == int(together.steps[i])
    other = method.fit(ensemble, data, seed=6)
    if "batch_size" in settings:
        assert (other.params - together.params).abs().max() > 1e-6  # the seed rules the batches


def test_mixup_of_a_linear_model_learns_the_same_line():
    x = torch.linspace(-1, 1, 30, dtype=torch.float64)[:, None]
    data = SimpleNamespace(inputs=x, targets=2 * x + 0.5)
    fitted = GradientDescent(learning_rate=0.3, steps=800, mixup=1.0).fit(nn.Linear(1, 1).double(), data)
    assert float(fitted.network().weight.detach()) == pytest.approx(2.0, abs=0.05)
    assert float(fitted.network().bias.detach()) == pytest.approx(0.5, abs=0.05)


def test_the_model_passed_in_is_untouched_and_normalisation_trains(data):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))
    before = {k: v.clone() for k, v in model.state_dict().items()}
    fitted = GradientDescent(steps=300, batch_size=10, learning_rate=0.05, momentum=0.9).fit(model, data, seed=1)
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())
    a, b = fitted.predict(data.inputs), fitted.predict(data.inputs)
    assert torch.equal(a, b)  # dropout is off
    assert float((a * data.targets > 0).double().mean()) > 0.8
    again = GradientDescent(steps=300, batch_size=10, learning_rate=0.05, momentum=0.9).fit(model, data, seed=1)
    assert torch.equal(again.predict(data.inputs), a)


def test_factories_are_called_with_the_seed(data):
    seeds = []
    GradientDescent(steps=2).fit(lambda seed: seeds.append(seed) or net(seed), data, seed=7)
    assert seeds == [7]


def test_messages(data):
    with pytest.raises(ValueError, match="optimiser must be one of sgd, adam or a geometry; got 'lion'"):
        GradientDescent(optimiser="lion")
    with pytest.raises(ValueError, match="steps >= 1"):
        GradientDescent(steps=0)
    with pytest.raises(ValueError, match=r"0 <= momentum < 1"):
        GradientDescent(momentum=1.0)
    with pytest.raises(ValueError, match="schedule must be"):
        GradientDescent(schedule="warm", steps=1).fit(net(), data)

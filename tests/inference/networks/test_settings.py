"""Settings of training away from their defaults: steps written out by hand, closed forms of linear networks, refusals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.data import Split
from priorscope.inference import (
    AllFitted,
    FourthOrderFlow,
    GradientDescent,
    GradientFlow,
    Hinge,
    InfiniteEnsemble,
    Loss,
    Quadratic,
    Squared,
    StiffFlow,
    TrainingRun,
    train_hinge,
    train_stacked,
)
from priorscope.inference.networks._flow_integration import Integration
from priorscope.inference.networks._members import Members
from priorscope.inference.networks._stacked import stacked_accuracy
from priorscope.inference.networks._stop import as_stop

G = torch.Generator().manual_seed(0)
X = torch.randn(6, 3, generator=G, dtype=torch.float64)
Y = torch.randn(6, 2, generator=G, dtype=torch.float64)
DATA = SimpleNamespace(inputs=X, targets=Y)


def line(seed=0, outputs=2, bias=False):
    torch.manual_seed(seed)
    return nn.Linear(3, outputs, bias=bias).double()


def slope(W, x=X, y=Y):
    """The gradient of the mean of ½|f - y|² of a linear network."""
    return (x @ W.T - y).T @ x / len(x)


def by_hand(change, steps=5, decay=0.0):
    W = line().weight.detach().clone()
    for step in range(steps):
        W = W + change(slope(W) + decay * W, step)
    return W


@pytest.mark.parametrize(
    ("settings", "change", "decay"),
    [
        ({"schedule": "linear"}, lambda g, t: -0.1 * (1 - t / 5) * g, 0.0),
        ({"schedule": "cosine"}, lambda g, t: -0.1 * (1 + math.cos(math.pi * t / 5)) / 2 * g, 0.0),
        ({"schedule": lambda t: 0.5**t}, lambda g, t: -0.1 * 0.5**t * g, 0.0),
        ({"clip": 0.3}, lambda g, t: -0.1 * g.clamp(-0.3, 0.3), 0.0),
        ({"rounding": 0.25}, lambda g, t: -0.1 * 0.25 * (g / 0.25).round(), 0.0),
        ({"clip": 0.3, "rounding": 0.25}, lambda g, t: -0.1 * 0.25 * (g.clamp(-0.3, 0.3) / 0.25).round(), 0.0),
        ({"weight_decay": 0.7}, lambda g, t: -0.1 * g, 0.7),
        ({}, lambda g, t: -0.1 * g, 0.0),
    ],
)
def test_each_setting_of_descent_changes_the_step_as_told(settings, change, decay):
    fitted = GradientDescent(learning_rate=0.1, steps=5, keep=("outputs", "params"), record=10, **settings).fit(
        line(), DATA
    )
    W = by_hand(change, decay=decay)
    torch.testing.assert_close(fitted.params.reshape(2, 3), W)
    torch.testing.assert_close(fitted.predict(X), X @ W.T)
    torch.testing.assert_close(fitted.trajectory.outputs[-1], X @ W.T)
    torch.testing.assert_close(fitted.trajectory.params[-1, 0], W.flatten())
    assert fitted.trajectory.loss[-1] == pytest.approx(float((X @ W.T - Y).square().sum(1).mean() / 2))
    assert fitted.times.tolist() == pytest.approx([0.5])


def test_noise_on_the_weights_has_the_size_told():
    """With a rate next to nothing the weights walk: five steps of deviation 0.1 each."""
    torch.manual_seed(0)
    wide = nn.Linear(3, 400, bias=False).double()
    data = SimpleNamespace(inputs=X, targets=torch.randn(6, 400, dtype=torch.float64))
    fitted = GradientDescent(learning_rate=1e-12, steps=5, noise=0.1).fit(wide, data)
    moved = fitted.params[0] - wide.weight.detach().flatten()
    assert float(moved.std()) == pytest.approx(0.1 * 5**0.5, rel=0.08)
    quiet = GradientDescent(learning_rate=1e-12, steps=5).fit(wide, data).params[0]
    assert (quiet - wide.weight.detach().flatten()).abs().max() < 1e-9


def test_centred_descent_in_batches_trains_what_is_added():
    """f - f_0 of a linear network is that of weights that start at zero: the same batches, the same steps."""
    zero = line()
    nn.init.zeros_(zero.weight)
    how = {"learning_rate": 0.1, "steps": 7, "batch_size": 2}
    centred = GradientDescent(centre=True, **how).fit(line(), DATA, seed=3)
    plain = GradientDescent(**how).fit(zero, DATA, seed=3)
    torch.testing.assert_close(centred.predict(X), plain.predict(X))
    torch.testing.assert_close(centred.params - centred.initial, plain.params)
    mixed = GradientDescent(centre=True, mixup=0.5, **how).fit(line(), DATA, seed=3)
    alone = GradientDescent(mixup=0.5, **how).fit(zero, DATA, seed=3)
    torch.testing.assert_close(mixed.predict(X), alone.predict(X))
    assert (mixed.predict(X) - centred.predict(X)).abs().max() > 1e-3


def test_descent_stops_each_network_by_its_own_loss():
    nets = [line(s) for s in range(3)]
    stack = ps.models.Ensemble(nets)
    fitted = GradientDescent(learning_rate=0.3, steps=400, stop=0.4).fit(stack, DATA)
    for k, net in enumerate(nets):
        alone = GradientDescent(learning_rate=0.3, steps=400, stop=0.4).fit(net, DATA)
        assert alone.steps.tolist() == [int(fitted.steps[k])]
        torch.testing.assert_close(alone.params[0], fitted.params[k])
        assert bool(alone.finished[0]) == bool(fitted.finished[k])
        torch.testing.assert_close(fitted.network(k).weight.detach(), fitted.params[k].reshape(2, 3))


def test_bad_settings_of_descent():
    for settings, words in (
        ({"keep": ("weights",)}, "keep may name 'outputs' and 'params'"),
        ({"optimiser": ps.inference.Mirror(Quadratic()), "noise": 0.1}, "dual weights behind"),
        ({"optimiser": ps.inference.Mirror(Quadratic()), "momentum": 0.1}, "momentum belongs to 'sgd'"),
    ):
        with pytest.raises(ValueError, match=words):
            GradientDescent(**settings)
    assert GradientDescent(noise=0.1).noise == 0.1
    with pytest.raises(ValueError, match="schedule must be"):
        GradientDescent(schedule="step", steps=1).fit(line(), DATA)
    with pytest.raises(ValueError, match=r"network outputs \(n, outputs\) must match targets \(6, 2\); got \(6, 1\)"):
        GradientDescent(steps=1).fit(line(outputs=1), DATA)
    with pytest.raises(ValueError, match=r"must match targets \(6, 2\)"):
        StiffFlow(time=1.0).fit(line(outputs=1), DATA)


def linear_flow(W, t):
    """Weights of the flow of ½ mean |Wx - y|² after a time."""
    S = X.T @ X / len(X)
    limit = torch.linalg.solve(S, X.T @ Y / len(X)).T
    return limit + (W - limit) @ torch.linalg.matrix_exp(-S * t)


def test_stiff_flows_of_an_ensemble_are_those_of_its_members():
    nets = [line(s) for s in range(3)]
    flow = StiffFlow(time=2.0)
    fitted = flow.fit(ps.models.Ensemble(nets), DATA)
    for k, net in enumerate(nets):
        torch.testing.assert_close(
            fitted.params[k].reshape(2, 3), linear_flow(net.weight.detach(), 2.0), rtol=1e-6, atol=1e-8
        )
    first, last = fitted.trajectory.loss
    for k, net in enumerate(nets):
        alone = flow.fit(net, DATA)
        assert alone.trajectory.loss[0] == pytest.approx(float(first[k]))
        assert alone.trajectory.loss[-1] == pytest.approx(float(last[k]))
        assert alone.trajectory.times[-1] == 2.0
    assert fitted.trajectory.times.tolist() == [0.0, 2.0]
    stopped = StiffFlow(stop=float(last.max()) * 1.2).fit(ps.models.Ensemble(nets), DATA)
    assert stopped.trajectory.times[-1] == stopped.times.max()
    assert stopped.times.min() < stopped.times.max()
    assert stopped.finished.all()
    made = flow.fit(line, DATA, seed=2)
    torch.testing.assert_close(made.params[0], fitted.params[2])
    grown = GradientFlow(time=0.5, max_turn=1e-3).fit(line, DATA, seed=2)
    same = GradientFlow(time=0.5, max_turn=1e-3).fit(nets[2], DATA)
    torch.testing.assert_close(grown.params, same.params)


@dataclass(frozen=True)
class Runaway(Loss):
    """A loss without a lower bound: its flow reaches infinity in a finite time."""

    def pointwise(self, predictions, targets):
        return -(predictions**4).sum(-1)


def test_a_flow_that_runs_away_says_so():
    with pytest.raises(ValueError, match="StiffFlow failed at time"):
        StiffFlow(loss=Runaway(), time=100.0, accuracy=1e-3).fit(line(), DATA)
    with pytest.raises(ValueError, match="at most 2000 weights; got 2001"):
        StiffFlow().fit(nn.Linear(3, 667, bias=False), SimpleNamespace(inputs=X, targets=torch.randn(6, 667)))


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("several", [True, False])
def test_gradients_in_the_inputs_are_differences_of_predictions(centre, several):
    torch.manual_seed(0)
    nets = [nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double() for _ in range(2)]
    model = ps.models.Ensemble(nets) if several else nets[0]
    fitted = GradientFlow(time=1.0, alpha=3.0, centre=centre, max_turn=1e-2).fit(model, DATA)
    got = fitted.gradients(X[:4])
    assert got.shape == ((2, 4, 2, 3) if several else (4, 2, 3))
    for j in range(3):
        e = 1e-5 * torch.eye(3, dtype=torch.float64)[j]
        want = (fitted.predict(X[:4] + e) - fitted.predict(X[:4] - e)) / 2e-5
        torch.testing.assert_close(got[..., j], want, rtol=1e-5, atol=1e-7)
    start = fitted.gradients_with(fitted.initial, X[:4])
    assert (start.abs().max() < 1e-12) == centre
    one = fitted.network(1 if several else 0)
    raw = one(X) * 3.0 - (nets[1 if several else 0](X) * 3.0 if centre else 0)
    torch.testing.assert_close(raw, fitted.predict(X)[1] if several else fitted.predict(X))


def test_networks_that_give_a_row_of_numbers_or_one_weight():
    class Row(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))

        def forward(self, x):
            return self.scale * x[:, 0]

    members = Members(Row())
    assert members.flat.shape == (1, 1)
    torch.testing.assert_close(members.call(members.flat, X), 2 * X[None, :, :1])
    for bad in (3, ps.models.fcn(1)):
        with pytest.raises(TypeError, match="needs an nn.Module, an ensemble, or a factory"):
            Members(bad)

    def borrowed(x):
        return x

    patched = line()
    patched.forward = borrowed
    with pytest.raises(ValueError, match="was replaced on the object"):
        Members(patched)
    own = line()
    own.forward = own.forward  # its own method is no stranger
    assert len(Members(own)) == 1


def hinge_net(seed=0):
    return ps.models.plain_network(3, 6, 2, activation="tanh", seed=seed)


def test_hinge_training_is_adam_on_the_quadratic_hinge():
    noisy = torch.randn(30, 3, generator=G, dtype=torch.float64)
    labels = torch.randn(30, 1, generator=G, dtype=torch.float64).sign()
    for margin in (0.5, 1.5):
        fast, slow, seen = hinge_net(), hinge_net(), []
        stages = [(0.01, 0.75), (0.002, 0.25)]
        used = train_hinge(
            fast, noisy, labels, 40, stages=stages, margin=margin, watch=seen.append, watch_at=(0, 3, 40)
        )
        assert used == 40
        assert seen == [3, 40]
        adam = torch.optim.Adam(slow.parameters(), lr=0.01)
        for step in range(40):
            adam.param_groups[0]["lr"] = 0.01 if step < 30 else 0.002
            adam.zero_grad()
            ((margin - labels * slow(noisy)).relu() ** 2 / 2).mean().backward()
            adam.step()
        for a, b in zip(fast.parameters(), slow.parameters()):
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-8)
    few = train_hinge(hinge_net(), noisy, labels, 3000, stages=[(0.01, 1.0)], enough=6)
    none = train_hinge(hinge_net(), noisy, labels, 3000, stages=[(0.01, 1.0)])
    assert few < none
    net = hinge_net()
    train_hinge(net, noisy, labels, few, stages=[(0.01, 1.0)])
    assert 0 < int((labels * net(noisy) < 0.5).sum()) <= 6
    relu = ps.models.plain_network(3, 6, 2, seed=1)
    assert train_hinge(relu, noisy, labels, 5, stages=[(0.01, 1.0)], watch_at=(2,)) == 5
    for bad in (nn.Sequential(nn.Linear(3, 1).double()), nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1))):
        with pytest.raises(ValueError, match="train_hinge needs nn.Linear layers"):
            train_hinge(bad, noisy, labels, 2)


def test_every_normalisation_is_measured_for_the_averaged_weights():
    """After training the statistics are those of all training samples under the averaged weights, layer by layer."""
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)
    )
    x, y = torch.randn(40, 3, generator=G), torch.randn(40, 2, generator=G)
    run = TrainingRun(net, Split(x, y), learning_rate=0.05, batch_size=8, centre=False, seed=0).advance(30)
    state = run.average
    a = x @ state["0.weight"].T + state["0.bias"]
    for i, then in (("1", torch.relu), ("4", lambda h: h)):
        a = (a - a.mean(0)) / (a.var(0) + 1e-5).sqrt() * state[f"{i}.weight"] + state[f"{i}.bias"]  # torch keeps n - 1
        a = then(a)
        if i == "1":
            a = a @ state["3.weight"].T + state["3.bias"]
    want = a @ state["5.weight"].T + state["5.bias"]
    torch.testing.assert_close(run.predict(x), want, rtol=0.05, atol=0.02)
    momenta = [m.momentum for m in run.network.modules() if isinstance(m, nn.BatchNorm1d)]
    assert momenta == [0.1, 0.1]
    free = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, track_running_stats=False), nn.Linear(4, 2))
    assert TrainingRun(free, Split(x, y), learning_rate=0.05, batch_size=8, seed=0).advance(2).predict(x).shape == (
        40,
        2,
    )


def test_divergences_of_a_quadratic_potential_are_half_squared_distances():
    w, start = torch.tensor([[3.0, 4.0], [1.0, 1.0]]), torch.tensor([[1.0, 1.0], [2.0, -1.0]])
    torch.testing.assert_close(Quadratic().divergence(w, start), (w - start).square().sum(-1) / 2)


def test_what_is_fitted():
    f, y = torch.tensor([[[1.0], [2.0]], [[1.0], [2.5]]]), torch.tensor([[1.0], [2.0]])
    assert Squared().satisfied(f, y).tolist() == [True, False]
    assert AllFitted()(Squared(), f, y).tolist() == [True, False]
    assert AllFitted()(Hinge(), f[..., [0, 0]], torch.ones(2, 2)).tolist() == [False, False]
    assert AllFitted()(Hinge(), 2 * f[..., [0, 0]], torch.ones(2, 2)).tolist() == [True, True]
    never = ps.inference.LogExponential().satisfied(100 * f.expand(2, 2, 3), torch.eye(3)[:2])
    assert never.tolist() == [False, False]
    assert as_stop(None)(Squared(), f.repeat(2, 1, 1), y).tolist() == [False] * 4


def test_networks_in_a_stack_take_the_steps_of_torch():
    torch.manual_seed(0)
    x = torch.randn(3, 12, 2)
    for y, outputs in ((torch.randn(3, 12).sign(), 1), (torch.randint(0, 4, (3, 12)), 4)):
        template = nn.Linear(2, outputs)
        start = {"weight": torch.randn(3, outputs, 2), "bias": torch.randn(3, outputs)}
        found = train_stacked(template, start, x, y, epochs=6, batch=12, momentum=0.5, learning_rate=0.3, clip=math.inf)
        for k in range(3):
            net = nn.Linear(2, outputs)
            with torch.no_grad():
                net.weight.copy_(start["weight"][k])
                net.bias.copy_(start["bias"][k])
            sgd = torch.optim.SGD(net.parameters(), lr=0.3, momentum=0.5)
            for _ in range(6):
                sgd.zero_grad()
                out = net(x[k])
                loss = (
                    nn.functional.cross_entropy(out, y[k])
                    if outputs > 1
                    else nn.functional.softplus(-y[k] * out[:, 0]).mean()
                )
                loss.backward()
                sgd.step()
            torch.testing.assert_close(found["weight"][k], net.weight.detach(), rtol=1e-4, atol=1e-5)
    many = torch.randn(2, 1203, 1)
    side = {"weight": torch.tensor([[[1.0]], [[-1.0]]]), "bias": torch.zeros(2, 1)}
    right = torch.where(torch.arange(1203) < 700, 1.0, -1.0) * many[..., 0].sign()
    assert stacked_accuracy(nn.Linear(1, 1), side, many, right).tolist() == pytest.approx([700 / 1203, 503 / 1203])


def test_the_steps_of_the_fourth_order_flow_are_as_short_as_told():
    flows = [FourthOrderFlow(line(), X, Y, largest=2.0, step=s) for s in (0.2, 4.0)]
    assert [flow.longest for flow in flows] == [0.1, 2.0]
    errors = []
    for flow in flows:
        flow.advance(2.0)
        errors.append(float((flow.network.weight.detach() - linear_flow(line().weight.detach(), 2.0)).abs().max()))
    assert errors[0] < 1e-6 < 1e-4 < errors[1]


def test_infinite_ensembles_at_other_times():
    x = torch.randn(5, 3, generator=G, dtype=torch.float64)
    for time in (0.0, 3.0):
        now = InfiniteEnsemble(time=time).fit(ps.models.fcn(1), DATA)
        later = InfiniteEnsemble(time=50.0).fit(ps.models.fcn(1), DATA)
        torch.testing.assert_close(later.variance(x, time=time), now.variance(x))
        torch.testing.assert_close(later.covariance(x, time=time).diagonal(), now.covariance(x).diagonal())
    prior = ps.models.fcn(1).kernel(x).nngp.diagonal()
    torch.testing.assert_close(InfiniteEnsemble(time=0.0).fit(ps.models.fcn(1), DATA).variance(x), prior)
    assert (later.variance(x) - prior).abs().max() > 0.01


def test_inferences_refuse_kernels_of_other_kinds_and_data_that_is_none():
    for kind in (
        InfiniteEnsemble,
        ps.inference.GaussianProcess,
        ps.inference.KernelRegression,
        ps.inference.SupportVectorMachine,
    ):
        with pytest.raises(ValueError, match="kind must be 'ntk' or 'nngp'; got 'rbf'"):
            kind(kind="rbf")
    for data, error, words in (
        (SimpleNamespace(inputs=np.eye(3), targets=torch.ones(3)), TypeError, "got ndarray and Tensor"),
        (SimpleNamespace(inputs=torch.eye(3), targets=[1.0, 2.0, 3.0]), TypeError, "got Tensor and list"),
        (SimpleNamespace(inputs=torch.eye(3), targets=torch.ones(3, 1, 1)), ValueError, "must agree in n"),
        (SimpleNamespace(inputs=torch.eye(3), targets=torch.ones(2)), ValueError, "must agree in n"),
    ):
        with pytest.raises(error, match=words):
            GradientDescent().fit(line(), data)
    whole = SimpleNamespace(inputs=X, targets=torch.tensor([0, 1, 2, 0, 1, 2]))
    assert GradientDescent(steps=2).fit(line(outputs=1), whole).predict(X).shape == (6, 1)
    with pytest.raises(ValueError, match="0 < first <= last; got first=2, last=1"):
        ps.inference.log_times(2, 1)


def test_flows_of_kernels_follow_their_closed_form():
    """F = (1 - exp(-Θt/P)) y of the squared loss, for several kernels and two outputs at once."""
    g = torch.Generator().manual_seed(1)
    roots = torch.randn(3, 4, 6, generator=g, dtype=torch.float64)
    kernels, y = roots @ roots.mT, torch.randn(4, 2, generator=g, dtype=torch.float64)
    c, times, finished = GradientFlow(time=1.5, max_turn=1e-6, dtype=torch.float64).fit_kernels(kernels, y)
    for k, theta in enumerate(kernels):
        want = y - torch.linalg.matrix_exp(-theta * 1.5 / 4) @ y
        torch.testing.assert_close(theta @ c[k], want, rtol=2e-3, atol=2e-3)
    assert times.tolist() == [1.5] * 3
    assert not finished.any()


def test_a_flow_ends_after_ten_trials_per_step_allowed():
    flow = GradientFlow(time=1.0, max_steps=7)
    run = Integration.of(flow, Members(line(), 0, torch.float64), X, Y)
    every = slice(0, 1)
    for trials, steps, ended in ((69, 6, False), (70, 6, True), (0, 7, True), (0, 6, False)):
        run.trials[every], run.steps[every] = trials, steps
        assert run._ended(every).tolist() == [ended]
    few = GradientFlow(time=1e6, max_steps=3, max_turn=1e-4).fit(line(), DATA)
    assert few.steps.tolist() == [3]
    assert not few.finished.any()
